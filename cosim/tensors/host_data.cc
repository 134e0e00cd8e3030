// SPDX-License-Identifier: Apache-2.0
#include "cosim/tensors/host_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/nearest.h"
#include "base/vector_clones.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim {
namespace {

constexpr int kBitsOfByte = 8;

template <class Type>
void Put(Type value, uint8_t* data, int64_t index) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

// The nearest whole number; beyond those of the type the largest and the least, NaN is 0.
template <class Type>
void PutWhole(double value, uint8_t* data, int64_t index) {
  using Limits = std::numeric_limits<Type>;
  const double beyond = std::ldexp(1.0, Limits::digits);  // the first that is too large
  const double whole = std::nearbyint(value);
  Type stored = 0;
  if (whole >= beyond) {
    stored = Limits::max();
  } else if (whole < static_cast<double>(Limits::lowest())) {
    stored = Limits::lowest();
  } else if (!std::isnan(whole)) {
    stored = static_cast<Type>(whole);
  }
  Put(stored, data, index);
}

uint64_t BitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// NearestHalf without branches.
inline __attribute__((always_inline)) uint16_t HalfBits(double value) {
  constexpr int kShift = 52 - 10;
  constexpr uint64_t kRebias = uint64_t{1023 - 15} << 10;
  constexpr double kLeastNormal = 1.0 / (1 << 14);
  constexpr double kInfinite = 65520;  // from here on
  constexpr double kAnchor = 1 << 28;  // its last place is that of a subnormal half
  const uint64_t magnitude = BitsOf(value) & ~(uint64_t{1} << 63);
  const uint64_t odd = (magnitude >> kShift) & 1;
  const uint64_t normal =
      ((magnitude + (uint64_t{1} << (kShift - 1)) - 1 + odd) >> kShift) - kRebias;
  double absolute;
  std::memcpy(&absolute, &magnitude, sizeof absolute);
  const uint64_t subnormal = BitsOf(absolute + kAnchor) - BitsOf(kAnchor);
  uint64_t code = magnitude < BitsOf(kLeastNormal) ? subnormal : normal;
  code = magnitude >= BitsOf(kInfinite) ? 0x7C00 : code;
  code |= (BitsOf(value) >> 48) & 0x8000;
  const bool nan = magnitude > BitsOf(std::numeric_limits<double>::infinity());
  return static_cast<uint16_t>(nan ? 0x7E00 : code);
}

SPYRE_VECTOR_CLONES
void StoreHalves(const double* values, int64_t count, uint8_t* data) {
  for (int64_t i = 0; i < count; ++i) {
    const uint16_t code = HalfBits(values[i]);
    std::memcpy(data + i * 2, &code, sizeof code);
  }
}

SPYRE_VECTOR_CLONES
void StoreFloats(const double* values, int64_t count, uint8_t* data) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(values[i]);
    std::memcpy(data + i * 4, &value, sizeof value);
  }
}

}  // namespace

const std::vector<HostFormat>& HostFormats() {
  static const std::vector<HostFormat> formats = {
      {DataFormat::kIeeeFp16, "f2", "float16", 2}, {DataFormat::kIeeeFp32, "f4", "float32", 4},
      {DataFormat::kSenInt8, "i1", "int8", 1},     {DataFormat::kIeeeInt32, "i4", "int32", 4},
      {DataFormat::kIeeeInt64, "i8", "int64", 8},  {DataFormat::kBool, "b1", "bool", 1},
  };
  return formats;
}

const HostFormat& HostFormatOf(DataFormat format) {
  for (const HostFormat& known : HostFormats())
    if (known.format == format) return known;
  throw BadInput("tensors of {} cannot be read from or written to .npy files", FormatName(format));
}

const HostFormat& HostFormatNamed(const std::string& name) {
  std::vector<std::string> names;
  for (const HostFormat& known : HostFormats()) {
    if (known.name == name) return known;
    names.emplace_back(known.name);
  }
  throw BadInput("'{}' is not a type of host tensors{}", name, DidYouMean(name, names));
}

uint64_t HostBits(DataFormat format, const uint8_t* data, int64_t index) {
  const int bytes = HostFormatOf(format).bytes;
  uint64_t bits = 0;
  std::memcpy(&bits, data + index * bytes, static_cast<size_t>(bytes));
  return bits;
}

double HostValue(DataFormat format, uint64_t bits) {
  if (format == DataFormat::kIeeeFp16) return HalfValue(static_cast<uint16_t>(bits));
  if (format == DataFormat::kIeeeFp32) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return double{value};
  }
  if (format == DataFormat::kBool) return bits != 0 ? 1 : 0;
  const int unused = 64 - kBitsOfByte * HostFormatOf(format).bytes;  // sign extension
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

void StoreHost(DataFormat format, double value, uint8_t* data, int64_t index) {
  switch (format) {
    case DataFormat::kIeeeFp16:
      return Put(NearestHalf(value), data, index);
    case DataFormat::kIeeeFp32:
      return Put(static_cast<float>(value), data, index);
    case DataFormat::kBool:
      return Put(static_cast<uint8_t>(value != 0 ? 1 : 0), data, index);
    case DataFormat::kSenInt8:
      return PutWhole<int8_t>(value, data, index);
    case DataFormat::kIeeeInt32:
      return PutWhole<int32_t>(value, data, index);
    case DataFormat::kIeeeInt64:
      return PutWhole<int64_t>(value, data, index);
    default:
      HostFormatOf(format);  // throws
  }
}

void StoreHost(DataFormat format, const double* values, int64_t count, uint8_t* data,
               int64_t index) {
  if (format == DataFormat::kIeeeFp16) return StoreHalves(values, count, data + index * 2);
  if (format == DataFormat::kIeeeFp32) return StoreFloats(values, count, data + index * 4);
  for (int64_t i = 0; i < count; ++i) StoreHost(format, values[i], data, index + i);
}

}  // namespace spyre::cosim
