// SPDX-License-Identifier: Apache-2.0
// Runs of the benchmarks, written by hand in the format of Google Benchmark 1.7.
#include "tests/benchmarks/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/benchmarks/budgets.h"

namespace spyre::benchmarks::results_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Entries as the reporter writes them; fields that do not matter here are left out.
Results RunOf(const std::string& entries) {
  return ParseResults(R"({"context": {"date": "2026-01-01", "num_cpus": 2, "machine": "Example 1",
      "OpenBLAS kernels": "Haswell", "instructions": "instructions are those of one iteration"},
      "benchmarks": [)" + entries +
                          "]}",
                      "run.json");
}

std::string Problem(const std::string& text) {
  try {
    ParseResults(text, "run.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

TEST(Results, HaveTimesInNanosecondsAndCounters) {
  const Results results = RunOf(R"(
      {"name": "A", "run_type": "iteration", "iterations": 7, "real_time": 2.5, "cpu_time": 1,
       "time_unit": "ms", "slowdown": 12.5, "instructions": 3e6},
      {"name": "B", "run_type": "iteration", "real_time": 40, "cpu_time": 40, "time_unit": "ns"})");
  EXPECT_EQ(results.context.at("machine"), "Example 1");
  ASSERT_EQ(results.measurements.size(), 2U);
  const Measurement& a = results.measurements[0];
  EXPECT_EQ(a.name, "A");
  EXPECT_DOUBLE_EQ(a.wall_ns, 2.5e6);
  EXPECT_EQ(a.counters, (std::map<std::string, double>{{"slowdown", 12.5}, {"instructions", 3e6}}));
  EXPECT_DOUBLE_EQ(results.measurements[1].wall_ns, 40);
  EXPECT_FALSE(results.measurements[1].Counter("slowdown").has_value());
}

TEST(Results, OfRepetitionsTheShortestCountsAndNoMean) {
  const Results results = RunOf(R"(
      {"name": "A", "run_type": "iteration", "real_time": 30, "cpu_time": 30,
       "time_unit": "ns", "items": 1},
      {"name": "A", "run_type": "iteration", "real_time": 20, "cpu_time": 20,
       "time_unit": "ns", "items": 2},
      {"name": "A", "run_type": "iteration", "real_time": 25, "cpu_time": 25,
       "time_unit": "ns", "items": 3},
      {"name": "A_mean", "run_type": "aggregate", "real_time": 25, "cpu_time": 25,
       "time_unit": "ns"},
      {"name": "broken", "run_type": "iteration", "error_occurred": true, "error_message": "no",
       "real_time": 0, "cpu_time": 0, "time_unit": "ns"})");
  ASSERT_EQ(results.measurements.size(), 1U);
  EXPECT_DOUBLE_EQ(results.measurements[0].wall_ns, 20);
  EXPECT_EQ(results.measurements[0].Counter("items"), 2);
}

TEST(Results, OfAnotherFileAreRefusedWithItsName) {
  EXPECT_THAT(Problem("text"), HasSubstr("run.json: not the JSON that --benchmark_out writes"));
  EXPECT_THAT(Problem("{}"), HasSubstr("run.json: not the JSON"));
  EXPECT_THAT(Problem(R"({"context": {}, "benchmarks": [{"name": "A"}]})"),
              HasSubstr("run.json: not the JSON"));
  EXPECT_THAT(Problem(R"({"context": {}, "benchmarks": [
                 {"name": "A", "real_time": 1, "cpu_time": 1, "time_unit": "min"}]})"),
              HasSubstr("run.json: 'min' is not a unit of time"));
  EXPECT_THAT(Problem(R"({"context": {}, "benchmarks": [
                 {"name": "A", "real_time": 0, "cpu_time": 0, "time_unit": "ns"}]})"),
              HasSubstr("run.json: A took no time"));
}

// 40 ns to 10 ns, 1 us to 1000 ns, 1 ms to 4 ms: 0.25 * 1 * 4 = 1, and so is the third root.
TEST(Comparison, HasRatiosByNameAndTheirGeometricMean) {
  const Results earlier = RunOf(R"(
      {"name": "gone", "real_time": 5, "cpu_time": 5, "time_unit": "ns"},
      {"name": "A", "real_time": 40, "cpu_time": 40, "time_unit": "ns", "instructions": 400},
      {"name": "B", "real_time": 1, "cpu_time": 1, "time_unit": "us", "instructions": 900},
      {"name": "C", "real_time": 1, "cpu_time": 1, "time_unit": "ms"})");
  const Results later = RunOf(R"(
      {"name": "C", "real_time": 4, "cpu_time": 2, "time_unit": "ms", "instructions": 5},
      {"name": "B", "real_time": 1000, "cpu_time": 1000, "time_unit": "ns", "instructions": 450},
      {"name": "new", "real_time": 5, "cpu_time": 5, "time_unit": "ns"},
      {"name": "A", "real_time": 10, "cpu_time": 10, "time_unit": "ns", "instructions": 50})");
  const Comparison comparison = Compare(earlier, later);
  ASSERT_EQ(comparison.ratios.size(), 3U);
  EXPECT_EQ(comparison.ratios[0].name, "C");
  EXPECT_DOUBLE_EQ(comparison.ratios[0].wall, 4);
  EXPECT_FALSE(comparison.ratios[0].instructions.has_value()) << "only the later run counted";
  EXPECT_EQ(comparison.ratios[1].name, "B");
  EXPECT_DOUBLE_EQ(comparison.ratios[1].wall, 1);
  EXPECT_DOUBLE_EQ(*comparison.ratios[1].instructions, 0.5);
  EXPECT_DOUBLE_EQ(comparison.ratios[2].wall, 0.25);
  EXPECT_DOUBLE_EQ(*comparison.ratios[2].instructions, 0.125);
  EXPECT_NEAR(*comparison.wall, 1, 1e-12);
  EXPECT_NEAR(*comparison.cpu, std::cbrt(0.5), 1e-12) << "2 * 1 * 0.25";
  EXPECT_NEAR(*comparison.instructions, 0.25, 1e-12) << "the root of 1/2 * 1/8";
  EXPECT_THAT(comparison.only_earlier, ElementsAre("gone"));
  EXPECT_THAT(comparison.only_later, ElementsAre("new"));
  EXPECT_EQ(ToText(comparison),
            "                wall time  CPU time  instructions   (this run / earlier run)\n"
            "C                   4.000     2.000             -\n"
            "B                   1.000     1.000         0.500\n"
            "A                   0.250     0.250         0.125\n"
            "geometric mean      1.000     0.794         0.250\n"
            "new is not in the earlier run\n"
            "gone is only in the earlier run\n");
}

TEST(Comparison, OfRunsWithNothingInCommonHasNoMean) {
  const Comparison comparison =
      Compare(RunOf(R"({"name": "A", "real_time": 1, "cpu_time": 1, "time_unit": "ns"})"),
              RunOf(R"({"name": "B", "real_time": 1, "cpu_time": 1, "time_unit": "ns"})"));
  EXPECT_TRUE(comparison.ratios.empty());
  EXPECT_FALSE(comparison.wall.has_value());
  EXPECT_THAT(ToText(comparison), HasSubstr("B is not in the earlier run"));
}

TEST(Budgets, TableSaysWhatIsMetOnWhichMachine) {
  const std::string table = BudgetTable(RunOf(R"(
      {"name": "AddTimes", "real_time": 1, "cpu_time": 1, "time_unit": "ms", "slowdown": 12.34,
       "instructions": 1234567},
      {"name": "ControlBlocks", "real_time": 1, "cpu_time": 1,
       "time_unit": "ms", "blocks/s": 249999},
      {"name": "another", "real_time": 1, "cpu_time": 1, "time_unit": "ms", "slowdown": 1})"));
  EXPECT_THAT(table, HasSubstr("Measured on Example 1; OpenBLAS with its kernels for Haswell; "
                               "instructions are those of one iteration.\n"));
  EXPECT_THAT(table, HasSubstr("| times only: add of 8192x4096 | `slowdown` | at most 15 | 12.3 | "
                               "yes | 1,234,567 |\n"));
  EXPECT_THAT(table, HasSubstr("| control blocks a second | `blocks/s` | at least 250,000 | "
                               "249,999 | no | - |\n"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("another")));
  EXPECT_EQ(BudgetTable(RunOf("")), "");
}

TEST(Transports, TableHasWallTimesBesideTheSimulatedTime) {
  std::string runs;
  int ns = 1000;
  for (const char* what : {"BM_RegisterRead", "BM_NopWithInterrupt", "BM_Copy64MiB"}) {
    for (const char* transport : {"in_process", "lockstep", "free"}) {
      runs += std::string(runs.empty() ? "" : ",") + R"({"name": ")" + what + "/" + transport +
              R"(/real_time", "real_time": )" + std::to_string(ns) +
              R"(, "cpu_time": 1, "time_unit": "ns", "card_ns": 601})";
      ns *= 3;
    }
  }
  const std::string table = TransportTable(RunOf(runs));
  EXPECT_THAT(table, HasSubstr("Measured on Example 1; microseconds.\n"));
  EXPECT_THAT(table, HasSubstr("| a read of a register | 0.601 | 1 | 3 | 9 |\n"
                               "| a NOP with its interrupt | 0.601 | 27 | 81 | 243 |\n"
                               "| a copy of 64 MiB to the card | 0.601 | 729 | 2,187 | 6,561 |\n"));
  EXPECT_EQ(TransportTable(RunOf("")), "");
}

TEST(Budgets, TableReplacesTheOneOfThePage) {
  const std::string page =
      std::string("before\n") + kBudgets.begin + "old\n" + kBudgets.end + "\nafter\n";
  EXPECT_EQ(WithTable(page, kBudgets, "new\n", "page.md"),
            std::string("before\n") + kBudgets.begin + "\nnew\n\n" + kBudgets.end + "\nafter\n");
  EXPECT_EQ(WithTable(WithTable(page, kBudgets, "a\n", "page.md"), kBudgets, "new\n", "page.md"),
            WithTable(page, kBudgets, "new\n", "page.md"));
  try {
    WithTable("nothing", kBudgets, "new\n", "page.md");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("page.md: has no place for the table"));
  }
}

}  // namespace
}  // namespace spyre::benchmarks::results_test
