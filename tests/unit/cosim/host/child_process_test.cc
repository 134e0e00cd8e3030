// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace spyre::cosim::child_process_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ChildProcess, BytesComeBackInTheOrderOfTheWorks) {
  std::vector<ChildWork> works;
  for (char c = 'a'; c < 'f'; ++c) works.emplace_back([c] { return std::string(1, c) + '\0'; });
  const std::string zero(1, '\0');
  EXPECT_THAT(RunInChildren(works, 2),
              ElementsAre("a" + zero, "b" + zero, "c" + zero, "d" + zero, "e" + zero));
}

TEST(WaitingChild, AnswersWhatItIsAskedLaterAndKnowsOnlyWhatWasBefore) {
  int number = 1;
  WaitingChild child(
      [&](const std::string& question) { return question + " " + std::to_string(number); });
  number = 2;  // in this process
  const ChildResult answer = child.Ask(std::string(1 << 18, '?'));
  ASSERT_FALSE(answer.error);
  EXPECT_EQ(answer.bytes, std::string(1 << 18, '?') + " 1");
}

TEST(WaitingChild, ThatNobodyAsksOrThatHasDiedHoldsNobodyUp) {
  {
    const WaitingChild unasked([](const std::string& question) { return question; });
  }
  WaitingChild dead([](const std::string&) -> std::string { std::raise(SIGKILL), std::abort(); });
  EXPECT_TRUE(dead.Ask("?").error);
  WaitingChild refusing([](const std::string&) -> std::string { throw BadInput("no"); });
  const ChildResult answer = refusing.Ask("?");
  ASSERT_TRUE(answer.error);
  EXPECT_STREQ(answer.error->what(), "no");
}

TEST(ChildProcess, MoreThanAPipeHoldsComesBackWhole) {
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(RunInChild([&] { return large; }), large);
}

TEST(ChildProcess, AnErrorCrossesWithItsData) {
  const std::vector<ChildResult> results = TryInChildren(
      {[]() -> std::string { throw BadInput("m is 7").Subject("m").Value(7).Remedy("8"); }}, 1);
  ASSERT_TRUE(results[0].error);
  EXPECT_EQ(results[0].error->kind(), ErrorKind::kBadInput);
  EXPECT_STREQ(results[0].error->what(), "m is 7");
  EXPECT_EQ(results[0].error->subject(), "m");
  EXPECT_EQ(results[0].error->value(), "7");
  EXPECT_EQ(results[0].error->remedy(), "8");
}

TEST(ChildProcess, EachOfManyIsToldOnceAtAnyNumberAtATime) {
  for (const size_t at_once : {1, 3, 100}) {
    std::vector<int> told(20, 0);
    ForEachInChildren(
        told.size(), at_once, [](size_t number) { return std::to_string(number); },
        [&](size_t number, const ChildResult& result) {
          EXPECT_EQ(result.bytes, std::to_string(number));
          ++told[number];
        });
    EXPECT_EQ(told, std::vector<int>(20, 1)) << at_once;
  }
}

TEST(ChildProcess, OneThatDiesLeavesTheOthersTheirResults) {
  std::vector<size_t> told;
  const std::vector<ChildResult> results =
      TryInChildren({[]() -> std::string { throw std::runtime_error("odd"); },
                     []() -> std::string {
                       std::raise(SIGKILL);
                       return "never";
                     },
                     [] { return std::string("well"); }},
                    1, [&](size_t done) { told.push_back(done); });
  EXPECT_EQ(results[0].error->kind(), ErrorKind::kInternal);
  EXPECT_THAT(results[1].error->what(), HasSubstr("signal 9"));
  EXPECT_FALSE(results[2].error);
  EXPECT_EQ(results[2].bytes, "well");
  EXPECT_THAT(told, ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace spyre::cosim::child_process_test
