// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/special_numbers.h"

#include <cstring>
#include <vector>

#include "base/vector_clones.h"
#include "sdk/flex/touched.h"

namespace spyre::sdk {
namespace {

// Numbers whose exponent has all bits set.
template <typename Code>
inline __attribute__((always_inline)) uint64_t Count(const uint8_t* numbers, int64_t count,
                                                     int64_t stride, Code exponent) {
  uint64_t special = 0;
  for (int64_t i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, numbers + i * stride * static_cast<int64_t>(sizeof code), sizeof code);
    special += (code & exponent) == exponent ? 1 : 0;
  }
  return special;
}
SPYRE_VECTOR_CLONES
uint64_t Count16(const uint8_t* numbers, int64_t count, uint16_t exponent) {
  return Count<uint16_t>(numbers, count, 1, exponent);
}
SPYRE_VECTOR_CLONES
uint64_t Count32(const uint8_t* numbers, int64_t count, uint32_t exponent) {
  return Count<uint32_t>(numbers, count, 1, exponent);
}

class Counter {
 public:
  Counter(const uint8_t* host, int bytes, uint32_t exponent)
      : host_(host), bytes_(bytes), exponent_(exponent) {}

  uint64_t Walk(const std::vector<SideDimension>& dims, size_t count, int64_t offset) const {
    const SideDimension& dim = dims[count - 1];
    if (count == 1) return Run(dim, host_ + offset * bytes_);
    uint64_t special = 0;
    for (int64_t i = 0; i < dim.size; ++i)
      special += Walk(dims, count - 1, offset + i * dim.stride);
    return special;
  }

 private:
  uint64_t Run(const SideDimension& run, const uint8_t* numbers) const {
    const auto half = static_cast<uint16_t>(exponent_);
    if (run.stride != 1) {
      return bytes_ == 2 ? Count<uint16_t>(numbers, run.size, run.stride, half)
                         : Count<uint32_t>(numbers, run.size, run.stride, exponent_);
    }
    return bytes_ == 2 ? Count16(numbers, run.size, half) : Count32(numbers, run.size, exponent_);
  }

  const uint8_t* const host_;
  const int bytes_;
  const uint32_t exponent_;
};

}  // namespace

uint64_t CountSpecialNumbers(const DataConversion& conversion, bool source, const void* host) {
  const DataFormat format = source ? conversion.source_format : conversion.destination_format;
  int bytes = 2;
  uint32_t exponent = 0x7C00;  // float16
  if (format == DataFormat::kBfloat16) exponent = 0x7F80;
  if (format == DataFormat::kIeeeFp32) {
    exponent = 0x7F800000;
    bytes = 4;
  } else if (format != DataFormat::kIeeeFp16 && format != DataFormat::kBfloat16) {
    return 0;
  }
  const Counter counter(static_cast<const uint8_t*>(host), bytes, exponent);
  uint64_t special = 0;
  for (const StridedBox& box : conversion.boxes) {
    const std::vector<SideDimension> dims = DimensionsOf(box, source);
    if (!dims.empty())
      special +=
          counter.Walk(dims, dims.size(), source ? box.source_offset : box.destination_offset);
  }
  return special;
}

}  // namespace spyre::sdk
