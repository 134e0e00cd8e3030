// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/device_elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "cosim/tensors/reference_numbers.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

constexpr int kByteBits = 8;
constexpr int kCodes16 = 1 << 16;
constexpr int kCodes8 = 1 << 8;
constexpr int64_t kShare = 1 << 14;  // elements of a thread's share

const std::array<float, kCodes16>& SenValues() {
  static const auto values = [] {
    std::array<float, kCodes16> table{};
    for (int code = 0; code < kCodes16; ++code)
      table[code] = static_cast<float>(SenValue(static_cast<uint16_t>(code)));
    return table;
  }();
  return values;
}

// An 8-bit float with sign, `exponent_bits` and the rest fraction, IEEE-like subnormals.
double SmallFloat(uint32_t code, int exponent_bits) {
  const int fraction_bits = kByteBits - 1 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (code & 0x80) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(code >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = static_cast<int>(code) & ((1 << fraction_bits) - 1);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

// 1-4-3 has no infinity and one NaN of each sign; 1-5-2 has both as IEEE does.
double Fp8Value(DataFormat format, uint32_t code) {
  const uint32_t magnitude = code & 0x7F;
  if (format == DataFormat::kSen143Fp8) {
    return magnitude == 0x7F ? std::numeric_limits<double>::quiet_NaN() : SmallFloat(code, 4);
  }
  if (magnitude == 0x7C) {
    const double infinity = std::numeric_limits<double>::infinity();
    return code == 0x7C ? infinity : -infinity;
  }
  return magnitude > 0x7C ? std::numeric_limits<double>::quiet_NaN() : SmallFloat(code, 5);
}

// Nearest of all codes, ties to the even one. 1-4-3 saturates; 1-5-2 overflows to infinity.
uint32_t Fp8Bits(DataFormat format, double value) {
  const uint32_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return sign | (format == DataFormat::kSen143Fp8 ? 0x7F : 0x7E);
  const double magnitude = std::fabs(value);
  const uint32_t largest = format == DataFormat::kSen143Fp8 ? 0x7E : 0x7B;
  const double top = Fp8Value(format, largest);
  const double step = top - Fp8Value(format, largest - 1);
  if (magnitude >= top + step / 2) {
    return sign | (format == DataFormat::kSen143Fp8 ? largest : largest + 1);
  }
  uint32_t best = 0;
  double best_distance = magnitude;
  for (uint32_t code = 1; code <= largest; ++code) {
    const double distance = std::fabs(Fp8Value(format, code) - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return sign | best;
}

int64_t Whole(double value, int64_t low, int64_t high) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  return static_cast<int64_t>(
      std::clamp(rounded, static_cast<double>(low), static_cast<double>(high)));
}

int64_t SignExtended(uint32_t bits, int bytes) {
  const int unused = 64 - kByteBits * bytes;
  return static_cast<int64_t>(uint64_t{bits} << unused) >> unused;
}

// Calls visit(first element, its byte offset) for each line along the last dimension.
void ForEachLine(const StickLayout& layout, const std::vector<std::vector<int64_t>>& offsets,
                 const std::function<void(int64_t, int64_t)>& visit) {
  int64_t lines = 1;
  const int rank = static_cast<int>(layout.host_size.size());
  for (int d = 0; d + 1 < rank; ++d) lines *= layout.host_size[d];
  const int64_t length = rank == 0 ? 1 : layout.host_size.back();
  ParallelFor(lines, std::max<int64_t>(1, kShare / length), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t offset = 0;
      int64_t rest = line;
      for (int d = rank - 2; d >= 0; --d) {
        offset += offsets[d][rest % layout.host_size[d]];
        rest /= layout.host_size[d];
      }
      visit(line * length, offset);
    }
  });
}

const std::vector<int64_t>& LastOffsets(const std::vector<std::vector<int64_t>>& offsets) {
  static const std::vector<int64_t> scalar = {0};
  return offsets.empty() ? scalar : offsets.back();
}

}  // namespace

int DeviceElementBytes(DataFormat format) {
  const int bits = BitsPerElement(format);
  if (bits % kByteBits != 0) {
    throw BadInput("tensors of {} have elements smaller than a byte, which bundles do not support",
                   FormatName(format));
  }
  return bits / kByteBits;
}

uint32_t LoadBits(const uint8_t* data, int bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, data, static_cast<size_t>(bytes));
  return bits;
}

void StoreBits(uint32_t bits, uint8_t* data, int bytes) {
  std::memcpy(data, &bits, static_cast<size_t>(bytes));
}

double DeviceValue(DataFormat format, uint32_t bits) {
  switch (format) {
    case DataFormat::kSen169Fp16:
    case DataFormat::kBool:
      return double{SenValues()[bits]};
    case DataFormat::kIeeeFp32: {
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return double{value};
    }
    case DataFormat::kIeeeFp16:
      return HalfValue(static_cast<uint16_t>(bits));
    case DataFormat::kBfloat16:
      return DeviceValue(DataFormat::kIeeeFp32, bits << 16);
    case DataFormat::kSen143Fp8:
    case DataFormat::kSen152Fp8:
      return Fp8Value(format, bits & (kCodes8 - 1));
    default:
      return static_cast<double>(SignExtended(bits, DeviceElementBytes(format)));
  }
}

uint32_t DeviceBits(DataFormat format, double value) {
  switch (format) {
    case DataFormat::kSen169Fp16:
    case DataFormat::kBool:
      return NearestSen(value);
    case DataFormat::kIeeeFp32: {
      const auto single = static_cast<float>(value);
      if (std::isnan(single)) return 0x7FC00000;
      uint32_t bits = 0;
      std::memcpy(&bits, &single, sizeof bits);
      return bits;
    }
    case DataFormat::kIeeeFp16:
      return NearestHalf(value);
    case DataFormat::kSen143Fp8:
    case DataFormat::kSen152Fp8:
      return Fp8Bits(format, value);
    case DataFormat::kSenInt8:
      return static_cast<uint8_t>(Whole(value, INT8_MIN, INT8_MAX));
    case DataFormat::kSenInt16:
      return static_cast<uint16_t>(Whole(value, INT16_MIN, INT16_MAX));
    case DataFormat::kIeeeInt32:
    case DataFormat::kIeeeInt64:
      return static_cast<uint32_t>(Whole(value, INT32_MIN, INT32_MAX));
    default:
      throw BadInput("no public definition says how numbers become {}", FormatName(format));
  }
}

std::vector<std::vector<int64_t>> HostOffsets(const StickLayout& layout) {
  const int bytes = DeviceElementBytes(layout.format);
  const int64_t per_stick = kStickBytes / bytes;
  const size_t inside = layout.device_size.size() - 1;
  std::vector<std::vector<int64_t>> offsets;
  for (const int64_t size : layout.host_size) offsets.emplace_back(size, 0);
  int64_t stride = kStickBytes;
  for (size_t back = 0; back <= inside; ++back) {
    const size_t k = inside - back;
    const int dim = layout.host_dim[k];
    const bool is_stick_dim = dim >= 0 && dim == layout.host_dim[inside];
    for (int64_t i = 0; dim >= 0 && i < layout.host_size[dim]; ++i) {
      offsets[dim][i] += k == inside    ? i % per_stick * bytes
                         : is_stick_dim ? i / per_stick * stride
                                        : i * stride;
    }
    if (k != inside) stride *= layout.device_size[k];
  }
  return offsets;
}

std::vector<uint8_t> ToDeviceImage(const StickLayout& layout, DataFormat host_format,
                                   const HostData& data) {
  std::vector<uint8_t> image(static_cast<size_t>(layout.DeviceBytes()));
  const int bytes = DeviceElementBytes(layout.format);
  const auto offsets = HostOffsets(layout);
  const std::vector<int64_t>& last = LastOffsets(offsets);
  const int host_bytes = HostFormatOf(host_format).bytes;
  // Every fp16 code once instead of every element.
  std::vector<uint32_t> codes;
  if (host_format == DataFormat::kIeeeFp16) {
    for (int code = 0; code < kCodes16; ++code) {
      const auto half = static_cast<uint16_t>(code);
      codes.push_back(layout.format == DataFormat::kSen169Fp16
                          ? SenOfHalf(half)
                          : DeviceBits(layout.format, HalfValue(half)));
    }
  }
  ForEachLine(layout, offsets, [&](int64_t first, int64_t offset) {
    const uint8_t* at = data.data() + first * host_bytes;
    for (size_t i = 0; i < last.size(); ++i, at += host_bytes) {
      uint64_t host = 0;
      std::memcpy(&host, at, static_cast<size_t>(host_bytes));
      const uint32_t bits =
          codes.empty() ? DeviceBits(layout.format, HostValue(host_format, host)) : codes[host];
      StoreBits(bits, image.data() + offset + last[i], bytes);
    }
  });
  return image;
}

HostData FromDeviceImage(const StickLayout& layout, DataFormat host_format,
                         const std::vector<uint8_t>& image) {
  int64_t elements = 1;
  for (const int64_t size : layout.host_size) elements *= size;
  HostData data(static_cast<size_t>(elements * HostFormatOf(host_format).bytes));
  const int bytes = DeviceElementBytes(layout.format);
  const auto offsets = HostOffsets(layout);
  const std::vector<int64_t>& last = LastOffsets(offsets);
  ForEachLine(layout, offsets, [&](int64_t first, int64_t offset) {
    for (size_t i = 0; i < last.size(); ++i) {
      const uint32_t bits = LoadBits(image.data() + offset + last[i], bytes);
      StoreHost(host_format, DeviceValue(layout.format, bits), data.data(),
                first + static_cast<int64_t>(i));
    }
  });
  return data;
}

}  // namespace spyre::cosim
