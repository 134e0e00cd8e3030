// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/extent.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "base/error.h"

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
Extent AnyExtent() {
  Extent sum;
  const int terms = *rc::gen::inRange(0, 4);
  for (int i = 0; i < terms; ++i) {
    Extent term = *rc::gen::inRange<int64_t>(1, 50);
    if (*rc::gen::arbitrary<bool>()) term = term * Extent::Symbol("s0");
    if (*rc::gen::arbitrary<bool>()) term = term / Extent::Symbol("s1");
    sum = sum + term / *rc::gen::inRange<int64_t>(1, 9);
  }
  return sum;
}

TEST(Extent, TextOfAnyExtentIsReadBackAsTheSame) {
  rc::check([] {
    const Extent extent = AnyExtent();
    RC_ASSERT(Extent::Parse(extent.ToString()) == extent);
  });
}

TEST(Extent, AnyExtentIsItselfAfterDividingAndMultiplying) {
  rc::check([] {
    const Extent extent = AnyExtent();
    const Extent by = Extent::Symbol("s1") * *rc::gen::inRange<int64_t>(1, 9);
    RC_ASSERT(extent / by * by == extent);
  });
}

}  // namespace
}  // namespace spyre::compiler::extent_test
