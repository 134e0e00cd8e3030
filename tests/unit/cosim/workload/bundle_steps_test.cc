// SPDX-License-Identifier: Apache-2.0
// Steps of a bundle as the report names them.
#include "cosim/workload/bundle_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cosim/reference/bundle_builder.h"

namespace spyre::cosim::bundle_steps_test {
namespace {

using ::testing::ElementsAre;

TEST(BundleSteps, AreNumberedInOrderAndKnowTheirLoops) {
  compiler::Bundle bundle = test::BundleWithTensors(1);
  bundle.arguments.push_back({compiler::BundleArgument::Kind::kDimension, "trips", 8, 1});
  compiler::BundleLoop inner, outer, last;
  inner.count = 4;
  outer.count = 2;
  last.count = 8;
  last.count_argument = 1;
  // One tensor each, which is the output: names and loops are all that counts here.
  for (auto* loop : {&inner, &last}) {
    test::DscBuilder dsc("neg", {{"out", 64, 0, 1}});
    dsc.Hbm(0, {"out"}, "out");
    dsc.AppendTo(bundle, loop->body);
  }
  outer.body.push_back(inner);
  bundle.body = {outer, last};
  const std::vector<BundleStep> steps = StepsOf(bundle, {3});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(StepName(steps[0], 7), "sdsc_0.json [i0=1, i1=3]");
  EXPECT_THAT(IterationsOf(steps[0], 4), ElementsAre(1, 0));
  EXPECT_EQ(steps[0].shape, "64");
  EXPECT_EQ(steps[1].loops[0].count, 3) << "as the launch says";
  EXPECT_EQ(StepName(steps[1], 2), "sdsc_1.json [i2=2]");
  EXPECT_EQ(StepName({"sdsc_7.json", "add", "64x64", {}}, 0), "sdsc_7.json");
}

}  // namespace
}  // namespace spyre::cosim::bundle_steps_test
