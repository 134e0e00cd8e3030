// SPDX-License-Identifier: Apache-2.0
// Rung 6, the vector unit: one promise for each function. Expected values are computed here from
// the definition of the number format.
#include <cmath>
#include <functional>

#include "bringup/rungs/program_rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

struct Binary {
  const char* name;
  std::function<float(float, float)> fn;
};
class Rung6BinaryFunctions : public Rung6Programs, public ::testing::WithParamInterface<Binary> {};
INSTANTIATE_TEST_SUITE_P(
    Fn, Rung6BinaryFunctions,
    ::testing::Values(Binary{"add", [](float a, float b) { return a + b; }},
                      Binary{"sub", [](float a, float b) { return a - b; }},
                      Binary{"mul", [](float a, float b) { return a * b; }},
                      Binary{"div", [](float a, float b) { return a / b; }},
                      Binary{"max", [](float a, float b) { return a >= b ? a : b; }},
                      Binary{"min", [](float a, float b) { return a <= b ? a : b; }}),
    [](const auto& test) { return test.param.name; });

TEST_P(Rung6BinaryFunctions, RoundsTheExactOperationOnce) {
  const auto a = Values(10), b = Values(11);
  const auto out = Vector(
      fmt::format("vbinary.{} r1, r0, r3, r5, r4, r0, r0, r0, r6, r6, r6", GetParam().name), a, b);
  const auto first = Vector(
      fmt::format("vbinary.{}.lane0 r1, r0, r3, r5, r4, r0, r0, r0, r6, r6, r6", GetParam().name),
      a, b);
  for (size_t i = 0; i < kElements; ++i) {
    for (const bool lane0 : {false, true}) {
      const float x = DlfToFloat(a[i]), y = DlfToFloat(b[lane0 ? i / 64 * 64 : i]);
      const bool nan = std::isnan(x) || std::isnan(y);
      ASSERT_EQ((lane0 ? first : out)[i], nan ? kDlfNan : DlfFromFloat(GetParam().fn(x, y)))
          << x << " and " << y << ", element " << i << (lane0 ? " with lane 0" : "");
    }
  }
}

struct Unary {
  const char* name;
  std::function<double(double)> fn;
};
class Rung6UnaryFunctions : public Rung6Programs, public ::testing::WithParamInterface<Unary> {};
INSTANTIATE_TEST_SUITE_P(
    Fn, Rung6UnaryFunctions,
    ::testing::Values(Unary{"neg", [](double x) { return -x; }},
                      Unary{"abs", [](double x) { return std::abs(x); }},
                      Unary{"relu", [](double x) { return x > 0 ? x : 0; }},
                      Unary{"exp", [](double x) { return std::exp(x); }},
                      Unary{"gelu",
                            [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }},
                      Unary{"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
                      Unary{"tanh", [](double x) { return std::tanh(x); }},
                      Unary{"sqrt", [](double x) { return std::sqrt(x); }},
                      Unary{"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
                      Unary{"reciprocal", [](double x) { return 1 / x; }}),
    [](const auto& test) { return test.param.name; });

TEST_P(Rung6UnaryFunctions, RoundsTheRealFunctionOnce) {
  const auto a = Values(12, false);
  const auto out =
      Vector(fmt::format("vunary.{} r1, r0, -, r5, r4, r0, r0, -, r6, r6", GetParam().name), a, a);
  for (size_t i = 0; i < kElements; ++i) {
    const double x = DlfToFloat(a[i]);
    ASSERT_EQ(out[i], DlfFromDouble(GetParam().fn(x))) << GetParam().name << " of " << x;
  }
}

TEST_F(Rung6Programs, CopyMovesEveryCodeUnchanged) {
  const auto a = Values(13);
  EXPECT_EQ(Vector("vunary.copy r1, r0, -, r5, r4, r0, r0, -, r6, r6", a, a), a);
}

TEST_F(Rung6Programs, ReductionsAlongLanesAddInOrder) {
  const auto a = Values(14, false);
  const auto sums =
      Vector<float>("vreduce.sum r1, r0, r0, r5, r4, -, r0, -, r10, r6, -, r9", a, a, kSticks);
  const auto largest =
      Vector<float>("vreduce.max r1, r0, r0, r5, r4, -, r0, -, r10, r6, -, r9", a, a, kSticks);
  for (size_t row = 0; row < kSticks; ++row) {
    float sum = 0, most = -INFINITY;
    for (size_t lane = 0; lane < 64; ++lane) {
      sum += DlfToFloat(a[row * 64 + lane]);
      most = std::max(most, DlfToFloat(a[row * 64 + lane]));
    }
    EXPECT_EQ(sums[row], sum) << "row " << row;
    EXPECT_EQ(largest[row], most) << "row " << row;
  }
}

TEST_F(Rung6Programs, ReductionsAlongRowsKeepLanesApartAndRoundAtTheEnd) {
  const auto a = Values(15, false);
  const auto out = Vector(
      "vreducerows.sum r7, r0, r0, r5, r4, r0, r0, -, -, r6\n"
      "  vround r1, r7, r5, r4, r4, r0, r0, -, r6, r8",
      a, a, 64);
  for (size_t lane = 0; lane < 64; ++lane) {
    float sum = 0;
    for (size_t row = 0; row < kSticks; ++row) sum += DlfToFloat(a[row * 64 + lane]);
    EXPECT_EQ(out[lane], DlfFromFloat(sum / 16)) << "mean of lane " << lane;
  }
}

TEST_F(Rung6Programs, AReductionOverNothingGivesItsIdentity) {
  const auto a = Values(16);
  const std::vector<float> none(kSticks, -INFINITY);
  EXPECT_EQ(
      Vector<float>("vreduce.max r1, r0, r0, r5, r0, -, r0, -, r10, r6, -, r9", a, a, kSticks),
      none)
      << "no planes";
  EXPECT_EQ(Vector<float>("vreducerows.max r1, r0, r0, r0, r4, r0, r0, -, -, r6", a, a, kSticks),
            none)
      << "no rows";
  EXPECT_NE(FailureOf([&] {
              Vector("li r11, 10000\n  vreducerows.max r1, r0, r0, r0, r11, r8, r0, -, -, r6", a,
                     a);
            }).find("LX_OVERFLOW"),
            std::string::npos)
      << "results have to fit all the same";
}

}  // namespace

void LinkFunctionsRung() {}

}  // namespace spyre::bringup
