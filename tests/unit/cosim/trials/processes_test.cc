// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace spyre::cosim::processes_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::vector<Json> AnswersOf(size_t count, uint64_t jobs, const ProcessWork& work) {
  std::vector<Json> answers;
  RunInProcesses(count, jobs, work, Order::kByNumber, [&](size_t number, Json answer) {
    EXPECT_EQ(number, answers.size());
    answers.push_back(std::move(answer));
  });
  return answers;
}

TEST(Processes, AnswersComeInTheOrderOfTheNumbersAtAnyNumberOfJobs) {
  for (const uint64_t jobs : {0, 1, 3, 100}) {
    const std::vector<Json> answers = AnswersOf(20, jobs, [](size_t n) { return Json{{"n", n}}; });
    ASSERT_EQ(answers.size(), 20u);
    for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i]["n"], i);
  }
}

TEST(Processes, AsTheyEndEachComesOnce) {
  std::set<size_t> told;
  RunInProcesses(
      20, 3,
      [](size_t n) {
        return Json{{"n", n}};
      },
      Order::kAsTheyEnd,
      [&](size_t number, const Json& answer) {
        EXPECT_EQ(answer["n"], number);
        EXPECT_TRUE(told.insert(number).second) << number;
      });
  EXPECT_EQ(told.size(), 20u);
}

TEST(Processes, OneThatThrowsOrDiesAnswersWithItsFailureAndLeavesTheOthersAlone) {
  const std::vector<Json> answers = AnswersOf(4, 2, [](size_t number) -> Json {
    if (number == 0) throw BadInput("m is 7");
    if (number == 1) throw DeviceFault("the card has gone");
    if (number == 2) std::raise(SIGKILL);
    return {{"right", true}};
  });
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0]["exit_status"], 2);
  EXPECT_EQ(answers[0]["error"]["message"], "m is 7");
  EXPECT_EQ(answers[1]["exit_status"], 3);
  EXPECT_EQ(answers[1]["error"]["type"], "DeviceFault");
  EXPECT_EQ(answers[2]["exit_status"], 4);
  EXPECT_EQ(answers[2]["error"]["type"], "Crashed");
  EXPECT_THAT(answers[2]["error"]["message"].get<std::string>(), HasSubstr("signal 9"));
  EXPECT_EQ(answers[3]["right"], true);
}

TEST(Processes, ATextThatIsNotUtf8IsStillAnAnswer) {
  const std::vector<Json> answers =
      AnswersOf(1, 1, [](size_t) -> Json { throw BadInput("{}: cannot be read", "caf\xE9.toml"); });
  EXPECT_THAT(answers[0]["error"]["message"].get<std::string>(), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace spyre::cosim::processes_test
