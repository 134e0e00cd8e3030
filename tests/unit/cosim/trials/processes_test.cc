// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
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

// Two thirds of the numbers are small work: a process does as many as follow each other. The others
// are the only ones of their process.
bool IsSmall(size_t number) { return number % 3 != 2; }
std::vector<Json> SmallOrOne(size_t first, size_t end) {
  std::vector<Json> answers;
  for (size_t number = first; number < end; ++number) {
    if (number > first && !IsSmall(number)) break;
    answers.push_back({{"n", number}, {"process", getpid()}});
    if (!IsSmall(number)) break;
  }
  return answers;
}

TEST(Processes, InFewProcessesEachPieceIsDoneOnceWhateverOneOfThemDoesOfItsRange) {
  for (const uint64_t jobs : {1, 3, 100}) {
    for (const size_t count : {0, 1, 7, 100}) {
      std::map<size_t, int> process_of;
      std::map<int, size_t> large_of;
      RunInFewProcesses(count, jobs, SmallOrOne, [&](size_t number, const Json& answer) {
        EXPECT_EQ(answer["n"], number);
        const auto process = answer["process"].get<int>();
        EXPECT_TRUE(process_of.emplace(number, process).second) << number << " was done twice";
        if (!IsSmall(number)) ++large_of[process];
      });
      EXPECT_EQ(process_of.size(), count);
      for (const auto& [process, large] : large_of)
        EXPECT_EQ(large, 1u) << "pieces of process " << process << " that want one of their own";
    }
  }
}

TEST(Processes, OfManyInOneProcessOnlyTheOneThatDiesIsLost) {
  std::map<size_t, Json> answers;
  const RangeWork all = [](size_t first, size_t end) {
    std::vector<Json> of_range;
    for (size_t number = first; number < end; ++number) {
      if (number == 5) std::raise(SIGKILL);
      of_range.push_back({{"n", number}});
    }
    return of_range;
  };
  RunInFewProcesses(64, 2, all, [&](size_t number, Json answer) {
    EXPECT_TRUE(answers.emplace(number, std::move(answer)).second) << number;
  });
  ASSERT_EQ(answers.size(), 64u);
  for (const auto& [number, answer] : answers) {
    if (number == 5) {
      EXPECT_EQ(answer["error"]["type"], "Crashed");
    } else {
      EXPECT_EQ(answer["n"], number);
    }
  }
}

TEST(Processes, SmallWorkTakesFewProcesses) {
  std::set<int> processes;
  const auto all = [](size_t first, size_t end) {
    return std::vector<Json>(end - first, Json{{"process", getpid()}});
  };
  RunInFewProcesses(10000, 2, all, [&](size_t, const Json& answer) {
    processes.insert(answer["process"].get<int>());
  });
  EXPECT_LE(processes.size(), 32u);
  EXPECT_GE(processes.size(), 4u) << "for two jobs that end at the same time";
}

}  // namespace
}  // namespace spyre::cosim::processes_test
