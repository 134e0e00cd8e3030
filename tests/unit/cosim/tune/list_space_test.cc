// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/list_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cosim/config/effect.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::list_space_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;

constexpr const char* kList =
    "[workload]\ndims = { R = 64, C = 128 }\n"
    "tensors = [{ name = \"x\", dims = [\"R\", \"C\"] }]\n"
    "ops = [{ op = \"exp\", inputs = [\"x\"], output = \"y\" },\n"
    "       { op = \"add\", inputs = [\"x\", \"y\"], output = \"z\" }]\n";

ApplyPlan Applied(const std::string& text, const std::vector<std::string>& sets) {
  return [=](const Plan& plan) {
    std::vector<std::string> all = sets;
    for (std::string& set : SetsOf(plan)) all.push_back(std::move(set));
    return ParseConfig(text, "test.toml", all);
  };
}
ListSpace SpaceOf(const std::string& text, const std::vector<std::string>& sets = {}) {
  const ApplyPlan apply = Applied(text, sets);
  return {apply({}), FixedKeys(sets), apply};
}

TEST(ListSpace, PlansAreTheCombinationsOfWhatIsOpen) {
  const std::vector<std::string> sets = {"workload.issue.mode=program", "workload.tiling=true",
                                         "workload.agree=true"};
  std::set<std::map<std::string, std::string>> expected;
  for (const std::string division : {"", "\"cost\"", "\"public-cost\""}) {
    for (const std::string lx : {"", "\"public\"", "\"none\"", "\"co-optimizing\""}) {
      std::map<std::string, std::string> keys;
      if (!division.empty()) keys["workload.division"] = division;
      if (!lx.empty()) keys["workload.lx"] = lx;
      if (!keys.empty()) expected.insert(keys);
    }
  }
  std::set<std::map<std::string, std::string>> found;
  for (const Plan& plan : SpaceOf(kList, sets).Ranked().plans) found.insert(plan.keys);
  EXPECT_EQ(found, expected);
}

TEST(ListSpace, NoPlanHasAKeyWithoutEffectAndWaysOfIssueTakeTurns) {
  const ApplyPlan apply = Applied(kList, {});
  const Ranking ranking = SpaceOf(kList).Ranked();
  EXPECT_THAT(ranking.refused, IsEmpty());
  std::set<std::string> first;
  for (size_t i = 0; i < ranking.plans.size(); ++i) {
    const Plan& plan = ranking.plans[i];
    EXPECT_NO_THROW(RefuseKeysWithoutEffect(apply(plan))) << TextOf(plan);
    const auto mode = plan.keys.find("workload.issue.mode");
    if (i < 3) first.insert(mode == plan.keys.end() ? "program" : mode->second);
  }
  EXPECT_THAT(first, SizeIs(3));
}

TEST(ListSpace, WhatMovesFewestBytesComesFirst) {
  // Without LX, y goes to memory and back, and so do all plans with lx = "none".
  const std::vector<Plan> plans = SpaceOf(kList, {"workload.issue.mode=program"}).Ranked().plans;
  bool was_none = false;
  size_t none = 0;
  for (const Plan& plan : plans) {
    const auto lx = plan.keys.find("workload.lx");
    const bool is_none = lx != plan.keys.end() && lx->second == "\"none\"";
    EXPECT_TRUE(is_none || !was_none) << TextOf(plan);
    was_none = is_none;
    none += is_none ? 1 : 0;
  }
  EXPECT_EQ(none, plans.size() / 4 + 1);  // a quarter of all, of which the given one is missing
}

TEST(ListSpace, AGivenKeyThatAChoiceLeavesWithoutEffectIsAReason) {
  const Ranking ranking =
      SpaceOf(std::string(kList) + "hints = [{ slices = { R = 2 } }]\n").Ranked();
  EXPECT_THAT(ranking.refused, SizeIs(2));  // of streams and of a task graph, once each
  for (const auto& [reason, count] : ranking.refused) {
    EXPECT_THAT(reason, HasSubstr("workload.hints"));
    EXPECT_EQ(count, 1u);
  }
  for (const Plan& plan : ranking.plans) EXPECT_EQ(plan.keys.count("workload.issue.mode"), 0u);
}

TEST(ListSpace, NearbyPlansTurnEveryKnobThatHasAnEffect) {
  const ListSpace space = SpaceOf(kList);
  const Plan streams{{{"workload.issue.mode", "\"streams\""}, {"workload.issue.streams", "2"}}, {}};
  std::set<std::string> turned;
  for (const Plan& near : space.Nearby(streams)) {
    EXPECT_NO_THROW(RefuseKeysWithoutEffect(Applied(kList, {})(near))) << TextOf(near);
    for (const auto& [key, value] : near.keys) turned.insert(key);
  }
  EXPECT_THAT(turned, Contains("workload.lx_solver"));
  EXPECT_THAT(turned, Contains("workload.issue.dependencies"));
  EXPECT_EQ(turned.count("workload.agree"), 0u);
  EXPECT_EQ(turned.count("workload.issue.ready"), 0u);
}

}  // namespace
}  // namespace spyre::cosim::list_space_test
