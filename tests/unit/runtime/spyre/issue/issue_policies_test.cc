// SPDX-License-Identifier: Apache-2.0
// Where and when tasks go to the card: dispatch, pools, timing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/error.h"
#include "tests/unit/error_of.h"
#include "tests/unit/runtime/spyre/issue/issue_fixture.h"

namespace spyre::runtime {
namespace {

using test::ErrorOf;
using ::testing::HasSubstr;

TEST_F(IssueTest, BatchesRingOneDoorbellAndLeaveTheSame) {
  std::array<uint64_t, 2> doorbells{};
  for (const bool batched : {false, true}) {
    StreamIssueOptions options;
    options.streams = 2;
    options.pacing.timing = batched ? IssueTiming::kBatched : IssueTiming::kImmediate;
    options.pacing.batch = 4;
    const uint64_t before = context.device().queue().statistics().submission_doorbells;
    const auto issuer = Issue::Streams(context, options);
    std::array<uint64_t, 16> host{};
    for (int i = 0; i < 9; ++i) {
      const SpyreTensor x = NewBuffer();
      IssuedTask fill = Fill("fill", x, 40);
      fill.stream = 3;
      issuer->Submit(fill);
      IssuedTask read = ReadOut("read", x, host.data());
      read.stream = 3;
      issuer->Submit(read);
    }
    issuer->Synchronize();
    EXPECT_EQ(host[0], 40u);
    doorbells[batched ? 1 : 0] =
        context.device().queue().statistics().submission_doorbells - before;
  }
  EXPECT_EQ(doorbells[1], 5u) << "18 tasks by 4";
  EXPECT_GT(doorbells[0], doorbells[1]);
}

TEST_F(IssueTest, ALimitedRateKeepsTasksApart) {
  StreamIssueOptions options;
  options.pacing = {IssueTiming::kRateLimited, 1, 10};  // one in 100 us
  const auto issuer = Issue::Streams(context, options);
  const uint64_t begin = context.NowPs();
  for (int i = 0; i < 4; ++i) issuer->Submit(Fill("fill", NewBuffer(), 1));
  EXPECT_GE(context.NowPs() - begin, 300'000'000u) << "ps, of three intervals";
  issuer->Synchronize();
}

TEST_F(IssueTest, PacingOutOfRangeIsRefused) {
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput,
                      [&] {
                        IssuePacer(context, {IssueTiming::kBatched, 0, 1});
                      }),
              HasSubstr("batches of 0"));
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput,
                      [&] {
                        IssuePacer(context, {IssueTiming::kRateLimited, 1, 0});
                      }),
              HasSubstr("0 tasks a millisecond"));
}

TEST_F(IssueTest, DispatchDecidesTheStreamAndLeavesTheSame) {
  const auto streams_of = [&](Dispatch dispatch) {
    card.executed.clear();
    GraphIssueOptions options;
    options.graph.deps = DependenciesOf("bytes");
    options.streams = 3;
    options.dispatch = dispatch;
    const auto issuer = Issue::TaskGraph(context, options);
    const SpyreTensor x = NewBuffer();
    for (uint64_t i = 0; i < 4; ++i) {
      IssuedTask task = Fill("fill", x, i);
      task.stream = 7;
      issuer->Submit(task);
    }
    std::array<uint64_t, 16> host{};
    issuer->Submit(ReadOut("read", x, host.data()));
    issuer->Synchronize();
    EXPECT_EQ(host[0], 3u) << Name(dispatch);
    std::set<uint32_t> streams;
    for (const auto& done : card.executed)
      if (static_cast<Opcode>(done.block.opcode) == Opcode::DMA_FILL)
        streams.insert(done.block.stream);
    return streams.size();
  };
  EXPECT_EQ(streams_of(Dispatch::kChain), 1u);
  EXPECT_EQ(streams_of(Dispatch::kAffinity), 1u);
  EXPECT_EQ(streams_of(Dispatch::kRoundRobin), 3u);
}

TEST_F(IssueTest, WithoutPoolsAStreamTakesTasksOfEveryUnit) {
  GraphIssueOptions options;
  options.graph.deps = DependenciesOf("bytes");
  options.release = Release::kHost;
  options.streams_per_unit = 1;
  options.pool_by_unit = false;
  const auto issuer = Issue::TaskGraph(context, options);
  std::array<uint64_t, 16> host{};
  for (uint64_t i = 0; i < 6; ++i) {
    const SpyreTensor x = NewBuffer();
    issuer->Submit(Fill("fill", x, i));
    issuer->Submit(ReadOut("read", x, host.data()));
  }
  issuer->Synchronize();
  EXPECT_EQ(issuer->Counts().completed, 12u);
}

TEST_F(IssueTest, ChoicesThatHaveNothingToDecideAreRefused) {
  GraphIssueOptions options;
  options.pool_by_unit = false;
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { Issue::TaskGraph(context, options); }),
              HasSubstr("pools"));
  options.pool_by_unit = true;
  options.release = Release::kHost;
  options.dispatch = Dispatch::kRoundRobin;
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { Issue::TaskGraph(context, options); }),
              HasSubstr("round_robin"));
}

}  // namespace
}  // namespace spyre::runtime
