// SPDX-License-Identifier: Apache-2.0
// Where and when tasks go to the card: dispatch, pools, timing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "base/error.h"
#include "tests/unit/error_of.h"
#include "tests/unit/runtime/spyre/issue/issue_fixture.h"

namespace spyre::runtime::issue_policies_test {
namespace {

using test::ErrorOf;
using ::testing::ElementsAre;
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

TEST(InterleavedOrder, TakesOneTaskOfEachStreamInTurn) {
  // Three of stream 5, then two of stream 1, then one of stream 9.
  const std::vector<InterleavedTask> tasks = {{5, {}}, {5, {}}, {5, {}}, {1, {}}, {1, {}}, {9, {}}};
  EXPECT_THAT(InterleavedOrder(tasks, 6), ElementsAre(0, 3, 5, 1, 4, 2));
  EXPECT_THAT(InterleavedOrder(tasks, 4), ElementsAre(0, 3, 1, 2, 4, 5)) << "in groups of four";
  EXPECT_THAT(InterleavedOrder(tasks, 1), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(InterleavedOrder, AStreamThatWaitsForALaterTurnMissesItsOwn) {
  // Stream 1 waits for the second task of stream 0.
  const std::vector<InterleavedTask> tasks = {{0, {}}, {0, {}}, {0, {}}, {1, {1}}, {1, {}}};
  EXPECT_THAT(InterleavedOrder(tasks, 5), ElementsAre(0, 1, 3, 2, 4));
}

TEST_F(IssueTest, InterleavedStreamsTakeTurnsOnTheCard) {
  StreamIssueOptions options;
  options.pacing = {IssueTiming::kInterleaved, 6, 1};
  const auto issuer = Issue::Streams(context, options);
  const auto fill_on = [&](uint32_t stream) {
    IssuedTask task = Fill("fill", NewBuffer(), 1);
    task.stream = stream;
    return task;
  };
  for (const uint32_t stream : {3u, 4u})
    for (int i = 0; i < 3; ++i) issuer->Submit(fill_on(stream));
  issuer->Submit(fill_on(4));  // the group after, which Synchronize completes
  issuer->Synchronize();
  std::vector<uint32_t> streams;
  for (const auto& done : card.executed)
    if (static_cast<Opcode>(done.block.opcode) == Opcode::DMA_FILL)
      streams.push_back(done.block.stream);
  EXPECT_THAT(streams, ElementsAre(3, 4, 3, 4, 3, 4, 4));
  EXPECT_EQ(issuer->Counts().completed, 7u);
}

TEST_F(IssueTest, AGroupThatIsNotFullIsIssuedWhenItsIssuerGoes) {
  StreamIssueOptions options;
  options.pacing = {IssueTiming::kInterleaved, 100, 1};
  auto issuer = Issue::Streams(context, options);
  const SpyreTensor x = NewBuffer();
  IssuedTask fill = Fill("fill", x, 7);
  fill.stream = 3;
  issuer->Submit(fill);
  issuer.reset();
  std::array<uint64_t, 16> host{};
  const auto other = Issue::Streams(context);
  IssuedTask read = ReadOut("read", x, host.data());
  read.stream = 3;
  other->Submit(read);
  other->Synchronize();
  EXPECT_EQ(host[0], 7u);
}

TEST_F(IssueTest, InterleavedTasksStillComeAfterWhatTheyNeed) {
  StreamIssueOptions options;
  options.pacing = {IssueTiming::kInterleaved, 100, 1};
  const auto issuer = Issue::Streams(context, options);
  const SpyreTensor x = NewBuffer();
  std::array<uint64_t, 16> host{};
  TaskId last = 0;
  for (uint64_t i = 0; i < 5; ++i) {
    IssuedTask fill = Fill("fill", x, i);
    fill.stream = 3;
    last = issuer->Submit(fill);
  }
  IssuedTask read = ReadOut("read", x, host.data());
  read.stream = 4;
  read.after = {last};
  issuer->Submit(read);
  issuer->Synchronize();
  EXPECT_EQ(host[0], 4u);
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

// The 64-bit FNV-1a hashes of "a", "b" and "c", as published: ...ec8c, ...f1a5 and ...eff2.
TEST_F(IssueTest, HashDispatchGoesByTheHashOfStreamOrName) {
  GraphIssueOptions options;
  options.graph.deps = DependenciesOf("explicit");
  options.streams = 4;
  options.dispatch = Dispatch::kHash;
  const auto issuer = Issue::TaskGraph(context, options);
  for (const char* name : {"a", "b", "a", "c", "b"}) issuer->Submit(Fill(name, NewBuffer(), 1));
  issuer->Synchronize();
  std::vector<uint32_t> streams;
  for (const auto& done : card.executed)
    if (static_cast<Opcode>(done.block.opcode) == Opcode::DMA_FILL)
      streams.push_back(done.block.stream);
  ASSERT_EQ(streams.size(), 5u);
  const int64_t first = streams[0];  // 0xaf63dc4c8601ec8c % 4 = 0
  std::vector<int64_t> distances;
  for (const uint32_t stream : streams) distances.push_back(stream - first);
  EXPECT_THAT(distances, ElementsAre(0, 0xaf63df4c8601f1a5 % 4, 0, 0xaf63de4c8601eff2 % 4,
                                     0xaf63df4c8601f1a5 % 4));
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
  options.pacing.timing = IssueTiming::kInterleaved;
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { Issue::TaskGraph(context, options); }),
              HasSubstr("interleaved"));
  options.pacing.timing = IssueTiming::kImmediate;
  options.release = Release::kHost;
  options.dispatch = Dispatch::kRoundRobin;
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { Issue::TaskGraph(context, options); }),
              HasSubstr("round_robin"));
}

}  // namespace
}  // namespace spyre::runtime::issue_policies_test
