// SPDX-License-Identifier: Apache-2.0
#include "model/contract/formats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "model/contract/dlf_bits.h"
#include "model/contract/host_conversion.h"
#include "model/contract/memory_map.h"

namespace spyre {
namespace {

constexpr int kFormatCount = 19;

struct FormatRow {
  std::string_view name;
  int bits;               // of one element in memory; 0: packing not public
  DataFormat device;      // format of the same tensor on the device
  std::string_view host;  // name of the host's type, empty if it has none
};
using F = DataFormat;
constexpr std::array<FormatRow, kFormatCount> kFormats = {{
    {"SEN169_FP16", 16, F::kSen169Fp16, ""},
    {"IEEE_FP32", 32, F::kIeeeFp32, "float32"},
    {"INVALID", 0, F::kInvalid, ""},
    {"SEN143_FP8", 8, F::kSen143Fp8, "float8_e4m3fn"},
    {"SEN152_FP8", 8, F::kSen152Fp8, "float8_e5m2"},
    {"SEN153_FP9", 0, F::kSen153Fp9, ""},
    {"SENINT2", 0, F::kSenInt2, ""},
    {"SENINT4", 4, F::kSenInt4, "int4"},
    {"SENINT8", 8, F::kSenInt8, "int8"},
    {"SENINT16", 16, F::kSenInt16, "int16"},
    {"SENINT24", 0, F::kSenInt24, ""},
    {"IEEE_INT64", 64, F::kIeeeInt32, "int64"},
    {"IEEE_INT32", 32, F::kIeeeInt32, "int32"},
    {"SENUINT32", 32, F::kSenUint32, "uint32"},
    {"SENUINT2", 0, F::kSenUint2, ""},
    {"IEEE_FP16", 16, F::kSen169Fp16, "float16"},
    {"BOOL", 8, F::kSen169Fp16, "bool"},
    {"BFLOAT16", 16, F::kSen169Fp16, "bfloat16"},
    {"SEN18F_FP24", 0, F::kSen18fFp24, ""},
}};

const FormatRow& Row(DataFormat format) {
  const auto index = static_cast<size_t>(format);
  if (index >= kFormats.size()) {
    throw BadInput("data format {} is unknown; the largest is {} (SEN18F_FP24)", index,
                   kFormats.size() - 1);
  }
  return kFormats[index];
}

// A small IEEE-like format: bias 2^(exponent bits - 1) - 1, subnormals, nearest even. With
// kHasInfinity the all-ones exponent holds infinity and NaN; without, only the all-ones code is NaN
// and overflow saturates (e4m3fn).
template <int kExponentBits, int kFractionBits, bool kHasInfinity>
struct Small {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kShift = 23 - kFractionBits;
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias);
  static constexpr uint32_t kSign = 1u << (kExponentBits + kFractionBits);
  static constexpr uint32_t kAllOnes = kSign - 1;
  static constexpr uint32_t kTop = kHasInfinity
                                       ? ((1u << kExponentBits) - 1) << kFractionBits  // infinity
                                       : kAllOnes - 1;                                 // largest
  static constexpr uint32_t kNan = kHasInfinity ? kTop | 1u << (kFractionBits - 1) : kAllOnes;
  static constexpr int kUnitExponent = 1 - kBias - kFractionBits;  // of a subnormal's last place

  static uint32_t From(uint32_t bits) {
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    // A subnormal result is rounded by adding the float whose last place is the subnormal's.
    const uint32_t anchor = static_cast<uint32_t>(127 + 23 + kUnitExponent) << 23;
    const uint32_t subnormal = BitsOf(FloatOf(magnitude) + FloatOf(anchor)) - anchor;
    const uint32_t odd = (magnitude >> kShift) & 1;
    uint32_t code =
        ((magnitude + (1u << (kShift - 1)) - 1 + odd) >> kShift) - (kRebias << kFractionBits);
    code = magnitude < (kRebias + 1) << 23 ? subnormal : code;
    code = magnitude >= kFloatInfinityBits || code > kTop ? kTop : code;
    code = magnitude > kFloatInfinityBits ? kNan : code;
    return ((bits >> 31) * kSign) | code;
  }

  static uint32_t ToFloatBits(uint32_t value) {
    const uint32_t magnitude = value & kAllOnes;
    const uint32_t sign = (value & kSign) != 0 ? 0x80000000 : 0;
    const float unit = FloatOf(static_cast<uint32_t>(127 + kUnitExponent) << 23);
    const uint32_t subnormal = BitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * unit);
    uint32_t bits = (magnitude << kShift) + (kRebias << 23);
    bits = magnitude < 1u << kFractionBits ? subnormal : bits;
    if (kHasInfinity) {
      bits = magnitude == kTop ? kFloatInfinityBits : bits;
      bits = magnitude > kTop ? kFloatNanBits | (magnitude << kShift) : bits;
    } else {
      bits = magnitude == kAllOnes ? kFloatNanBits : bits;
    }
    return sign | bits;
  }
};
using Half = Small<5, 10, true>;
using Fp8E4M3 = Small<4, 3, false>;
using Fp8E5M2 = Small<5, 2, true>;

// The SEN169 code of a half and back, one rounding each way. Written out rather than through
// Small<> because these two carry every host copy. Exponent 31 is as any other, as the software of
// the real card is seen to have it: an infinity becomes 65536, NaN a number beyond.
inline uint16_t DlfFromHalfBits(uint32_t value) {
  const uint32_t magnitude = value & 0x7FFF;
  const float unit = FloatOf((127u - 24u) << 23);
  const uint32_t subnormal =
      DlfFromFloatBits(BitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * unit));
  const uint32_t normal = ((magnitude + 1) >> 1) + ((31u - 15u) << kDlfFractionBits);
  return static_cast<uint16_t>((value & 0x8000) | (magnitude < 0x0400 ? subnormal : normal));
}

inline uint16_t HalfFromDlfBits(uint32_t value) {
  const uint32_t magnitude = value & 0x7FFF;
  const uint32_t sign = value & 0x8000;
  // Below 2^-14 the result is a subnormal: twice the significand, shifted to units of 2^-24.
  const uint32_t exponent = magnitude >> kDlfFractionBits;
  const uint32_t shift = exponent < 6 ? 11 : 17 - std::min(exponent, 16u);
  const uint32_t twice = (magnitude & 0x1FF) * 2 + 0x400;
  const uint32_t subnormal = (twice + (1u << (shift - 1)) - 1 + ((twice >> shift) & 1)) >> shift;
  uint32_t code = magnitude * 2 - ((31u - 15u) << 10);
  code = exponent < 17 ? subnormal : code;
  code = exponent < 6 ? 0 : code;  // less than half of 2^-24
  code = code > 0x7C00 ? 0x7C00 : code;
  code |= sign;
  return static_cast<uint16_t>(magnitude == 0x7FFF ? 0x7E00 : code);
}

inline uint16_t Bf16FromFloatBits(uint32_t bits) {
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  const bool nan = (bits & 0x7FFFFFFF) > kFloatInfinityBits;
  return static_cast<uint16_t>(nan ? ((bits >> 16) & 0x8000) | 0x7FC0 : rounded);
}

// Nearest even, saturating; NaN gives 0.
template <typename Int>
Int SaturatingInt(float value, float low, float high) {
  if (std::isnan(value)) return 0;
  return static_cast<Int>(std::nearbyint(std::min(std::max(value, low), high)));
}

// ---- block conversions ----

using BlockFn = ConvertBlock;

template <typename From, typename To, typename Fn>
inline __attribute__((always_inline)) void Map(const uint8_t* __restrict source,
                                               uint8_t* __restrict destination, size_t count,
                                               Fn fn) {
  for (size_t i = 0; i < count; ++i) {
    From from;
    std::memcpy(&from, source + i * sizeof(From), sizeof(From));
    const To to = static_cast<To>(fn(from));
    std::memcpy(destination + i * sizeof(To), &to, sizeof(To));
  }
}

SPYRE_VECTOR_CLONES
void HalfToDlfBlock(const uint8_t* source, uint8_t* destination, size_t count) {
  Map<uint16_t, uint16_t>(source, destination, count,
                          [](uint32_t value) { return DlfFromHalfBits(value); });
}
SPYRE_VECTOR_CLONES
void DlfToHalfBlock(const uint8_t* source, uint8_t* destination, size_t count) {
  Map<uint16_t, uint16_t>(source, destination, count,
                          [](uint32_t value) { return HalfFromDlfBits(value); });
}
SPYRE_VECTOR_CLONES
void FloatToDlfBlock(const uint8_t* source, uint8_t* destination, size_t count) {
  Map<uint32_t, uint16_t>(source, destination, count,
                          [](uint32_t bits) { return DlfFromFloatBits(bits); });
}
SPYRE_VECTOR_CLONES
void DlfToFloatBlock(const uint8_t* source, uint8_t* destination, size_t count) {
  Map<uint16_t, uint32_t>(source, destination, count,
                          [](uint32_t value) { return FloatBitsFromDlf(value); });
}

template <typename From, typename To, To (*kFn)(From)>
SPYRE_VECTOR_CLONES void MapBlock(const uint8_t* source, uint8_t* destination, size_t count) {
  Map<From, To>(source, destination, count, kFn);
}

void FloatToInt4Block(const uint8_t* source, uint8_t* destination, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, source + i * sizeof value, sizeof value);
    const auto nibble = static_cast<uint8_t>(SaturatingInt<int8_t>(value, -8, 7) & 15);
    uint8_t& byte = destination[i / 2];
    byte = i % 2 == 0 ? nibble : static_cast<uint8_t>(byte | nibble << 4);
  }
}
void Int4ToFloatBlock(const uint8_t* source, uint8_t* destination, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int nibble = (source[i / 2] >> (i % 2 * 4)) & 15;
    const auto value = static_cast<float>(nibble < 8 ? nibble : nibble - 16);
    std::memcpy(destination + i * sizeof value, &value, sizeof value);
  }
}
template <int kBits>
void CopyBlock(const uint8_t* source, uint8_t* destination, size_t count) {
  const size_t whole = count * kBits / 8;
  if (whole != 0) std::memmove(destination, source, whole);
  if (count * kBits % 8 != 0)
    destination[whole] = source[whole] & 15;  // half a byte: the rest is 0
}

uint16_t Bf16ToDlf(uint16_t value) {
  return static_cast<uint16_t>(DlfFromFloatBits(static_cast<uint32_t>(value) << 16));
}
uint16_t DlfToBf16(uint16_t value) { return Bf16FromFloatBits(FloatBitsFromDlf(value)); }
uint16_t BoolToDlf(uint8_t value) {
  return value != 0 ? kDlfBias << kDlfFractionBits : 0;  // 1.0 or 0
}
uint8_t DlfToBool(uint16_t value) { return (value & 0x7FFF) != 0; }
int32_t Int64ToInt32(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
}
int64_t Int32ToInt64(int32_t value) { return value; }
int16_t DlfToInt16(uint16_t value) {
  return SaturatingInt<int16_t>(DlfToFloat(value), -32768, 32767);
}
uint16_t Int16ToDlf(int16_t value) { return DlfFromFloat(value); }
int8_t FloatToInt8(float value) { return SaturatingInt<int8_t>(value, -128, 127); }
float Int8ToFloat(int8_t value) { return value; }

BlockFn IdentityOf(DataFormat format) {
  switch (Row(format).bits) {
    case 4:
      return CopyBlock<4>;
    case 8:
      return CopyBlock<8>;
    case 16:
      return CopyBlock<16>;
    case 32:
      return CopyBlock<32>;
    case 64:
      return CopyBlock<64>;
    default:
      return nullptr;
  }
}

struct Conversion {
  DataFormat from;
  DataFormat to;
  BlockFn run;
};
constexpr Conversion kConversions[] = {
    {F::kIeeeFp16, F::kSen169Fp16, HalfToDlfBlock},
    {F::kSen169Fp16, F::kIeeeFp16, DlfToHalfBlock},
    {F::kIeeeFp32, F::kSen169Fp16, FloatToDlfBlock},
    {F::kSen169Fp16, F::kIeeeFp32, DlfToFloatBlock},
    {F::kBfloat16, F::kSen169Fp16, MapBlock<uint16_t, uint16_t, Bf16ToDlf>},
    {F::kSen169Fp16, F::kBfloat16, MapBlock<uint16_t, uint16_t, DlfToBf16>},
    {F::kIeeeFp32, F::kIeeeFp16, MapBlock<float, uint16_t, HalfFromFloat>},
    {F::kIeeeFp16, F::kIeeeFp32, MapBlock<uint16_t, float, HalfToFloat>},
    {F::kIeeeFp32, F::kBfloat16, MapBlock<float, uint16_t, Bf16FromFloat>},
    {F::kBfloat16, F::kIeeeFp32, MapBlock<uint16_t, float, Bf16ToFloat>},
    {F::kIeeeFp32, F::kSen143Fp8, MapBlock<float, uint8_t, Fp8E4M3FromFloat>},
    {F::kSen143Fp8, F::kIeeeFp32, MapBlock<uint8_t, float, Fp8E4M3ToFloat>},
    {F::kIeeeFp32, F::kSen152Fp8, MapBlock<float, uint8_t, Fp8E5M2FromFloat>},
    {F::kSen152Fp8, F::kIeeeFp32, MapBlock<uint8_t, float, Fp8E5M2ToFloat>},
    {F::kBool, F::kSen169Fp16, MapBlock<uint8_t, uint16_t, BoolToDlf>},
    {F::kSen169Fp16, F::kBool, MapBlock<uint16_t, uint8_t, DlfToBool>},
    {F::kIeeeInt64, F::kIeeeInt32, MapBlock<int64_t, int32_t, Int64ToInt32>},
    {F::kIeeeInt32, F::kIeeeInt64, MapBlock<int32_t, int64_t, Int32ToInt64>},
    {F::kSen169Fp16, F::kSenInt16, MapBlock<uint16_t, int16_t, DlfToInt16>},
    {F::kSenInt16, F::kSen169Fp16, MapBlock<int16_t, uint16_t, Int16ToDlf>},
    {F::kIeeeFp32, F::kSenInt8, MapBlock<float, int8_t, FloatToInt8>},
    {F::kSenInt8, F::kIeeeFp32, MapBlock<int8_t, float, Int8ToFloat>},
    {F::kIeeeFp32, F::kSenInt4, FloatToInt4Block},
    {F::kSenInt4, F::kIeeeFp32, Int4ToFloatBlock},
};

}  // namespace

ConvertBlock FindConversion(DataFormat from, DataFormat to) {
  if (from == to) return IdentityOf(from);
  for (const Conversion& conversion : kConversions) {
    if (conversion.from == from && conversion.to == to) return conversion.run;
  }
  return nullptr;
}

std::string_view FormatName(DataFormat format) { return Row(format).name; }

DataFormat FormatFromName(std::string_view name) {
  for (size_t i = 0; i < kFormats.size(); ++i) {
    if (name == kFormats[i].name || (!kFormats[i].host.empty() && name == kFormats[i].host)) {
      return static_cast<DataFormat>(i);
    }
  }
  throw BadInput(
      "unknown data format '{}'; use a host type (float16, float32, bfloat16, float8_e4m3fn, "
      "float8_e5m2, int4, int8, int16, int32, int64, uint32, bool) or a device format such as "
      "SEN169_FP16",
      name);
}

int BitsPerElement(DataFormat format) {
  const FormatRow& row = Row(format);
  if (row.bits == 0) {
    throw BadInput("the packing of {} in memory is not public; no size can be given for it",
                   row.name);
  }
  return row.bits;
}

int ElementsPerStick(DataFormat format) {
  return static_cast<int>(kStickBytes) * 8 / BitsPerElement(Row(format).device);
}

DataFormat DeviceFormatOf(DataFormat host) {
  if (host == DataFormat::kInvalid) throw BadInput("INVALID is not the format of any tensor");
  return Row(host).device;
}

uint16_t DlfFromFloat(float value) {
  return static_cast<uint16_t>(DlfFromFloatBits(BitsOf(value)));
}

uint16_t DlfFromDouble(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFF;
  if (std::isnan(value)) return kDlfNan;
  constexpr int kShift = 52 - kDlfFractionBits;
  constexpr int64_t kRebias = static_cast<int64_t>(1023 - kDlfBias) << kDlfFractionBits;
  const int64_t rounded =
      static_cast<int64_t>((magnitude + (uint64_t{1} << (kShift - 1))) >> kShift) - kRebias;
  const int64_t code = std::clamp<int64_t>(rounded, 0, kDlfNan);
  return static_cast<uint16_t>(((bits >> 48) & 0x8000) | static_cast<uint64_t>(code));
}

float DlfToFloat(uint16_t value) { return FloatOf(FloatBitsFromDlf(value)); }

uint16_t HalfFromFloat(float value) { return static_cast<uint16_t>(Half::From(BitsOf(value))); }
float HalfToFloat(uint16_t value) { return FloatOf(Half::ToFloatBits(value)); }
uint16_t DlfFromHalf(uint16_t value) { return DlfFromHalfBits(value); }
uint16_t HalfFromDlf(uint16_t value) { return HalfFromDlfBits(value); }

uint16_t Bf16FromFloat(float value) { return Bf16FromFloatBits(BitsOf(value)); }
float Bf16ToFloat(uint16_t value) { return FloatOf(static_cast<uint32_t>(value) << 16); }

uint8_t Fp8E4M3FromFloat(float value) { return static_cast<uint8_t>(Fp8E4M3::From(BitsOf(value))); }
float Fp8E4M3ToFloat(uint8_t value) { return FloatOf(Fp8E4M3::ToFloatBits(value)); }
uint8_t Fp8E5M2FromFloat(float value) { return static_cast<uint8_t>(Fp8E5M2::From(BitsOf(value))); }
float Fp8E5M2ToFloat(uint8_t value) { return FloatOf(Fp8E5M2::ToFloatBits(value)); }

bool CanConvert(DataFormat from, DataFormat to) { return FindConversion(from, to) != nullptr; }

void ConvertElements(DataFormat from, const void* source, DataFormat to, void* destination,
                     size_t count) {
  const BlockFn run = FindConversion(from, to);
  if (run == nullptr) {
    throw BadInput("no conversion from {} to {}; see ConvertElements in formats.h for the pairs",
                   FormatName(from), FormatName(to));
  }
  run(static_cast<const uint8_t*>(source), static_cast<uint8_t*>(destination), count);
}

}  // namespace spyre
