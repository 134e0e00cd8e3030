// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/extent.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::extent_test {
namespace {

TEST(Extent, NumbersAreNumbersAndSymbolsAreNot) {
  EXPECT_TRUE(Extent(0).is_number());
  EXPECT_EQ(Extent().number(), 0);
  EXPECT_EQ(Extent(-7).number(), -7);
  EXPECT_FALSE(Extent::Symbol("s0").is_number());
  EXPECT_THROW(Extent::Symbol("s0").number(), Error);
}

TEST(Extent, ADivisionIsKeptAndUndoneByTheMultiplication) {
  const Extent s0 = Extent::Symbol("s0");
  EXPECT_EQ((s0 / 4).ToString(), "s0/4");
  EXPECT_EQ(s0 / 4 * 4, s0);
  EXPECT_EQ((Extent(128) / s0).ToString(), "128/s0");
  EXPECT_EQ((Extent(128) / s0 * s0).number(), 128);
  EXPECT_EQ((Extent(7) / 2).ToString(), "7/2");
  EXPECT_FALSE((Extent(7) / 2).is_number());
  EXPECT_EQ((Extent(7) / 2 * 2).number(), 7);
  EXPECT_EQ(((s0 + 4) / 4).ToString(), "s0/4 + 1");
  EXPECT_EQ(s0 + Extent(-1) * s0, Extent(0));
}

TEST(Extent, TextIsReadIntoTheSameForm) {
  EXPECT_EQ(Extent::Parse("s0*4/8"), Extent::Symbol("s0") / 2);
  EXPECT_EQ(Extent::Parse("2*(s0 + s1)"), Extent::Parse("s1*2 + s0*2"));
  EXPECT_EQ(Extent::Parse("12/4").number(), 3);
  EXPECT_EQ(Extent::Parse("s0 - s0"), Extent(0));
}

TEST(Extent, WhatIsNoSizeIsRefused) {
  for (const char* text :
       {"", "floor(s0/2)", "Mod(s0, 4)", "4/0", "1/(s0 + 1)", "s0 +", "9223372036854775807*2",
        "99999999999999999999", "0-9223372036854775807-1",
        "(a+b)*(c+d)*(e+f)*(g+h)*(i+j)*(k+l)*(m+n)"}) {
    EXPECT_THROW(Extent::Parse(text), Error) << text;
  }
  EXPECT_THROW(Extent(std::numeric_limits<int64_t>::max()) + 1, Error);
  EXPECT_THROW(Extent(1) / Extent(0), Error);
}

TEST(Extent, StridesAreRowMajor) {
  EXPECT_EQ(Numbers(ContiguousExtents(Extents({5, 3, 4}))), (std::vector<int64_t>{12, 4, 1}));
  const std::vector<Extent> stride = ContiguousExtents({8, Extent::Symbol("s0"), 16});
  EXPECT_EQ(stride[0].ToString(), "16*s0");
  EXPECT_EQ(stride[1].number(), 16);
  EXPECT_TRUE(ContiguousExtents({}).empty());
}

// Any sum of products of two symbols with small factors.
Extent AnyExtent(std::mt19937& random) {
  Extent sum;
  const int terms = test::Draw(random, 0, 3);
  for (int i = 0; i < terms; ++i) {
    Extent term = test::Draw<int64_t>(random, 1, 49);
    if (test::DrawBool(random)) term = term * Extent::Symbol("s0");
    if (test::DrawBool(random)) term = term / Extent::Symbol("s1");
    sum = sum + term / test::Draw<int64_t>(random, 1, 8);
  }
  return sum;
}

TEST(Extent, TextOfAnyExtentIsReadBackAsTheSame) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Extent extent = AnyExtent(random);
    EXPECT_TRUE(Extent::Parse(extent.ToString()) == extent) << extent.ToString();
  });
}

TEST(Extent, AnyExtentIsItselfAfterDividingAndMultiplying) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Extent extent = AnyExtent(random);
    const Extent by = Extent::Symbol("s1") * test::Draw<int64_t>(random, 1, 8);
    EXPECT_TRUE(extent / by * by == extent) << extent.ToString() << " by " << by.ToString();
  });
}

}  // namespace
}  // namespace spyre::compiler::extent_test
