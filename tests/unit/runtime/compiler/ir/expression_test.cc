// SPDX-License-Identifier: Apache-2.0
// Expressions of coordinates and counts: what is read, what the values are, what is refused.
#include "runtime/compiler/ir/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::expression_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

int64_t Value(const std::string& text, const std::map<std::string, int64_t>& values = {}) {
  return Evaluate(ParseExpression(text), values);
}

std::string Refusal(const std::string& text, const std::map<std::string, int64_t>& values = {}) {
  try {
    Value(text, values);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << text;
    return error.what();
  }
  ADD_FAILURE() << "'" << text << "' was not refused";
  return "";
}

bool Equal(const Expression& a, const Expression& b) {
  if (a.kind != b.kind || a.number != b.number || a.symbol != b.symbol ||
      a.operands.size() != b.operands.size()) {
    return false;
  }
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!Equal(a.operands[i], b.operands[i])) return false;
  }
  return true;
}

TEST(Expression, FloorRoundsDownAndModHasTheSignOfTheDivisor) {
  EXPECT_EQ(Value("floor(-7/2)"), -4);
  EXPECT_EQ(Value("floor(7/-2)"), -4);
  EXPECT_EQ(Value("floor(7/2)"), 3);
  EXPECT_EQ(Value("Mod(-7, 64)"), 57);
  EXPECT_EQ(Value("Mod(7, -64)"), -57);
  EXPECT_EQ(Value("Mod(-128, 64)"), 0);
  EXPECT_EQ(Value("ceiling(-7/2)"), -3);
  EXPECT_EQ(Value("ceiling(7/2)"), 4);
}

TEST(Expression, QuotientsStayExactUntilTheyAreRounded) {
  EXPECT_EQ(Value("3*(1/3)"), 1);
  EXPECT_EQ(Value("1/2 + 1/3 + 1/6"), 1);
  EXPECT_EQ(Value("floor(c1/64)", {{"c1", 191}}), 2);
  EXPECT_EQ(Value("Mod(c1/2, 3)", {{"c1", 14}}), 1);
  EXPECT_EQ(Value("64*Mod(5/2, 1)"), 32);
}

TEST(Expression, OperatorsBindAsInPython) {
  EXPECT_EQ(Value("2 + 3*4 - 6/2"), 11);
  EXPECT_EQ(Value("-2*-3"), 6);
  EXPECT_EQ(Value("100/10/5"), 2);
  EXPECT_EQ(Value("7//2*2"), 6);
  EXPECT_EQ(Value("-7 % 4"), 1);
  EXPECT_EQ(Value("- (1 - 4)"), 3);
  EXPECT_EQ(Value("ModularIndexing(c0, 8, 4)", {{"c0", 43}}), 1);
  EXPECT_EQ(Value("FloorDiv(c0, 8)", {{"c0", 43}}), 5);
  EXPECT_EQ(Value("floor(32768*t0) + floor(1048576*t1)", {{"t0", 1}, {"t1", 3}}), 3178496);
}

TEST(Expression, FreeSymbolsAreEachNamedOnce) {
  EXPECT_THAT(FreeSymbols(ParseExpression("floor(c1/64) + Mod(c0, 64)*c1 + _tile_lvl0")),
              ElementsAre("_tile_lvl0", "c0", "c1"));
}

TEST(Expression, NumbersReachBothEndsOf64Bits) {
  EXPECT_EQ(Value("-9223372036854775808"), kMin);
  EXPECT_EQ(Value("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_THAT(Refusal("9223372036854775808"), HasSubstr("64 bits"));
  EXPECT_THAT(Refusal("9223372036854775807 + 1"), HasSubstr("64 bits"));
  EXPECT_THAT(Refusal("-1*c0", {{"c0", kMin}}), HasSubstr("64 bits"));
  EXPECT_EQ(Value("Mod(c0, 64)", {{"c0", kMin}}), 0);
}

TEST(Expression, ErrorsNameColumnAndWhatWasExpected) {
  EXPECT_THAT(Refusal("c0 + "), HasSubstr("column 6: the end where a number, a symbol or '('"));
  EXPECT_THAT(Refusal("floor(c1/64"), HasSubstr("column 12"));
  EXPECT_THAT(Refusal("c0 c1"), HasSubstr("column 4: 'c1'"));
  EXPECT_THAT(Refusal("Mod(c0)"), HasSubstr("Mod takes 2 arguments"));
  EXPECT_THAT(Refusal("flor(c0)"), HasSubstr("did you mean 'floor'?"));
  EXPECT_THAT(Refusal("c0**2"), HasSubstr("there are no powers"));
  EXPECT_THAT(Refusal(""), HasSubstr("column 1"));
  EXPECT_THAT(Refusal("c0/0", {{"c0", 1}}), HasSubstr("division by zero"));
  EXPECT_THAT(Refusal("Mod(4, 0)"), HasSubstr("division by zero"));
  EXPECT_THAT(Refusal("1/2"), HasSubstr("1/2 is not an integer"));
  EXPECT_THAT(Refusal("c7"), HasSubstr("'c7' has no value"));
}

TEST(Expression, DeepNestingIsRefusedInEveryForm) {
  const auto repeat = [](const std::string& unit, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += unit;
    return text;
  };
  for (const std::string& text :
       {repeat("(", 100'000) + "1", repeat("-", 100'000) + "c0", "1" + repeat("/2", 100'000),
        repeat("floor(", 100) + "1" + repeat(")", 100), "1" + repeat("//2*3", 100'000)}) {
    EXPECT_THAT(Refusal(text), HasSubstr("nested deeper than 64 levels"));
  }
  EXPECT_EQ(Value("1" + repeat(" + 1", 100'000)), 100'001);
}

Expression Any(std::mt19937& random, int depth) {
  using Kind = Expression::Kind;
  Expression e;
  e.kind = static_cast<Kind>(random() % (depth == 0 ? 2 : 7));
  if (e.kind == Kind::kNumber) e.number = static_cast<int64_t>(test::DrawWord(random));
  if (e.kind == Kind::kSymbol) e.symbol = test::DrawOf(random, {"c0", "_t", "z9"});
  const int count = e.kind == Kind::kFloor                            ? 1
                    : e.kind == Kind::kDivide || e.kind == Kind::kMod ? 2
                    : e.kind >= Kind::kAdd                            ? test::Draw(random, 2, 3)
                                                                      : 0;
  for (int i = 0; i < count; ++i) e.operands.push_back(Any(random, depth - 1));
  return e;
}

TEST(Expression, TextReadsBackAsTheSameTree) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Expression e = Any(random, test::Draw(random, 0, 4));
    EXPECT_TRUE(Equal(ParseExpression(ToString(e)), e)) << ToString(e);
  });
}

}  // namespace
}  // namespace spyre::compiler::expression_test
