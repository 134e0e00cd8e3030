// SPDX-License-Identifier: Apache-2.0
// What cannot be tuned is refused with a sentence that says what to do; and small parts.
#include "cosim/tune/space_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/error_of.h"

namespace spyre::cosim::space_of_test {
namespace {

using ::testing::HasSubstr;

std::string RefusalOf(const std::string& toml) {
  const RunConfig config = ParseConfig(toml, "test.toml");
  return test::BadInputOf(
      [&] { SpaceOf(config, FixedKeys(), [&](const Plan&) { return config; }); });
}

TEST(SpaceOf, WhatLeavesNoPlanToChooseIsRefused) {
  EXPECT_THAT(RefusalOf("[workload]\nbundle = \"some/bundle\"\n"),
              HasSubstr("some/bundle is compiled already"));
  EXPECT_THAT(RefusalOf("[workload]\nop = \"attention\"\n"), HasSubstr("sweep workload.cores"));
  EXPECT_THAT(
      RefusalOf("[[tenant]]\nfunction = 1\nworkload = { op = \"add\", rows = 64, cols = 64 }\n"),
      HasSubstr("tune the configuration of each by itself"));
  EXPECT_THAT(RefusalOf("[workload]\nop = \"add\"\n"), HasSubstr("workload.cols is missing"));
}

TEST(FixedKeys, AreThoseOfTheArgumentsAndOfTheirTables) {
  const FixedKeys fixed({"workload.tile = { m = 64 }", "workload.split.n=4"});
  EXPECT_TRUE(fixed.Has("workload.tile.m"));
  EXPECT_TRUE(fixed.Has("workload.tile.n"));
  EXPECT_TRUE(fixed.Has("workload.split.n"));
  EXPECT_FALSE(fixed.Has("workload.split.m"));
  EXPECT_FALSE(fixed.Has("workload.tiling"));
}

TEST(Plan, ReadsLikeASentence) {
  EXPECT_EQ(TextOf({}), "as given");
  const Plan plan{{{"workload.tile.m", "64"}, {"workload.launch.overlap", "\"streams\""}}, {}};
  EXPECT_EQ(TextOf(plan), "launch.overlap streams, tile.m 64");
  EXPECT_THAT(SetsOf(plan),
              ::testing::ElementsAre("workload.launch.overlap=\"streams\"", "workload.tile.m=64"));
}

}  // namespace
}  // namespace spyre::cosim::space_of_test
