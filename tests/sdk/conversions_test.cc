// SPDX-License-Identifier: Apache-2.0
// Every conversion that a copy may ask for, against an oracle that shares no code with it: formats
// are described by the values of their codes as doubles, and the nearest code is looked for.
#include <gmock/gmock.h>
#include <spyrecode-host-functions/sendataconvert/sen_data_convert.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace spyre::sdk_test::conversions_test {
namespace {

using DF = DataFormats;

int BitsOf(DF format) {
  switch (format) {
    case DF::IEEE_INT64:
      return 64;
    case DF::IEEE_FP32:
    case DF::IEEE_INT32:
    case DF::SENUINT32:
      return 32;
    case DF::SEN143_FP8:
    case DF::SENINT8:
    case DF::BOOL:
      return 8;
    case DF::SENINT4:
      return 4;
    case DF::SENUINT2:
      return 2;
    default:
      return 16;
  }
}

uint64_t Get(DF format, const std::vector<uint8_t>& bytes, size_t i) {
  const auto bits = static_cast<size_t>(BitsOf(format));
  uint64_t code = 0;
  if (bits < 8) return (bytes[i * bits / 8] >> (i * bits % 8)) & ((1u << bits) - 1);
  std::memcpy(&code, bytes.data() + i * bits / 8, bits / 8);
  return code;
}
void Put(DF format, std::vector<uint8_t>& bytes, size_t i, uint64_t code) {
  const auto bits = static_cast<size_t>(BitsOf(format));
  if (bits < 8) {
    bytes[i * bits / 8] |= static_cast<uint8_t>(code << (i * bits % 8));
  } else {
    std::memcpy(bytes.data() + i * bits / 8, &code, bits / 8);
  }
}

// sign, exponent, fraction: the value of a code without special ones.
double Small(uint64_t code, int exponent_bits, int fraction_bits, int bias, bool subnormals) {
  const uint64_t fraction = code & ((uint64_t{1} << fraction_bits) - 1);
  const int exponent = static_cast<int>(code >> fraction_bits) & ((1 << exponent_bits) - 1);
  const bool negative = ((code >> (exponent_bits + fraction_bits)) & 1) != 0;
  double value = std::ldexp(static_cast<double>(fraction), -fraction_bits);
  if (exponent == 0 && subnormals) {
    value = std::ldexp(value, 1 - bias);
  } else if (exponent != 0 || fraction != 0) {
    value = std::ldexp(1 + value, exponent - bias);
  }
  return negative ? -value : value;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a code stands for, on its way to `to`.
double ValueOf(DF format, uint64_t code, DF to) {
  switch (format) {
    case DF::SEN169_FP16:
      return (code & 0x7FFF) == 0x7FFF ? kNan : Small(code, 6, 9, 31, false);
    case DF::IEEE_FP16:
      if ((code & 0x7C00) == 0x7C00 && to != DF::SEN169_FP16)
        return (code & 0x3FF) != 0 ? kNan : (code & 0x8000) != 0 ? -kInfinity : kInfinity;
      return Small(code, 5, 10, 15, true);
    case DF::BFLOAT16:
      code <<= 16;
      [[fallthrough]];
    case DF::IEEE_FP32: {
      float value;
      const auto bits = static_cast<uint32_t>(code);
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case DF::SEN143_FP8:
      return (code & 0x7F) == 0x7F ? kNan : Small(code, 4, 3, 7, true);
    case DF::SENINT16:
      return static_cast<int16_t>(code);
    case DF::SENINT8:
      return static_cast<int8_t>(code);
    case DF::SENINT4:
      return code < 8 ? static_cast<double>(code) : static_cast<double>(code) - 16;
    case DF::BOOL:
      return code != 0 ? 1 : 0;
    case DF::IEEE_INT64:
      return static_cast<double>(static_cast<int64_t>(code));
    case DF::IEEE_INT32:
      return static_cast<int32_t>(code);
    default:
      return static_cast<double>(code);
  }
}

double Even(double value) { return std::nearbyint(value); }
double Away(double value) { return std::round(value); }

// The significand rounded to so many bits behind its first one, with this rule.
double Rounded(double value, int bits, int smallest_exponent, double (*rule)(double)) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), smallest_exponent);
  return std::ldexp(rule(std::ldexp(value, bits - exponent)), exponent - bits);
}

// Whether `code` of `format` is what `value` should have become.
bool Is(DF format, uint64_t code, double value) {
  const double got = ValueOf(format, code, DF::INVALID);
  const auto is = [got](double expected) {
    return std::isnan(expected) ? std::isnan(got) : got == expected;
  };
  const auto integer = [&](double low, double high) {
    return is(std::isnan(value) ? 0 : Even(std::min(std::max(value, low), high)));
  };
  switch (format) {
    case DF::SEN169_FP16: {
      const double largest = std::ldexp(2 - std::ldexp(2, -9), 32);
      const double rounded = Rounded(value, 9, -31, Away);
      if (std::isnan(value) || std::fabs(rounded) > largest) return std::isnan(got);
      return is(std::fabs(rounded) < std::ldexp(1 + std::ldexp(1, -9), -31) ? 0 : rounded);
    }
    case DF::IEEE_FP16: {
      const double rounded = Rounded(value, 10, -14, Even);
      return is(std::fabs(rounded) > 65504 ? std::copysign(kInfinity, value) : rounded);
    }
    case DF::BFLOAT16:
      return is(static_cast<float>(Rounded(value, 7, -126, Even)));
    case DF::IEEE_FP32:
      return is(static_cast<float>(value));
    case DF::SEN143_FP8: {
      const double rounded = Rounded(value, 3, -6, Even);
      return is(std::fabs(rounded) > 448 ? std::copysign(448, value) : rounded);
    }
    case DF::SENINT16:
      return integer(-32768, 32767);
    case DF::SENINT8:
      return integer(-128, 127);
    case DF::SENINT4:
      return integer(-8, 7);
    case DF::SENUINT2:
      return integer(0, 3);
    case DF::BOOL:
      return code == (value != 0 ? 1 : 0);
    case DF::IEEE_INT64:
      return is(std::isnan(value) ? 0 : Even(value));
    default:
      return false;
  }
}

bool IsInteger(DF format) {
  return format == DF::IEEE_INT64 || format == DF::IEEE_INT32 || format == DF::SENUINT32;
}

struct Pair {
  DF from, to;
};
// What PyTorch's device asks for.
const std::vector<Pair>& Pairs() {
  static const std::vector<Pair> pairs = {
      {DF::IEEE_FP32, DF::IEEE_FP32},     {DF::SEN169_FP16, DF::IEEE_FP32},
      {DF::IEEE_FP16, DF::IEEE_FP32},     {DF::IEEE_FP32, DF::SEN169_FP16},
      {DF::SEN169_FP16, DF::SEN169_FP16}, {DF::SEN169_FP16, DF::SENINT16},
      {DF::SENINT16, DF::SEN169_FP16},    {DF::IEEE_FP32, DF::BFLOAT16},
      {DF::IEEE_FP16, DF::BFLOAT16},      {DF::BFLOAT16, DF::IEEE_FP32},
      {DF::SEN143_FP8, DF::IEEE_FP32},    {DF::IEEE_FP32, DF::SEN143_FP8},
      {DF::SEN143_FP8, DF::SEN143_FP8},   {DF::SENINT4, DF::IEEE_FP32},
      {DF::IEEE_FP32, DF::SENINT4},       {DF::SENINT8, DF::IEEE_FP32},
      {DF::IEEE_FP32, DF::SENINT8},       {DF::SENUINT2, DF::IEEE_FP32},
      {DF::IEEE_FP32, DF::SENUINT2},      {DF::BOOL, DF::SEN169_FP16},
      {DF::SEN169_FP16, DF::BOOL},        {DF::IEEE_INT64, DF::SEN169_FP16},
      {DF::IEEE_FP16, DF::SEN169_FP16},   {DF::SEN169_FP16, DF::IEEE_FP16},
      {DF::SENINT4, DF::SENINT4},         {DF::SENINT8, DF::SENINT8},
      {DF::IEEE_INT64, DF::IEEE_INT32},   {DF::IEEE_INT32, DF::IEEE_INT64},
      {DF::IEEE_INT32, DF::IEEE_INT32},   {DF::SENUINT32, DF::IEEE_INT64},
      {DF::IEEE_INT64, DF::SENUINT32},    {DF::SENUINT32, DF::SENUINT32},
      {DF::SEN169_FP16, DF::IEEE_INT64},  {DF::BFLOAT16, DF::SEN169_FP16},
      {DF::SEN169_FP16, DF::BFLOAT16}};
  return pairs;
}

// Codes of the format: all of a small one, else random ones and those at the edges.
std::vector<uint64_t> CodesOf(DF format) {
  const int bits = BitsOf(format);
  std::vector<uint64_t> codes;
  if (bits <= 16) {
    for (uint64_t code = 0; code < uint64_t{1} << bits; ++code) codes.push_back(code);
    return codes;
  }
  std::mt19937_64 random(169);
  for (int i = 0; i < 20000; ++i) codes.push_back(random() >> (random() % 64));
  for (int i = 0; i < 2000; ++i) codes.push_back(0 - (random() >> (random() % 64)));
  for (int shift = 0; shift < bits; ++shift) {
    for (const int64_t near : {-1, 0, 1})
      codes.push_back((uint64_t{1} << shift) + static_cast<uint64_t>(near));
  }
  if (format == DF::IEEE_FP32) {  // numbers that the small formats tell apart, ties among them
    for (int i = 0; i < 20000; ++i) {
      const auto value = std::ldexp(static_cast<float>(static_cast<int>(random() % 8192) - 4096),
                                    static_cast<int>(random() % 40) - 30);
      codes.push_back(deeptools::BinaryConvert<uint32_t>(value));
    }
  }
  for (uint64_t& code : codes) code &= bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (codes.size() % 4 != 0) codes.resize(codes.size() / 4 * 4);
  return codes;
}

TEST(Conversions, EveryPairGivesTheNearestNumber) {
  for (const Pair& pair : Pairs()) {
    const std::vector<uint64_t> codes = CodesOf(pair.from);
    std::vector<uint8_t> source(codes.size() * static_cast<size_t>(BitsOf(pair.from)) / 8);
    std::vector<uint8_t> result(codes.size() * static_cast<size_t>(BitsOf(pair.to)) / 8);
    for (size_t i = 0; i < codes.size(); ++i) Put(pair.from, source, i, codes[i]);
    data_conversion_info info;
    info.dataformat_src_ = pair.from;
    info.dataformat_dst_ = pair.to;
    info.dcsi_.push_back({{static_cast<int64_t>(codes.size())}, {1}, {1}, 0, 0});
    const std::string name = EnumsConversion::dataFormatsToString(pair.from) + " to " +
                             EnumsConversion::dataFormatsToString(pair.to);
    ASSERT_TRUE(deeptools::IsConversionSupported(pair.from, pair.to)) << name;
    deeptools::ConvertData(info, source.data(), result.data());
    size_t wrong = 0;
    for (size_t i = 0; i < codes.size() && wrong < 5; ++i) {
      const uint64_t code = Get(pair.to, result, i);
      bool right;
      if (pair.from == pair.to) {
        right = code == codes[i];
      } else if (IsInteger(pair.from) && IsInteger(pair.to)) {
        const auto value = pair.from == DF::IEEE_INT32
                               ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(codes[i])})
                               : codes[i];
        right = code == (BitsOf(pair.to) == 64 ? value : value & 0xFFFFFFFF);
      } else {
        right = Is(pair.to, code, ValueOf(pair.from, codes[i], pair.to));
      }
      if (right) continue;
      ++wrong;
      ADD_FAILURE() << name << ": code " << std::hex << codes[i] << " gave " << code;
    }
  }
}

TEST(Conversions, InfinitiesOfTheHostBecomeLargeNumbersOnTheCard) {
  const std::vector<uint16_t> halves = {0x7C00, 0xFC00, 0x7E00};
  std::vector<uint16_t> codes(3);
  data_conversion_info info;
  info.dataformat_src_ = DF::IEEE_FP16;
  info.dataformat_dst_ = DF::SEN169_FP16;
  info.dcsi_.push_back({{3}, {1}, {1}, 0, 0});
  deeptools::ConvertData(info, halves.data(), codes.data());
  EXPECT_EQ(Small(codes[0], 6, 9, 31, false), 65536);
  EXPECT_EQ(Small(codes[1], 6, 9, 31, false), -65536);
  EXPECT_EQ(Small(codes[2], 6, 9, 31, false), 98304);
}

// Boxes with strides and offsets on both sides, against nested loops.
TEST(Conversions, BoxesGoWhereTheirStridesSay) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    data_conversion_stride_info box;
    for (int d = 0; d < 3; ++d) box.size_.push_back(1 + static_cast<int64_t>(random() % 7));
    // The source's dimensions lie in one order, the destination's in another.
    box.stride_src_ = {1, box.size_[0] + 2, (box.size_[0] + 2) * box.size_[1]};
    box.stride_dst_ = {box.size_[1] * box.size_[2], 1, box.size_[1]};
    box.offset_src_ = static_cast<int64_t>(random() % 5);
    box.offset_dst_ = static_cast<int64_t>(random() % 5);
    std::vector<float> source(1000), result(1000, -1), expected(1000, -1);
    for (float& value : source) value = static_cast<float>(random() % 1000);
    for (int64_t i = 0; i < box.size_[0]; ++i) {
      for (int64_t j = 0; j < box.size_[1]; ++j) {
        for (int64_t k = 0; k < box.size_[2]; ++k) {
          const auto at = [&](const std::vector<int64_t>& stride, int64_t offset) {
            return static_cast<size_t>(offset + i * stride[0] + j * stride[1] + k * stride[2]);
          };
          expected[at(box.stride_dst_, box.offset_dst_)] =
              source[at(box.stride_src_, box.offset_src_)];
        }
      }
    }
    data_conversion_info info;
    info.dataformat_src_ = info.dataformat_dst_ = DF::IEEE_FP32;
    info.dcsi_ = {box};
    deeptools::ConvertData(info, source.data(), result.data());
    ASSERT_EQ(result, expected) << "round " << round;
  }
}

TEST(Conversions, APairThatThereIsNotIsRefused) {
  EXPECT_FALSE(deeptools::IsConversionSupported(DF::SENINT24, DF::IEEE_FP32));
  data_conversion_info info;
  info.dataformat_src_ = DF::SENINT24;
  info.dataformat_dst_ = DF::IEEE_FP32;
  info.dcsi_.push_back({{1}, {1}, {1}, 0, 0});
  std::vector<float> bytes(4);
  EXPECT_THROW(deeptools::ConvertData(info, bytes.data(), bytes.data()), std::runtime_error);
}

}  // namespace
}  // namespace spyre::sdk_test::conversions_test
