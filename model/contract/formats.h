// SPDX-License-Identifier: Apache-2.0
// Number formats of the card and of the host, bit exact. Pure functions, any thread.
//
// SEN169_FP16 (DLFloat16): 1 sign, 6 exponent (bias 31), 9 fraction bits; no subnormals; all-zero
// exponent and fraction is zero; exponent 63 with fraction 511 is the one NaN-or-infinity symbol
// (NINF); nearest, ties away from zero. Conversions into it: above the largest finite after
// rounding -> NINF with the sign; infinity -> NINF with the sign; NaN -> 0x7FFF; too small -> zero
// with the sign. Source: US patent 10,656,913 and the zDNN / onnx-mlir converters; values in
// docs/facts.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spyre {

// Values are those of the public DataFormats enumeration.
enum class DataFormat : uint8_t {
  kSen169Fp16 = 0,
  kIeeeFp32 = 1,
  kInvalid = 2,
  kSen143Fp8 = 3,
  kSen152Fp8 = 4,
  kSen153Fp9 = 5,
  kSenInt2 = 6,
  kSenInt4 = 7,
  kSenInt8 = 8,
  kSenInt16 = 9,
  kSenInt24 = 10,
  kIeeeInt64 = 11,
  kIeeeInt32 = 12,
  kSenUint32 = 13,
  kSenUint2 = 14,
  kIeeeFp16 = 15,
  kBool = 16,
  kBfloat16 = 17,
  kSen18fFp24 = 18,
};
std::string_view FormatName(DataFormat format);  // "SEN169_FP16", ...
DataFormat FormatFromName(
    std::string_view name);  // also host names: float16, float32, bfloat16, ...; throws

int BitsPerElement(DataFormat format);  // throws for formats whose packing is not public
int ElementsPerStick(
    DataFormat format);  // 64 for SEN169_FP16, 32 for IEEE_FP32, ...; throws as above
DataFormat DeviceFormatOf(DataFormat host);  // fp16, bf16, bool -> SEN169_FP16; int64 -> int32; ...

inline constexpr uint16_t kDlfNan = 0x7FFF;
inline constexpr uint16_t kDlfMax = 0x7FFE;

uint16_t DlfFromFloat(float value);
uint16_t DlfFromDouble(double value);  // one rounding from the double
float DlfToFloat(uint16_t value);      // exact; NINF -> quiet NaN

uint16_t HalfFromFloat(float value);  // IEEE binary16, nearest even
float HalfToFloat(uint16_t value);
uint16_t DlfFromHalf(uint16_t value);
uint16_t HalfFromDlf(uint16_t value);  // 65536 and above -> infinity; NINF -> NaN

uint16_t Bf16FromFloat(float value);  // nearest even
float Bf16ToFloat(uint16_t value);

uint8_t Fp8E4M3FromFloat(float value);  // SEN143_FP8 as e4m3fn: largest 448, no infinity; saturates
float Fp8E4M3ToFloat(uint8_t value);
uint8_t Fp8E5M2FromFloat(float value);  // SEN152_FP8 with IEEE-like specials; nearest even
float Fp8E5M2ToFloat(uint8_t value);

// Converts `count` elements; byte-addressable formats only (SENINT4 packs two per byte, low nibble
// first; after an odd count the other nibble of the last byte is 0). Supported: fp16 <-> SEN169,
// bf16 <-> SEN169, fp32 <-> SEN169/fp16/bf16/fp8, bool <-> SEN169 (0 or 1; any nonzero is true),
// int64 <-> int32 (the low 32 bits), SEN169 <-> int16, fp32 <-> int8/int4 (to integers: saturating,
// nearest even, NaN is 0), identities. Throws for any other pair. Pointers need no alignment.
void ConvertElements(DataFormat from, const void* source, DataFormat to, void* destination,
                     size_t count);
bool CanConvert(DataFormat from, DataFormat to);

}  // namespace spyre
