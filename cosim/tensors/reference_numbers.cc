// SPDX-License-Identifier: Apache-2.0
#include "cosim/tensors/reference_numbers.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace spyre::cosim {
namespace {

constexpr uint16_t kSign = 0x8000;
constexpr int kSenBias = 31;
constexpr int kSenFraction = 9;
constexpr uint16_t kSenNinf = 0x7FFF;

// 2 to the powers of -63 to 63, which are exact. The numbers of the card are all between them, and
// a product with one of them costs less than a call of ldexp.
constexpr int kPowers = 63;
constexpr std::array<double, 2 * kPowers + 1> PowersOfTwo() {
  std::array<double, 2 * kPowers + 1> powers{};
  powers[kPowers] = 1;
  for (int i = 1; i <= kPowers; ++i) {
    powers[kPowers + i] = powers[kPowers + i - 1] * 2;
    powers[kPowers - i] = powers[kPowers - i + 1] / 2;
  }
  return powers;
}
double PowerOfTwo(int exponent) {
  static constexpr std::array<double, 2 * kPowers + 1> kPowersOfTwo = PowersOfTwo();
  const bool here = exponent >= -kPowers && exponent <= kPowers;
  return here ? kPowersOfTwo[kPowers + exponent] : std::ldexp(1, exponent);
}

// Of a magnitude that is a normal number: for double a part of its bits, in place of two calls.
int ExponentOf(double magnitude) {
  uint64_t bits;
  std::memcpy(&bits, &magnitude, sizeof bits);
  return static_cast<int>(bits >> 52) - 1023;
}
int ExponentOf(long double magnitude) { return std::ilogb(magnitude); }

template <typename Real>
uint16_t RoundToSen(Real value) {
  if (std::isnan(value)) return kSenNinf;
  const uint16_t sign = std::signbit(value) ? kSign : 0;
  const Real magnitude = std::fabs(value);
  if (magnitude >= std::ldexp(Real{1}, 33)) return sign | kSenNinf;
  if (magnitude < std::ldexp(Real{1}, -kSenBias)) return sign;
  const int exponent = ExponentOf(magnitude);
  // 512 .. 1024 steps of this binade; ties go up in magnitude.
  const int steps = static_cast<int>(magnitude * PowerOfTwo(kSenFraction - exponent) + Real{0.5});
  const int code = ((exponent + kSenBias) << kSenFraction) + steps - 512;
  return sign | static_cast<uint16_t>(code >= kSenNinf ? kSenNinf : code);
}

}  // namespace

double HalfValue(uint16_t code) {
  const double sign = (code & kSign) != 0 ? -1 : 1;
  const int exponent = (code >> 10) & 31;
  const int fraction = code & 1023;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * fraction * PowerOfTwo(-24);
  return sign * (1024 + fraction) * PowerOfTwo(exponent - 25);
}

uint16_t NearestHalf(double value) {
  if (std::isnan(value)) return 0x7E00;
  const uint16_t sign = std::signbit(value) ? kSign : 0;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7C00;  // halfway between 65504 and 65536 rounds to even
  // In the subnormal range and the lowest binade one step is 2^-24; each binade above doubles it.
  int exponent = magnitude < std::ldexp(1, -14) ? -14 : ExponentOf(magnitude);
  constexpr double kNoFraction = uint64_t{1} << 52;  // a sum with it is rounded to a whole number
  const double steps = magnitude * PowerOfTwo(10 - exponent) + kNoFraction - kNoFraction;
  // steps is 0 .. 1023 for subnormals, 1024 .. 2048 otherwise; the sum carries into the exponent.
  return static_cast<uint16_t>(sign + ((exponent + 14) << 10) + static_cast<int>(steps));
}

double SenValue(uint16_t code) {
  const uint16_t magnitude = code & static_cast<uint16_t>(~kSign);
  const double sign = (code & kSign) != 0 ? -1 : 1;
  if (magnitude == kSenNinf) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == 0) return sign * 0.0;
  const int exponent = magnitude >> kSenFraction;
  const int fraction = magnitude & 511;
  return sign * (512 + fraction) * PowerOfTwo(exponent - kSenBias - kSenFraction);
}

uint16_t NearestSen(long double value) { return RoundToSen(value); }
uint16_t NearestSen(double value) { return RoundToSen(value); }

uint16_t SenOfHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  if (exponent != 31) return NearestSen(HalfValue(half));
  return NearestSen((1024 + (half & 1023)) * PowerOfTwo(exponent - 25) *
                    (half >> 15 != 0 ? -1 : 1));
}
uint16_t HalfOfSen(uint16_t sen) { return NearestHalf(SenValue(sen)); }

double SenUlp(double value) {
  const double magnitude = std::fabs(value);
  const int exponent = magnitude < std::ldexp(1, -kSenBias) ? -kSenBias : ExponentOf(magnitude);
  return PowerOfTwo(exponent - kSenFraction);
}

}  // namespace spyre::cosim
