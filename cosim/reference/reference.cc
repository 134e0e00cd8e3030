#include "cosim/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>

#include "cosim/parallel.h"
#include "cosim/reference_functions.h"
#include "cosim/reference_matmul.h"
#include "cosim/reference_numbers.h"
#include "model/contract/error.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kChunk = 64;
constexpr int64_t kSampleWork = 1 << 30;  // additions that a sample may cost
constexpr int64_t kLeastSample = 16;
constexpr int64_t kErrorSample = 4096;
constexpr int64_t kFullErrorWork = 1 << 25;  // float64 operations that are spent without sampling

// Device value of every float16 code.
const std::array<float, 1 << 16>& DeviceValues() {
  static const auto values = [] {
    std::array<float, 1 << 16> table{};
    for (int code = 0; code < 1 << 16; ++code)
      table[code] = static_cast<float>(SenValue(SenOfHalf(static_cast<uint16_t>(code))));
    return table;
  }();
  return values;
}
float Rounded(double value) { return static_cast<float>(SenValue(NearestSen(value))); }
uint16_t Result(double value) { return HalfOfSen(NearestSen(value)); }

class UnaryReference : public Reference {
 public:
  UnaryReference(const ReferenceProblem& problem, UnaryFunction function)
      : p_(problem), function_(function) {
    for (int code = 0; code < 1 << 16; ++code)
      results_[code] = HalfOfSen(NearestSen(function(DeviceValues()[code])));
  }
  int64_t elements() const override { return p_.batch * p_.rows * p_.cols; }
  int64_t ideal_cost() const override { return 16; }
  void Compute(int64_t begin, int64_t end, uint16_t* results) const override {
    for (int64_t i = begin; i < end; ++i) results[i - begin] = results_[p_.a[i]];
  }
  double Ideal(int64_t element) const override {
    return static_cast<double>(function_(DeviceValues()[p_.a[element]]));
  }

 private:
  ReferenceProblem p_;
  UnaryFunction function_;
  std::array<uint16_t, 1 << 16> results_{};
};

class BinaryReference : public Reference {
 public:
  BinaryReference(const ReferenceProblem& problem, BinaryFunction function)
      : p_(problem), function_(function) {}
  int64_t elements() const override { return p_.batch * p_.rows * p_.cols; }
  int64_t ideal_cost() const override { return 1; }
  void Compute(int64_t begin, int64_t end, uint16_t* results) const override {
    for (int64_t i = begin; i < end; ++i)
      results[i - begin] = Result(static_cast<float>(Ideal(i)));  // one fp32 operation
  }
  double Ideal(int64_t element) const override {
    return function_(DeviceValues()[p_.a[element]], DeviceValues()[p_.b[element]]);
  }

 private:
  ReferenceProblem p_;
  BinaryFunction function_;
};

// A line of device values: `count` elements, `stride` apart.
struct Line {
  const uint16_t* first;
  int64_t count, stride;
  float operator[](int64_t i) const { return DeviceValues()[first[i * stride]]; }
};

enum class Combine { kSum, kMax, kMin };

float Identity(Combine combine) {
  if (combine == Combine::kSum) return 0;
  const float infinity = std::numeric_limits<float>::infinity();
  return combine == Combine::kMax ? -infinity : infinity;
}
float Apply(Combine combine, float a, float b) {
  if (combine == Combine::kSum) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  return combine == Combine::kMax ? std::max(a, b) : std::min(a, b);
}

// The documented order; `Values` gives the i-th float.
template <class Values>
float Reduce(Combine combine, const Values& values, int64_t count,
             const std::vector<int64_t>& slice_ends) {
  if (slice_ends.empty()) return Reduce(combine, values, count, {count});
  float total = Identity(combine);
  int64_t slice_at = 0;
  for (const int64_t slice_end : slice_ends) {
    float sum = Identity(combine);
    for (int64_t at = slice_at; at < slice_end; at += kChunk) {
      float chunk = Identity(combine);
      for (int64_t i = at; i < std::min(slice_end, at + kChunk); ++i)
        chunk = Apply(combine, chunk, values[i]);
      sum = Apply(combine, sum, chunk);
    }
    total = slice_at == 0 ? sum : Apply(combine, total, sum);
    slice_at = slice_end;
  }
  return total;
}

// Partial results of tiles, each rounded, and so is each of their sums. `sum`: fp32 of one tile.
template <class Sum>
float FoldTiles(const std::vector<ReducedTile>& tiles, Combine combine, const Sum& sum) {
  float total = 0;
  for (const ReducedTile& tile : tiles) {
    const float partial = sum(tile);
    if (tiles.size() == 1) return partial;
    total = tile.begin == 0 ? Rounded(partial) : Rounded(Apply(combine, total, Rounded(partial)));
  }
  return total;
}

class ReductionReference : public Reference {
 public:
  ReductionReference(const ReferenceProblem& problem, Combine combine, bool mean)
      : p_(problem),
        tiles_(ReducedTiles(problem, problem.reduce_rows ? problem.rows : problem.cols)),
        combine_(combine),
        mean_(mean) {}
  int64_t elements() const override { return p_.batch * (p_.reduce_rows ? p_.cols : p_.rows); }
  int64_t ideal_cost() const override { return p_.reduce_rows ? p_.rows : p_.cols; }
  void Compute(int64_t begin, int64_t end, uint16_t* results) const override {
    for (int64_t i = begin; i < end; ++i) {
      const Line line = LineOf(i);
      const float value = FoldTiles(tiles_, combine_, [&](const ReducedTile& tile) {
        const Line part{line.first + tile.begin * line.stride, tile.slice_ends.back(), line.stride};
        return Reduce(combine_, part, part.count, tile.slice_ends);
      });
      results[i - begin] = Result(mean_ ? value / static_cast<float>(line.count) : value);
    }
  }
  double Ideal(int64_t element) const override {
    const Line line = LineOf(element);
    double value = Identity(combine_);
    for (int64_t i = 0; i < line.count; ++i) {
      value = combine_ == Combine::kSum
                  ? value + line[i]
                  : static_cast<double>(Apply(combine_, static_cast<float>(value), line[i]));
    }
    return mean_ ? value / static_cast<double>(line.count) : value;
  }

 private:
  Line LineOf(int64_t element) const {
    if (!p_.reduce_rows) return {p_.a + element * p_.cols, p_.cols, 1};
    return {p_.a + element / p_.cols * p_.rows * p_.cols + element % p_.cols, p_.rows, p_.cols};
  }
  ReferenceProblem p_;
  std::vector<ReducedTile> tiles_;
  Combine combine_;
  bool mean_;
};

// A chain of operations, each rounded to SEN169_FP16: amax, sub, exp, sum, reciprocal, mul.
class SoftmaxReference : public Reference {
 public:
  explicit SoftmaxReference(const ReferenceProblem& problem) : p_(problem), exp_(1 << 16) {
    const UnaryFunction exp = FindUnary("exp");
    for (int code = 0; code < 1 << 16; ++code)
      exp_[code] =
          static_cast<float>(SenValue(NearestSen(exp(SenValue(static_cast<uint16_t>(code))))));
  }
  int64_t elements() const override { return p_.batch * p_.rows * p_.cols; }
  int64_t ideal_cost() const override { return 32 * p_.cols; }
  void Compute(int64_t begin, int64_t end, uint16_t* results) const override {
    std::vector<float> exps(p_.cols);
    for (int64_t row = begin / p_.cols; row * p_.cols < end; ++row) {
      const Line line{p_.a + row * p_.cols, p_.cols, 1};
      const float max = Rounded(Reduce(Combine::kMax, line, line.count, p_.slice_ends));
      for (int64_t i = 0; i < p_.cols; ++i) exps[i] = exp_[NearestSen(double{line[i] - max})];
      const float sum = Rounded(Reduce(Combine::kSum, exps, p_.cols, p_.slice_ends));
      const float scale = static_cast<float>(SenValue(NearestSen(1.0L / sum)));
      const int64_t from = std::max(begin, row * p_.cols);
      for (int64_t e = from; e < std::min(end, (row + 1) * p_.cols); ++e)
        results[e - begin] = Result(exps[e - row * p_.cols] * scale);
    }
  }
  double Ideal(int64_t element) const override {
    const Line line{p_.a + element / p_.cols * p_.cols, p_.cols, 1};
    double max = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < p_.cols; ++i) max = std::max(max, double{line[i]});
    double sum = 0;
    for (int64_t i = 0; i < p_.cols; ++i) sum += std::exp(line[i] - max);
    return std::exp(line[element % p_.cols] - max) / sum;
  }

 private:
  ReferenceProblem p_;
  std::vector<float> exp_;  // of every SEN169_FP16 code
};

bool SameHalf(uint16_t a, uint16_t b) {
  return a == b || ((a & 0x7FFF) > 0x7C00 && (b & 0x7FFF) > 0x7C00);
}

// `count` different elements of [0, total), in increasing order.
std::vector<int64_t> Sample(int64_t total, int64_t count, uint64_t seed) {
  std::vector<int64_t> chosen;
  if (count >= total) {
    chosen.resize(total);
    for (int64_t i = 0; i < total; ++i) chosen[i] = i;
    return chosen;
  }
  // One from each of `count` equal parts: spread over the whole tensor, no duplicates.
  std::mt19937_64 random(seed);
  chosen.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    // total * i / count without leaving 64 bits.
    const auto edge = [&](int64_t part) {
      return total / count * part + total % count * part / count;
    };
    const int64_t begin = edge(i);
    const int64_t end = edge(i + 1);
    chosen.push_back(begin + static_cast<int64_t>(random() % static_cast<uint64_t>(end - begin)));
  }
  return chosen;
}

class Verifier {
 public:
  Verifier(const Reference& reference, const uint16_t* output)
      : reference_(reference), output_(output) {}

  void CompareRange(int64_t begin, int64_t end) {
    std::vector<uint16_t> expected(std::min<int64_t>(end - begin, kBlock));
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t stop = std::min(end, at + kBlock);
      reference_.Compute(at, stop, expected.data());
      for (int64_t i = at; i < stop; ++i) Compare(i, expected[i - at]);
    }
  }
  void CompareElement(int64_t element) {
    uint16_t expected = 0;
    reference_.Compute(element, element + 1, &expected);
    Compare(element, expected);
  }
  // Errors of elements[begin .. end).
  void MeasureErrors(const std::vector<int64_t>& elements, int64_t begin, int64_t end) {
    int64_t count = 0;
    double max_error = 0;
    double max_ideal = 0;
    double max_ulps = 0;
    for (int64_t i = begin; i < end; ++i) {
      const double ideal = reference_.Ideal(elements[i]);
      const double got = HalfValue(output_[elements[i]]);
      if (!std::isfinite(ideal) || !std::isfinite(got)) continue;
      const double error = std::fabs(got - ideal);
      ++count;
      max_error = std::max(max_error, error);
      max_ideal = std::max(max_ideal, std::fabs(ideal));
      max_ulps = std::max(max_ulps, error / std::max(SenUlp(ideal), std::ldexp(1, -24)));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    result_.error_elements += count;
    result_.max_abs_error = std::max(result_.max_abs_error, max_error);
    max_ideal_ = std::max(max_ideal_, max_ideal);
    result_.max_ulp_error = std::max(result_.max_ulp_error, max_ulps);
  }
  Verification Take(int64_t elements) {
    constexpr size_t kShown = 8;
    result_.elements = elements;
    if (max_ideal_ > 0) result_.max_relative_error = result_.max_abs_error / max_ideal_;
    std::sort(result_.first.begin(), result_.first.end(),
              [](const Mismatch& a, const Mismatch& b) { return a.element < b.element; });
    if (result_.first.size() > kShown) result_.first.resize(kShown);
    return std::move(result_);
  }

 private:
  static constexpr int64_t kBlock = 1 << 18;

  void Compare(int64_t element, uint16_t expected) {
    if (SameHalf(output_[element], expected)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    ++result_.mismatches;
    // Enough for the first few of any thread's part.
    constexpr size_t kKept = 4096;
    if (result_.first.size() < kKept)
      result_.first.push_back({element, output_[element], expected});
  }

  const Reference& reference_;
  const uint16_t* output_;
  std::mutex mutex_;
  Verification result_;
  double max_ideal_ = 0;
};

}  // namespace

std::vector<ReducedTile> ReducedTiles(const ReferenceProblem& problem, int64_t size) {
  std::vector<ReducedTile> tiles;
  const std::vector<int64_t> whole{size};
  int64_t begin = 0;
  for (const int64_t tile_end : problem.tile_ends.empty() ? whole : problem.tile_ends) {
    ReducedTile& tile = tiles.emplace_back();
    tile.begin = begin;
    for (const int64_t slice_end : problem.slice_ends) {
      if (slice_end > begin && slice_end < tile_end) tile.slice_ends.push_back(slice_end - begin);
    }
    tile.slice_ends.push_back(tile_end - begin);
    begin = tile_end;
  }
  return tiles;
}

std::unique_ptr<Reference> MakeReference(const ReferenceProblem& problem) {
  if (problem.op == "matmul" || problem.op == "batchmatmul") return MakeMatmulReference(problem);
  if (problem.op == "softmax") return std::make_unique<SoftmaxReference>(problem);
  if (problem.op == "sum" || problem.op == "mean")
    return std::make_unique<ReductionReference>(problem, Combine::kSum, problem.op == "mean");
  if (problem.op == "amax")
    return std::make_unique<ReductionReference>(problem, Combine::kMax, false);
  if (problem.op == "amin")
    return std::make_unique<ReductionReference>(problem, Combine::kMin, false);
  if (const UnaryFunction unary = FindUnary(problem.op))
    return std::make_unique<UnaryReference>(problem, unary);
  if (const BinaryFunction binary = FindBinary(problem.op))
    return std::make_unique<BinaryReference>(problem, binary);
  throw BadInput("there is no reference for operation '{}': set workload.verify = \"none\"",
                 problem.op);
}

Verification Verify(const Reference& reference, const uint16_t* output, int64_t sample_size,
                    uint64_t seed) {
  const int64_t total = reference.elements();
  Verifier verifier(reference, output);
  int64_t compared = total;
  // Elements that cost a whole long row each are sampled more thinly.
  const int64_t affordable = std::max<int64_t>(kLeastSample, kSampleWork / reference.ideal_cost());
  sample_size = std::min(sample_size, affordable);
  if (sample_size > 0 && sample_size < total) {
    const std::vector<int64_t> sample = Sample(total, sample_size, seed);
    compared = static_cast<int64_t>(sample.size());
    ParallelFor(compared, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) verifier.CompareElement(sample[i]);
    });
  } else {
    ParallelFor(total, 1024,
                [&](int64_t begin, int64_t end) { verifier.CompareRange(begin, end); });
  }

  const bool all = total <= kFullErrorWork / reference.ideal_cost() && compared == total;
  const std::vector<int64_t> measured =
      Sample(total, all ? total : std::min(kErrorSample, affordable), seed + 1);
  ParallelFor(static_cast<int64_t>(measured.size()), 1,
              [&](int64_t begin, int64_t end) { verifier.MeasureErrors(measured, begin, end); });
  Verification result = verifier.Take(compared);
  result.reference = fmt::format(
      "bit-exact in the documented order of additions over {} of {} elements; error against "
      "float64 of the same SEN169_FP16 inputs over {} elements",
      compared, total, result.error_elements);
  return result;
}

}  // namespace spyre::cosim
