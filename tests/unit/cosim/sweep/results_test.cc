// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/json_text.h"
#include "tests/unit/cosim/sweep/example_results.h"

namespace spyre::cosim::results_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Results, TheFrontIsOfPointsThatEnded) {
  SweepResults results = test::ExampleResults();
  MarkFront(results);
  std::vector<bool> front;
  for (const SweepRow& row : results.rows) front.push_back(row.on_front);
  // 100 ns with 4 cores, 90 ns with 8, 95 ns with 8, and one that did not end.
  EXPECT_THAT(front, ElementsAre(true, true, false, false));
}

TEST(Results, AnObjectiveOfWhichMoreIsBetterIsTurnedRound) {
  SweepResults results = test::ExampleResults();
  results.objectives = {{"tmac_per_s", true}};
  results.rows[2].result.numbers[NumberFigure("tmac_per_s")] = 7;
  MarkFront(results);
  EXPECT_TRUE(results.rows[2].on_front);
  EXPECT_FALSE(results.rows[0].on_front);
}

TEST(Results, APointWithoutAFigureIsOnNoFrontOfIt) {
  SweepResults results = test::ExampleResults();
  results.objectives = {{"energy_per_token_uj", false}};
  const size_t per_token = NumberFigure("energy_per_token_uj");
  results.rows[0].result.numbers[per_token] = std::nan("");
  results.rows[1].result.numbers[per_token] = 5;
  results.rows[2].result.numbers[per_token] = 6;
  MarkFront(results);
  EXPECT_FALSE(results.rows[0].on_front);
  EXPECT_TRUE(results.rows[1].on_front);
  EXPECT_FALSE(results.rows[2].on_front);
  EXPECT_THAT(LinesOf(ToCsv(results))[1], HasSubstr(",0,,0,0,0,memory,"))
      << "between its neighbours";
}

TEST(Results, CsvQuotesWhatNeedsIt) {
  SweepResults results = test::ExampleResults();
  const std::vector<std::string> lines = LinesOf(ToCsv(results));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], StartsWith("point,card.cores,workload.op,status,reason,launch_ns,"));
  EXPECT_THAT(lines[1], StartsWith("0,4,add,done,,100,"));
  EXPECT_THAT(lines[4], StartsWith("3,16,\"a \"\"b\"\", c\",infeasible,\"no, it cannot\",,"));
}

TEST(Results, JsonLinesHaveAnObjectForEachPoint) {
  const std::vector<std::string> lines = LinesOf(ToJsonLines(test::ExampleResults()));
  ASSERT_EQ(lines.size(), 4u);
  const Json first = JsonOf(lines[0]), last = JsonOf(lines[3]);
  EXPECT_EQ(first["set"]["card.cores"], 4);
  EXPECT_EQ(first["launch_ns"], 100);
  EXPECT_EQ(last["status"], "infeasible");
  EXPECT_EQ(last["reason"], "no, it cannot");
  EXPECT_FALSE(last.contains("launch_ns"));
  EXPECT_FALSE(first.contains("wall_s"));
}

}  // namespace
}  // namespace spyre::cosim::results_test
