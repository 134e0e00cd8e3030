// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/collective_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/contract/formats.h"
#include "model/contract/memory_map.h"
#include "model/contract/stick_layout.h"

namespace spyre::cosim {
namespace {

constexpr double kHalfStep = 1.0 / 1024;       // of SEN169_FP16, of the value: 9 fraction bits
constexpr double kHostStep = 1.0 / (1 << 25);  // half the smallest step of float16

uint16_t WordAt(const HostData& image, size_t word) {
  uint16_t value = 0;
  std::memcpy(&value, &image[word * sizeof(value)], sizeof(value));
  return value;
}

// Chunk c begins with card c and goes round; every sum is rounded.
HostData SumInRingOrder(const std::vector<HostData>& before) {
  const size_t cards = before.size();
  const size_t sticks = before[0].size() / kStickBytes;
  const size_t words = kStickBytes / sizeof(uint16_t);
  HostData sum(before[0].size());
  size_t stick = 0;
  for (size_t chunk = 0; chunk < cards; ++chunk) {
    const size_t end = stick + sticks / cards + (chunk < sticks % cards ? 1 : 0);
    for (size_t word = stick * words; word < end * words; ++word) {
      uint16_t value = WordAt(before[chunk], word);
      for (size_t i = 1; i < cards; ++i) {
        const uint16_t next = WordAt(before[(chunk + i) % cards], word);
        value = DlfFromFloat(DlfToFloat(value) + DlfToFloat(next));
      }
      std::memcpy(&sum[word * sizeof(value)], &value, sizeof(value));
    }
    stick = end;
  }
  return sum;
}

HostData ToHost(const WorkloadTensor& tensor, const HostData& image, DataFormat format) {
  HostData host(static_cast<size_t>(tensor.elements() * HostFormatOf(format).bytes));
  RunConversion(PlanConversion(tensor.layout, format, false), image.data(), host.data());
  return host;
}

// What float64 says of one element, against what all cards have.
void Judge(Verification& result, const std::string& name, DataFormat format, int64_t element,
           uint64_t bits, double ideal, double magnitude, size_t cards) {
  if (!std::isfinite(ideal)) {
    ++result.unjudged;
    return;
  }
  const double got = HostValue(format, bits);
  if (!std::isfinite(got)) {
    ++result.not_finite;
    return;
  }
  ++result.error_elements;
  const double error = std::abs(got - ideal);
  const double limit = static_cast<double>(cards - 1) * kHalfStep * magnitude + kHostStep;
  result.max_abs_error = std::max(result.max_abs_error, error);
  const double ulp =
      std::ldexp(1.0, std::max(std::ilogb(std::max(std::abs(ideal), 1e-30)) - 9, -24));
  result.max_ulp_error = std::max(result.max_ulp_error, error / ulp);
  if (error > limit) ++result.beyond;
  if (!result.worst ||
      error * result.worst->limit > std::abs(result.worst->got - result.worst->expected) * limit)
    result.worst = Deviation{name, element, got, ideal, limit};
}

}  // namespace

Verification VerifyAllReduce(const WorkloadTensor& tensor, const std::vector<HostData>& before,
                             const std::vector<HostData>& after) {
  Verification result;
  result.reference =
      "the sum of what the cards had before, in the order of the ring, and float64 sums";
  const DataFormat format = tensor.host_format;
  const HostData expected = ToHost(tensor, SumInRingOrder(before), format);
  std::vector<HostData> terms;
  terms.reserve(before.size());
  for (const HostData& image : before)
    terms.push_back(ToHost(tensor, image, DataFormat::kIeeeFp32));
  double largest = 0;
  for (int64_t element = 0; element < tensor.elements(); ++element) {
    double ideal = 0, magnitude = 0;
    for (const HostData& term : terms) {
      const double value =
          HostValue(DataFormat::kIeeeFp32, HostBits(DataFormat::kIeeeFp32, term.data(), element));
      ideal += value;
      magnitude += std::abs(value);
    }
    if (std::isfinite(ideal)) largest = std::max(largest, std::abs(ideal));
    const uint64_t right = HostBits(format, expected.data(), element);
    for (size_t card = 0; card < after.size(); ++card) {
      const uint64_t got = HostBits(format, after[card].data(), element);
      ++result.elements;
      if (got == right) continue;
      ++result.mismatches;
      if (result.first.size() < kShownMismatches) {
        result.first.push_back(
            {element, got, right, fmt::format("card{}/{}", card, tensor.name), format});
      }
    }
    Judge(result, tensor.name, format, element, HostBits(format, after[0].data(), element), ideal,
          magnitude, before.size());
  }
  if (largest > 0) result.max_relative_error = result.max_abs_error / largest;
  return result;
}

}  // namespace spyre::cosim
