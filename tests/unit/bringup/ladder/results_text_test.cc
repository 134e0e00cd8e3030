// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/results_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spyre::bringup::results_text_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TestResult Example(Outcome outcome, int rung) {
  TestResult test;
  test.suite = "Rung3Queue";
  test.name = "Wraps";
  test.rung = rung;
  test.outcome = outcome;
  test.wall_seconds = 0.25;
  return test;
}

TEST(ResultsText, ATestIsALineAndWhatItSaysIsIndented) {
  TestResult test = Example(Outcome::kCouldNotRun, 3);
  test.message = "first\nsecond";
  test.measurements = {{"rate", "GB/s", 2, Limits{1, 3}}};
  EXPECT_EQ(Line(test, {}),
            "could not run Rung3Queue.Wraps  0.25 s\n      rate = 2 GB/s (should be 1 to 3)\n"
            "      first\n      second\n");
}

TEST(ResultsText, LimitsOnOneSideAreSaidSo) {
  TestResult test = Example(Outcome::kPassed, 3);
  test.measurements = {{"a", "ns", 2, Limits{1}}, {"b", "ns", 2, std::nullopt}};
  Limits most;
  most.high = 5;
  test.measurements.push_back({"c", "ns", 2, most});
  const std::string text = Line(test, {});
  EXPECT_THAT(text, HasSubstr("a = 2 ns (should be 1 or more)\n"));
  EXPECT_THAT(text, HasSubstr("b = 2 ns\n"));
  EXPECT_THAT(text, HasSubstr("c = 2 ns (should be 5 or less)\n"));
}

TEST(ResultsText, TheSummaryHasARowForEachRung) {
  LadderResult result;
  result.tests = {Example(Outcome::kPassed, 3), Example(Outcome::kPassed, 3),
                  Example(Outcome::kFailed, 12)};
  const std::string text = Summary(result, {});
  EXPECT_THAT(text, HasSubstr("\n   3        2         0        0              0       0.50\n"));
  EXPECT_THAT(text, HasSubstr("\n  12        0         0        1              0       0.25\n"));
  EXPECT_THAT(text, HasSubstr("2 passed, 1 failed, 0 could not run in 0.8 s\n"));
  EXPECT_THAT(text, Not(HasSubstr("higher levels")));
  result.of_higher_levels = 2;
  EXPECT_THAT(Summary(result, {}), HasSubstr("; 2 of higher levels were not asked for"));
}

}  // namespace
}  // namespace spyre::bringup::results_text_test
