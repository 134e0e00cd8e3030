// SPDX-License-Identifier: Apache-2.0
// A fit finds the numbers of a card whose kernels were "measured": their times are those of the
// closed form with other numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/ranges.h"
#include "cosim/calibrate/calibrate.h"
#include "cosim/calibrate/fit_report.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::fit_card_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PointsText(bool matmuls) {
  std::string text = "op,rows,cols,m,k,n,split_m,split_n,cores,measured_us\n";
  for (const int rows : {512, 1024, 2048, 4096}) {
    for (const int cores : {1, 4, 32}) {
      for (const char* op : {"neg", "add"})
        text += fmt::format("{},{},2048,,,,,,{},1\n", op, rows, cores);
    }
  }
  if (!matmuls) return text;
  for (const int k : {256, 512, 1024, 2048}) {
    text += fmt::format("matmul,,,1024,{},1024,4,8,32,1\n", k);
    text += fmt::format("matmul,,,512,{},1024,1,2,2,1\n", k);
    text += fmt::format("matmul,,,1024,{},512,2,1,2,1\n", k);
  }
  return text;
}

// Points with the times that a card with these keys has.
std::vector<CalibrationPoint> Measured(const std::vector<std::string>& sets, bool matmuls = true) {
  std::vector<CalibrationPoint> points = ParseCalibration(PointsText(matmuls), "t.csv");
  std::vector<std::string> all = {"card.fidelity=fast"};
  all.insert(all.end(), sets.begin(), sets.end());
  std::ostringstream messages;
  const auto results = RunPoints(LoadConfig("", all), points, 1, messages);
  for (size_t i = 0; i < points.size(); ++i) points[i].reference_us = results[i].simulated_us();
  return points;
}

const FittedKey* Find(const CardFit& fit, const std::string& key) {
  const auto found = FindIf(fit.fitted, [&](const FittedKey& one) { return one.key == key; });
  return found == fit.fitted.end() ? nullptr : &*found;
}
std::string ReasonOf(const CardFit& fit, const std::string& key) {
  const auto found = FindIf(fit.held, [&](const HeldKey& one) { return one.key == key; });
  return found == fit.held.end() ? "not held" : found->reason;
}

TEST(FitCard, TheNumbersOfAnotherCardAreFoundFromItsTimes) {
  const std::vector<std::pair<std::string, uint64_t>> card = {
      {"card.fast.read_mb_per_s", 110000},
      {"card.fast.write_mb_per_s", 120000},
      {"card.core.vector_loop_unary_centicycles", 700},
      {"card.core.pt_block_load_split_cycles", 160}};
  std::vector<std::string> sets;
  for (const auto& [key, value] : card) sets.push_back(fmt::format("{}={}", key, value));
  const std::vector<CalibrationPoint> points = Measured(sets);
  const CardFit fit = FitCard(RunConfig(), points);
  for (const auto& [key, value] : card) {
    const FittedKey* const fitted = Find(fit, key);
    ASSERT_NE(fitted, nullptr) << key << ": " << ReasonOf(fit, key);
    EXPECT_NEAR(static_cast<double>(fitted->after) / static_cast<double>(value), 1, 0.05) << key;
    EXPECT_LT(fitted->deviation, 0.15) << key;
  }
  RunConfig fast = fit.card;
  fast.card.fidelity = model::Fidelity::kFast;
  std::ostringstream messages;
  const auto results = RunPoints(fast, points, 1, messages);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(results[i].ErrorOf(points[i]), 0, 0.02)
        << points[i].Describe() << (points[i].held_out() ? ", held out" : "");
  }
  EXPECT_TRUE(fit.ChangesTimed());
}

TEST(FitCard, WhatPointsSayNothingAboutStaysAndTheReasonIsTold) {
  const std::vector<CalibrationPoint> points = Measured({"card.fast.read_mb_per_s=110000"}, false);
  const CardFit fit = FitCard(RunConfig(), points);
  EXPECT_NE(Find(fit, "card.fast.read_mb_per_s"), nullptr);
  for (const char* key : {"card.core.pt_block_load_split_cycles", "card.fast.strided_read_mb_per_s",
                          "card.core.vector_loop_reduce_centicycles"})
    EXPECT_THAT(ReasonOf(fit, key), HasSubstr("no point's time depends on it")) << key;
  RunConfig usual, card = fit.card;
  const std::vector<Field> before = Fields(usual), after = Fields(card);
  for (size_t i = 0; i < before.size(); ++i) {
    if (Find(fit, before[i].key) != nullptr) continue;
    EXPECT_EQ(before[i].ValueText(), after[i].ValueText()) << before[i].key;
  }
}

TEST(FitCard, HeldOutPointsHaveNoInfluence) {
  std::vector<CalibrationPoint> points = Measured({"card.fast.read_mb_per_s=110000"});
  const CardFit fit = FitCard(RunConfig(), points);
  EXPECT_EQ(fit.fitted_points, 24u);
  EXPECT_EQ(fit.held_out_points, 12u);
  for (CalibrationPoint& point : points)
    if (point.held_out()) point.reference_us *= 3;
  const CardFit again = FitCard(RunConfig(), points);
  ASSERT_EQ(again.fitted.size(), fit.fitted.size());
  for (size_t i = 0; i < fit.fitted.size(); ++i)
    EXPECT_EQ(again.fitted[i].after, fit.fitted[i].after) << fit.fitted[i].key;
}

TEST(FitCard, NumbersThatTheTimedModelReadsTooCanBeHeld) {
  const CardFit fit = FitCard(
      RunConfig(), Measured({"card.core.vector_loop_unary_centicycles=700"}), "they are not mine");
  EXPECT_EQ(ReasonOf(fit, "card.core.vector_loop_unary_centicycles"), "they are not mine");
  EXPECT_FALSE(fit.ChangesTimed());
}

TEST(FitCard, TooFewPointsAreRefused) {
  std::vector<CalibrationPoint> points = Measured({}, false);
  points.resize(3);
  EXPECT_THAT(test::BadInputOf([&] { FitCard(RunConfig(), points); }),
              AllOf(HasSubstr("2 points to fit to"), HasSubstr("held out")));
}

TEST(FitCard, TheFileSaysWhatItsNumbersRestOnAndReadsBack) {
  const std::vector<CalibrationPoint> points = Measured({"card.fast.read_mb_per_s=110000"});
  RunConfig base;
  base.card.core.outstanding_loads = 3;
  const CardFit fit = FitCard(base, points);
  FitTimes times;
  std::ostringstream messages;
  RunConfig fast = base;
  fast.card.fidelity = model::Fidelity::kFast;
  times.formula_before = times.timed_before = times.timed_after =
      RunPoints(fast, points, 1, messages);
  fast = fit.card;
  fast.card.fidelity = model::Fidelity::kFast;
  times.formula_after = RunPoints(fast, points, 1, messages);
  const std::string toml = FitToml(fit, points, times);
  const uint64_t read = Find(fit, "card.fast.read_mb_per_s")->after;
  EXPECT_THAT(toml, AllOf(HasSubstr("# Numbers of the card fitted to 24 measured kernel times"),
                          HasSubstr("#   t.csv: 36 points\n"), HasSubstr("# Not fitted: "),
                          HasSubstr(fmt::format("read_mb_per_s = {}  # MB/s; was {}", read,
                                                base.card.fast.read_mb_per_s)),
                          HasSubstr("outstanding_loads = 3  # bursts\n"), HasSubstr("# held out"),
                          Not(HasSubstr("\nfidelity"))));
  const RunConfig back = ParseConfig(toml, "fit.toml");
  EXPECT_EQ(back.card.fast.read_mb_per_s, read);
  EXPECT_EQ(back.card.core.outstanding_loads, 3u);
  EXPECT_EQ(back.card.fast.write_mb_per_s, fit.card.card.fast.write_mb_per_s);
  EXPECT_FALSE(IsOverfitted(points, times));
  std::swap(times.formula_before, times.formula_after);
  EXPECT_TRUE(IsOverfitted(points, times));
  EXPECT_THAT(FitText(fit, points, times), HasSubstr("held out came out worse"));
}

}  // namespace
}  // namespace spyre::cosim::fit_card_test
