// SPDX-License-Identifier: Apache-2.0
#include "base/verdict.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace spyre::verdict_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Verdict Full() {
  Verdict verdict;
  verdict.ran = "add rows=2";
  verdict.right = Rightness::kRight;
  verdict.checked = "4 of 4 elements bit-exact";
  verdict.time = "1.000 us";
  verdict.trust = "within 3 %";
  verdict.bound = "memory bandwidth";
  verdict.next = {"first", "second"};
  verdict.files = {{"report", "out/report.json"}};
  verdict.more = "run --details";
  return verdict;
}

size_t Lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Verdict, IsALineForEachThingInOneColumn) {
  EXPECT_EQ(ToText(Full(), {}),
            "ran:      add rows=2\n"
            "verified: 4 of 4 elements bit-exact\n"
            "time:     1.000 us\n"
            "trust:    within 3 %\n"
            "bound by: memory bandwidth\n"
            "next:     first\n"
            "next:     second\n"
            "report:   out/report.json\n"
            "more:     run --details\n");
}

TEST(Verdict, WhatIsNotKnownHasNoLine) {
  Verdict verdict = Full();
  verdict.trust.clear();
  verdict.bound.clear();
  verdict.next.clear();
  EXPECT_EQ(Lines(ToText(verdict, {})), 5u);
}

TEST(Verdict, SaysThatItIsWrongOrNotVerified) {
  Verdict verdict = Full();
  verdict.right = Rightness::kWrong;
  EXPECT_THAT(ToText(verdict, {}), HasSubstr("\nWRONG:    4 of 4"));
  verdict.right = Rightness::kNotVerified;
  EXPECT_THAT(ToText(verdict, {}), HasSubstr("\nnot verified: 4 of 4"));
}

TEST(Verdict, HasTwelveLinesHoweverManyProblemsThereAre) {
  Verdict verdict = Full();
  verdict.right = Rightness::kWrong;
  verdict.notes = {"a note"};
  for (int i = 0; i < 20; ++i) verdict.problems.push_back("problem " + std::to_string(i));
  const std::string text = ToText(verdict, {});
  EXPECT_EQ(Lines(text), kVerdictLines);
  EXPECT_THAT(text, HasSubstr("problem:  problem 3\nproblem:  and 16 more\ntime: "));
  EXPECT_THAT(text, Not(HasSubstr("next: "))) << "what is wrong comes before what would help";
  EXPECT_THAT(text, HasSubstr("more:     run --details\n"));
}

TEST(Verdict, LongLinesCountAsTheLinesThatTheyTake) {
  Verdict verdict = Full();
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  verdict.problems = {words, "short"};
  const std::string text = ToText(verdict, {});
  EXPECT_LE(Lines(text), kVerdictLines + 2);
  EXPECT_THAT(text, HasSubstr("problem:  and 1 more\n"));
}

TEST(Verdict, ShowsTheSameOnANarrowTerminal) {
  Verdict verdict = Full();
  verdict.notes = {std::string(90, 'x')};
  TextStyle narrow;
  narrow.width = 40;
  EXPECT_THAT(ToText(verdict, narrow), HasSubstr("next:     second\n"));
}

TEST(Verdict, IsColouredIfAskedFor) {
  TextStyle style;
  style.color = true;
  EXPECT_THAT(ToText(Full(), style), HasSubstr("\033[1;32mverified\033[0m: 4 of 4"));
  EXPECT_THAT(ToText(Full(), style), StartsWith("\033[1mran\033[0m:      add rows=2\n"));
}

}  // namespace
}  // namespace spyre::verdict_test
