// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/overlap.h"

#include <gtest/gtest.h>

namespace spyre::cosim::overlap_test {
namespace {

TEST(Overlap, OfNothingIsNothing) {
  const OverlapSummary summary = SummarizeOverlap({});
  EXPECT_EQ(summary.any_ps, 0u);
  EXPECT_EQ(summary.overlap_ps, 0u);
}

TEST(Overlap, IsTheTimeInWhichTwoEnginesWork) {
  const OverlapSummary summary = SummarizeOverlap({{Engine::kDmaIn, 0, 100},
                                                   {Engine::kCompute, 60, 200},
                                                   {Engine::kDmaOut, 190, 250},
                                                   {Engine::kPrepare, 195, 199}});
  EXPECT_EQ(summary.busy(Engine::kDmaIn), 100u);
  EXPECT_EQ(summary.busy(Engine::kCompute), 140u);
  EXPECT_EQ(summary.busy(Engine::kDmaOut), 60u);
  EXPECT_EQ(summary.busy(Engine::kPrepare), 4u);
  EXPECT_EQ(summary.any_ps, 250u);
  EXPECT_EQ(summary.overlap_ps, 40u + 10u) << "three at once count once";
}

TEST(Overlap, SpansOfOneEngineThatMeetCountOnce) {
  const OverlapSummary summary =
      SummarizeOverlap({{Engine::kDmaIn, 10, 40}, {Engine::kDmaIn, 20, 60}});
  EXPECT_EQ(summary.busy(Engine::kDmaIn), 50u);
  EXPECT_EQ(summary.overlap_ps, 0u) << "one engine never overlaps with itself";
}

TEST(Overlap, SpansThatTouchDoNotOverlapAndEmptyOnesAreNothing) {
  const OverlapSummary summary = SummarizeOverlap(
      {{Engine::kCompute, 20, 30}, {Engine::kDmaIn, 10, 20}, {Engine::kDmaOut, 25, 25}});
  EXPECT_EQ(summary.any_ps, 20u);
  EXPECT_EQ(summary.overlap_ps, 0u);
}

}  // namespace
}  // namespace spyre::cosim::overlap_test
