// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "cosim/reference/reference_functions.h"
#include "cosim/reference/reference_matmul.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kChunk = 64;

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
  double Rounding(int64_t element) const override { return OneRounding(Ideal(element)); }

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
  double Rounding(int64_t element) const override { return OneRounding(Ideal(element)); }

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

using Fold = FoldFunction<float>;

// The documented order; `Values` gives the i-th float.
template <class Values>
float Reduce(const Fold& fold, const Values& values, int64_t count,
             const std::vector<int64_t>& slice_ends) {
  if (slice_ends.empty()) return Reduce(fold, values, count, {count});
  float total = fold.start;
  int64_t slice_at = 0;
  for (const int64_t slice_end : slice_ends) {
    float sum = fold.start;
    for (int64_t at = slice_at; at < slice_end; at += kChunk) {
      float chunk = fold.start;
      for (int64_t i = at; i < std::min(slice_end, at + kChunk); ++i)
        chunk = fold.combine(chunk, fold.element(values[i]));
      sum = fold.combine(sum, chunk);
    }
    total = slice_at == 0 ? sum : fold.combine(total, sum);
    slice_at = slice_end;
  }
  return total;
}

// Partial results of tiles, each rounded, and so is each of their sums. `sum`: fp32 of one tile.
template <class Sum>
float FoldTiles(const std::vector<ReducedTile>& tiles, const Fold& fold, const Sum& sum) {
  float total = 0;
  for (const ReducedTile& tile : tiles) {
    const float partial = sum(tile);
    if (tiles.size() == 1) return partial;
    total = tile.begin == 0 ? Rounded(partial) : Rounded(fold.combine(total, Rounded(partial)));
  }
  return total;
}

// Of a product of fp32 factors, whose relative errors add up. Where a partial product leaves the
// range of its format, any result is explained by its rounding.
double RoundingOfProduct(const Line& line, const std::vector<ReducedTile>& tiles) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  constexpr double kFp32HalfStep = 1.0 / (1 << 24);
  constexpr double kLeastSen = 1.0 / (1 << 30);
  constexpr double kMostSen = 1U << 31;
  const auto leaves = [](double partial, double least, double most) {
    return partial != 0 && !(std::fabs(partial) >= least && std::fabs(partial) <= most);
  };
  double product = 1;
  int64_t i = 0;
  for (const ReducedTile& tile : tiles) {
    double tile_product = 1, chunk = 1;
    for (const int64_t end = tile.begin + tile.slice_ends.back(); i < end; ++i) {
      tile_product *= line[i];
      chunk = (i - tile.begin) % kChunk == 0 ? line[i] : chunk * line[i];
      for (const double partial : {tile_product, chunk})
        if (leaves(partial, std::numeric_limits<float>::min(), std::numeric_limits<float>::max()))
          return kNoLimit;
    }
    product *= tile_product;
    if (tiles.size() == 1) continue;
    for (const double partial : {tile_product, product})
      if (leaves(partial, kLeastSen, kMostSen)) return kNoLimit;
  }
  // Each tile's product is rounded, and so is what it makes with those before.
  const double tile_roundings = tiles.size() == 1 ? 0 : 2 * static_cast<double>(tiles.size());
  return (1 + tile_roundings) * OneRounding(product) +
         std::fabs(product) * static_cast<double>(line.count + 2) * kFp32HalfStep;
}

class ReductionReference : public Reference {
 public:
  ReductionReference(const ReferenceProblem& problem, std::string_view fold, bool mean)
      : p_(problem),
        tiles_(ReducedTiles(problem, problem.reduce_rows ? problem.rows : problem.cols)),
        fold_(*FindFold<float>(fold)),
        ideal_(*FindFold<double>(fold)),
        mean_(mean) {}
  int64_t elements() const override { return p_.batch * (p_.reduce_rows ? p_.cols : p_.rows); }
  int64_t ideal_cost() const override { return p_.reduce_rows ? p_.rows : p_.cols; }
  void Compute(int64_t begin, int64_t end, uint16_t* results) const override {
    for (int64_t i = begin; i < end; ++i) {
      const Line line = LineOf(i);
      const float value = FoldTiles(tiles_, fold_, [&](const ReducedTile& tile) {
        const Line part{line.first + tile.begin * line.stride, tile.slice_ends.back(), line.stride};
        return Reduce(fold_, part, part.count, tile.slice_ends);
      });
      results[i - begin] = Result(mean_ ? value / static_cast<float>(line.count) : value);
    }
  }
  double Ideal(int64_t element) const override {
    const Line line = LineOf(element);
    double value = ideal_.start;
    for (int64_t i = 0; i < line.count; ++i)
      value = ideal_.combine(value, ideal_.element(double{line[i]}));
    return mean_ ? value / static_cast<double>(line.count) : value;
  }
  double Rounding(int64_t element) const override {
    using Errors = FoldFunction<double>::Errors;
    if (ideal_.errors == Errors::kNone) return OneRounding(Ideal(element));
    const Line line = LineOf(element);
    if (ideal_.errors == Errors::kOfProducts) return RoundingOfProduct(line, tiles_);
    SumRounding sum(tiles_);
    for (int64_t i = 0; i < line.count; ++i) sum.Add(line[i]);
    if (!mean_) return sum.Take();
    return sum.Take() / static_cast<double>(line.count) + OneRounding(Ideal(element));
  }

 private:
  Line LineOf(int64_t element) const {
    if (!p_.reduce_rows) return {p_.a + element * p_.cols, p_.cols, 1};
    return {p_.a + element / p_.cols * p_.rows * p_.cols + element % p_.cols, p_.rows, p_.cols};
  }
  ReferenceProblem p_;
  std::vector<ReducedTile> tiles_;
  const Fold& fold_;
  const FoldFunction<double>& ideal_;
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
      const float max = Rounded(Reduce(*FindFold<float>("max"), line, line.count, p_.slice_ends));
      for (int64_t i = 0; i < p_.cols; ++i) exps[i] = exp_[NearestSen(double{line[i] - max})];
      const float sum = Rounded(Reduce(*FindFold<float>("sum"), exps, p_.cols, p_.slice_ends));
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
  // Differences to the largest are rounded before exp, which makes their errors relative ones of
  // the term and of the sum; the four other results are rounded once each.
  double Rounding(int64_t element) const override {
    const Line line{p_.a + element / p_.cols * p_.cols, p_.cols, 1};
    double max = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < p_.cols; ++i) max = std::max(max, double{line[i]});
    double sum = 0, shifts = 0;
    for (int64_t i = 0; i < p_.cols; ++i) {
      sum += std::exp(line[i] - max);
      shifts += std::exp(line[i] - max) * (max - line[i]);
    }
    constexpr double kOthers = 4;
    const double roundings = kOthers + 2 * (max - line[element % p_.cols] + shifts / sum);
    const double ideal = Ideal(element);
    // The sum of fp32 terms is far more exact than its rounding.
    return (roundings + 1) * OneRounding(ideal);
  }

 private:
  ReferenceProblem p_;
  std::vector<float> exp_;  // of every SEN169_FP16 code
};

}  // namespace

double OneRounding(double value) {
  constexpr double kHalfStep = 1.0 / (1 << 10);      // of SEN169_FP16's nine bits of fraction
  constexpr double kSecondOrder = 1 + 1.0 / 64;      // a value before its rounding is fp32
  constexpr double kSmallestStep = 1.0 / (1 << 24);  // float16 on the host, near zero
  return std::fabs(value) * kHalfStep * kSecondOrder + kSmallestStep;
}

void SumRounding::Add(double term) {
  magnitude_ += std::fabs(term);
  sum_ += term;
  tile_sum_ += term;
  ++terms_;
  const ReducedTile& tile = tiles_[tile_];
  if (tiles_.size() == 1 || terms_ < tile.begin + tile.slice_ends.back()) return;
  tile_rounding_ += OneRounding(tile_sum_) + OneRounding(sum_);
  tile_sum_ = 0;
  tile_ = std::min(tile_ + 1, tiles_.size() - 1);
}

double SumRounding::Take() const {
  constexpr double kFp32HalfStep = 1.0 / (1 << 24);
  // A term passes the additions of its chunk, of its slice's chunks and of the slices; one more for
  // its own product.
  const auto slices = static_cast<int64_t>(tiles_.front().slice_ends.size());
  const int64_t additions = std::min(terms_, kChunk) + terms_ / kChunk + slices + 2;
  return OneRounding(sum_) + tile_rounding_ +
         magnitude_ * static_cast<double>(additions) * kFp32HalfStep;
}

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
  if (const UnaryFunction unary = FindUnary(problem.op))
    return std::make_unique<UnaryReference>(problem, unary);
  if (const BinaryFunction binary = FindBinary(problem.op))
    return std::make_unique<BinaryReference>(problem, binary);
  const bool mean = problem.op == "mean";
  const std::string fold = mean ? "sum" : problem.op;
  if (FindFold<float>(fold) != nullptr)
    return std::make_unique<ReductionReference>(problem, fold, mean);
  throw BadInput("there is no reference for operation '{}': set workload.verify = \"none\"",
                 problem.op);
}

}  // namespace spyre::cosim
