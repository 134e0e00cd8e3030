// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include "base/parallel.h"
#include "cosim/tensors/reference_numbers.h"
#include "cosim/verify/error_meter.h"
#include "cosim/verify/sample.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kSample = 4096;         // elements that are compared with CheckOptions::sample
constexpr int64_t kSampleWork = 1 << 30;  // additions that a sample may cost
constexpr int64_t kLeastSample = 16;
constexpr int64_t kLeastSaving = 2;  // a sample of more than half of the elements is all of them
constexpr int64_t kErrorSample = 4096;
constexpr int64_t kFullErrorWork = 1 << 25;  // float64 operations that are spent without sampling
constexpr int64_t kShareWork = 1 << 14;      // of a thread's share: fewer cost less than a thread

const uint16_t* HalfPointer(const HostData& data) {
  return reinterpret_cast<const uint16_t*>(data.data());
}

bool SameHalf(uint16_t a, uint16_t b) {
  return a == b || ((a & 0x7FFF) > 0x7C00 && (b & 0x7FFF) > 0x7C00);
}

class Verifier {
 public:
  Verifier(const Reference& reference, const uint16_t* output, double tolerance)
      : reference_(reference), output_(output) {
    result_.tolerance = tolerance;
  }

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
    ErrorMeter meter;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t element = elements[static_cast<size_t>(i)];
      const double limit =
          result_.tolerance > 0 ? ErrorMeter::kNoLimit : reference_.Rounding(element);
      meter.Add(HalfValue(output_[element]), reference_.Ideal(element), limit, element);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    meter_.Merge(meter);
  }
  Verification Take(int64_t elements) {
    result_.elements = elements;
    meter_.AddTo(result_);
    std::sort(result_.first.begin(), result_.first.end(),
              [](const Mismatch& a, const Mismatch& b) { return a.element < b.element; });
    if (result_.first.size() > kShownMismatches) result_.first.resize(kShownMismatches);
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
  ErrorMeter meter_;
  Verification result_;
};

}  // namespace

Verification Verify(const Reference& reference, const uint16_t* output, int64_t sample_size,
                    uint64_t seed, double tolerance, const std::vector<int64_t>& also) {
  const int64_t total = reference.elements();
  Verifier verifier(reference, output, tolerance);
  int64_t compared = total;
  // Elements that cost a whole long row each are sampled more thinly.
  const int64_t affordable = std::max<int64_t>(kLeastSample, kSampleWork / reference.ideal_cost());
  sample_size = std::min(sample_size, affordable);
  std::vector<int64_t> sample;
  if (sample_size > 0 && sample_size < total) {
    const std::vector<int64_t> spread = Sample(total, sample_size, seed);
    std::set_union(spread.begin(), spread.end(), also.begin(), also.end(),
                   std::back_inserter(sample));
  }
  if (!sample.empty() && static_cast<int64_t>(sample.size()) <= total / kLeastSaving) {
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
  ParallelFor(static_cast<int64_t>(measured.size()),
              std::max<int64_t>(1, kShareWork / reference.ideal_cost()),
              [&](int64_t begin, int64_t end) { verifier.MeasureErrors(measured, begin, end); });
  Verification result = verifier.Take(compared);
  result.total = total;
  result.of_parts = !also.empty();
  result.reference = fmt::format(
      "bit-exact in the documented order of additions over {} of {} elements; error against "
      "float64 of the same SEN169_FP16 inputs over {} elements",
      compared, total, result.error_elements);
  return result;
}

Verification VerifyOperation(ReferenceProblem problem, const std::vector<HostData>& inputs,
                             const std::vector<HostData>& outputs, const CheckOptions& options) {
  problem.a = HalfPointer(inputs[0]);
  if (inputs.size() > 2) problem.b = HalfPointer(inputs[1]);
  const auto reference = MakeReference(problem);
  return Verify(
      *reference, HalfPointer(outputs.back()), options.sample ? kSample : 0, options.seed,
      options.tolerance,
      options.sample ? SampleOfParts(options.parts, options.seed) : std::vector<int64_t>());
}

Verification VerifyAttention(AttentionProblem problem, const std::vector<HostData>& inputs,
                             const std::vector<HostData>& outputs, const CheckOptions& options) {
  problem.q = HalfPointer(inputs[0]);
  problem.k = HalfPointer(inputs[1]);
  problem.v = HalfPointer(inputs[2]);
  return Verify(*MakeAttentionReference(problem), HalfPointer(outputs.back()),
                options.sample ? kSample : 0, options.seed, options.tolerance);
}

}  // namespace spyre::cosim
