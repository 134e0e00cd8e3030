// SPDX-License-Identifier: Apache-2.0
#include "model/contract/host_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/vector_clones.h"
#include "model/contract/dlf_bits.h"

namespace spyre {
namespace {

using F = DataFormat;

template <typename From, typename To, typename Fn>
inline __attribute__((always_inline)) void Each(const uint8_t* __restrict source,
                                                uint8_t* __restrict destination, size_t count,
                                                Fn fn) {
  for (size_t i = 0; i < count; ++i) {
    From from;
    std::memcpy(&from, source + i * sizeof(From), sizeof(From));
    const To to = static_cast<To>(fn(from));
    std::memcpy(destination + i * sizeof(To), &to, sizeof(To));
  }
}

void HalfToBf16(const uint8_t* source, uint8_t* destination, size_t count) {
  Each<uint16_t, uint16_t>(source, destination, count,
                           [](uint16_t value) { return Bf16FromFloat(HalfToFloat(value)); });
}

// One rounding: what a double does not hold exactly is far beyond the largest code.
void Int64ToDlf(const uint8_t* source, uint8_t* destination, size_t count) {
  Each<int64_t, uint16_t>(source, destination, count,
                          [](int64_t value) { return DlfFromDouble(static_cast<double>(value)); });
}
void DlfToInt64(const uint8_t* source, uint8_t* destination, size_t count) {
  Each<uint16_t, int64_t>(source, destination, count, [](uint16_t value) {
    const float number = DlfToFloat(value);
    return std::isnan(number) ? 0 : static_cast<int64_t>(std::nearbyint(number));
  });
}

SPYRE_VECTOR_CLONES
void Int64ToUint32(const uint8_t* source, uint8_t* destination, size_t count) {
  Each<uint64_t, uint32_t>(source, destination, count, [](uint64_t value) { return value; });
}
SPYRE_VECTOR_CLONES
void Uint32ToInt64(const uint8_t* source, uint8_t* destination, size_t count) {
  Each<uint32_t, uint64_t>(source, destination, count, [](uint32_t value) { return value; });
}

void FloatToUint2(const uint8_t* source, uint8_t* destination, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, source + i * sizeof value, sizeof value);
    const float number = std::isnan(value) ? 0 : std::min(std::max(value, 0.0F), 3.0F);
    const auto code = static_cast<uint32_t>(std::nearbyint(number));
    if (i % 4 == 0) destination[i / 4] = 0;
    destination[i / 4] = static_cast<uint8_t>(destination[i / 4] | code << (i % 4 * 2));
  }
}
void Uint2ToFloat(const uint8_t* source, uint8_t* destination, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>((source[i / 4] >> (i % 4 * 2)) & 3);
    std::memcpy(destination + i * sizeof value, &value, sizeof value);
  }
}

struct Pair {
  DataFormat from, to;
  ConvertBlock run;
};
constexpr Pair kOwn[] = {
    {F::kIeeeFp16, F::kBfloat16, HalfToBf16},      {F::kIeeeInt64, F::kSen169Fp16, Int64ToDlf},
    {F::kSen169Fp16, F::kIeeeInt64, DlfToInt64},   {F::kIeeeInt64, F::kSenUint32, Int64ToUint32},
    {F::kSenUint32, F::kIeeeInt64, Uint32ToInt64}, {F::kIeeeFp32, F::kSenUint2, FloatToUint2},
    {F::kSenUint2, F::kIeeeFp32, Uint2ToFloat},
};

}  // namespace

ConvertBlock FindHostConversion(DataFormat from, DataFormat to) {
  for (const Pair& pair : kOwn) {
    if (pair.from == from && pair.to == to) return pair.run;
  }
  return FindConversion(from, to);
}

int HostBitsPerElement(DataFormat format) {
  return format == DataFormat::kSenUint2 ? 2 : BitsPerElement(format);
}

}  // namespace spyre
