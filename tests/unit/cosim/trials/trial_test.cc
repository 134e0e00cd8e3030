// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::trial_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

TrialResult Example() {
  TrialResult result;
  result.status = TrialStatus::kWrong;
  result.reason = "2 elements";
  for (size_t i = 0; i < NumberFigures().size(); ++i)
    result.numbers.push_back(0.1 + static_cast<double>(i));
  result.texts.assign(TextFigures().size(), "memory");
  result.wall_s = 0.5;
  return result;
}

TEST(Trial, ComesBackFromItsLine) {
  const TrialResult result = Example(), back = TrialResultOf(JsonOf(ToJson(result).dump()));
  EXPECT_EQ(back.status, result.status);
  EXPECT_EQ(back.reason, result.reason);
  EXPECT_EQ(back.numbers, result.numbers);
  EXPECT_EQ(back.texts, result.texts);
  EXPECT_EQ(back.wall_s, result.wall_s);
}

TEST(Trial, WhatWasExpectedComesBackToo) {
  TrialResult result = Example();
  EXPECT_FALSE(ToJson(result).contains("unmet"));
  result.unmet = {"expect.max_launch_ns: too long", "expect.bound_by: the host"};
  EXPECT_EQ(TrialResultOf(ToJson(result)).unmet, result.unmet);
}

TEST(Trial, OneThatDidNotEndHasNoFigures) {
  TrialResult result;
  result.status = TrialStatus::kInfeasible;
  result.reason = "too large";
  const TrialResult back = TrialResultOf(ToJson(result));
  EXPECT_FALSE(back.ended());
  EXPECT_EQ(back.reason, "too large");
}

TEST(Trial, AFigureThatThereIsNotStaysAway) {
  TrialResult result = Example();
  const size_t per_token = NumberFigure("energy_per_token_uj");
  result.numbers[per_token] = NAN;
  const Json line = ToJson(result);
  EXPECT_FALSE(line.contains("energy_per_token_uj"));
  EXPECT_TRUE(line.contains("energy_uj"));
  EXPECT_TRUE(std::isnan(TrialResultOf(line).numbers[per_token]));
}

TEST(Trial, WholeNumbersLookLikeWholeNumbers) {
  TrialResult result = Example();
  result.numbers[0] = 4294967296;
  EXPECT_THAT(ToJson(result).dump(), HasSubstr("\"launch_ns\":4294967296,"));
}

TEST(Trial, DamagedLinesAreRefused) {
  Json line = ToJson(Example());
  line.erase("launch_ns");
  EXPECT_FALSE(TrialResultOf(line).ended());
  line = ToJson(Example());
  line.erase("device_ns");
  EXPECT_THAT(test::BadInputOf([&] { TrialResultOf(line); }), HasSubstr("no 'device_ns'"));
  line = ToJson(Example());
  line["status"] = "great";
  EXPECT_THAT(test::BadInputOf([&] { TrialResultOf(line); }), HasSubstr("'great'"));
  line["status"] = 7;
  EXPECT_THAT(test::BadInputOf([&] { TrialResultOf(line); }), HasSubstr("cannot be read"));
}

TEST(Trial, AnUnknownFigureIsRefusedWithTheNearestAndAllThatThereAre) {
  EXPECT_THAT(test::BadInputOf([] { NumberFigure("lunch_ns"); }), HasSubstr("'launch_ns'"));
  EXPECT_THAT(test::BadInputOf([] { NumberFigure("foo"); }),
              HasSubstr("there are launch_ns, device_ns, "));
}

}  // namespace
}  // namespace spyre::cosim::trial_test
