// SPDX-License-Identifier: Apache-2.0
#include "traces/path_causes.h"

#include <gtest/gtest.h>

#include <set>

namespace spyre::trace::path_causes_test {
namespace {

uint64_t& Of(PathTimes& path, Cause cause) { return path[static_cast<size_t>(cause)]; }

TEST(PathCauses, TheResourceThatTheMostTimeWentToBounds) {
  PathTimes path{};
  Of(path, Cause::kMemoryRead) = 30;
  Of(path, Cause::kMemoryWrite) = 25;
  Of(path, Cause::kRing) = 50;
  Of(path, Cause::kPtRows) = 10;
  const Bound bound = BoundOf(path);
  EXPECT_EQ(bound.resource, "memory") << "both directions share the buses";
  EXPECT_EQ(bound.total_ps, 115u);
  ASSERT_EQ(bound.resources.size(), 3u);
  EXPECT_EQ(bound.resources[0].time_ps, 55u);
  EXPECT_EQ(bound.resources[1].resource, "ring");
  EXPECT_DOUBLE_EQ(bound.share(), 55.0 / 115.0);
}

TEST(PathCauses, LongerFlitsOfMulticastsAreTimeOfTheRing) {
  PathTimes path{};
  Of(path, Cause::kRing) = 20;
  Of(path, Cause::kMulticast) = 30;
  Of(path, Cause::kVector) = 40;
  EXPECT_EQ(BoundOf(path).resource, "ring");
}

TEST(PathCauses, WithoutAPathNothingBounds) {
  const Bound bound = BoundOf({});
  EXPECT_EQ(bound.resource, "none");
  EXPECT_EQ(bound.share(), 0);
}

TEST(PathCauses, EveryCauseHasANameOfItsOwnAndAResourceWithWords) {
  std::set<std::string> names;
  for (size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_TRUE(names.insert(CauseName(cause)).second) << CauseName(cause);
    EXPECT_NE(ResourceText(ResourceName(cause)), ResourceName(cause)) << ResourceName(cause);
  }
}

TEST(PathCauses, AResourceThatIsNearlyAsLongIsNamedToo) {
  Bound bound;
  bound.total_ps = 200;
  bound.resources = {{"ring", 100}, {"memory", 70}, {"pt", 30}};
  ASSERT_NE(bound.rival(), nullptr);
  EXPECT_EQ(bound.rival()->resource, "memory");
  bound.resources[1].time_ps = 69;
  EXPECT_EQ(bound.rival(), nullptr);
  bound.resources.resize(1);
  EXPECT_EQ(bound.rival(), nullptr);
}

}  // namespace
}  // namespace spyre::trace::path_causes_test
