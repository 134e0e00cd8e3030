// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/scheduling_policy.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "base/error.h"

namespace spyre::flex::scheduling_policy_test {
namespace {

ReadyStreams Ready(std::initializer_list<uint32_t> streams) {
  ReadyStreams ready;
  uint64_t arrival = 0;
  for (const uint32_t stream : streams) ready.Insert(stream, arrival++);
  return ready;
}

std::vector<uint32_t> Picks(SchedulingPolicy& policy, const ReadyStreams& ready, size_t count) {
  std::vector<uint32_t> picked;
  while (picked.size() < count) picked.push_back(policy.Pick(ready));
  return picked;
}

// The most picks in a row that pass over `stream`, which is ready all the time.
size_t LongestWait(const std::vector<uint32_t>& picks, uint32_t stream) {
  size_t longest = 0;
  size_t current = 0;
  for (const uint32_t pick : picks) {
    current = pick == stream ? 0 : current + 1;
    longest = std::max(longest, current);
  }
  return longest;
}

using Streams = std::vector<uint32_t>;

TEST(SchedulingPolicy, FifoTakesTheOldestOperation) {
  ReadyStreams ready;
  ready.Insert(0, 7);
  ready.Insert(3, 5);
  ready.Insert(40, 9);
  EXPECT_EQ(MakeSchedulingPolicy("fifo")->Pick(ready), 3u);
}

TEST(SchedulingPolicy, RoundRobinTakesAllStreamsInTurnAlsoThoseOfHighPriority) {
  const auto policy = MakeSchedulingPolicy("round_robin");
  EXPECT_EQ(Picks(*policy, Ready({0, 2, 5, 40, 64}), 7), (Streams{0, 2, 5, 40, 64, 0, 2}));
  EXPECT_EQ(policy->Pick(Ready({0, 1})), 0u) << "none above 2";
}

TEST(SchedulingPolicy, PriorityServesHighStreamsFirstAndInTurn) {
  const auto policy = MakeSchedulingPolicy("priority");
  EXPECT_EQ(Picks(*policy, Ready({0, 33, 40}), 4), (Streams{33, 40, 33, 40}));
  EXPECT_EQ(Picks(*policy, Ready({0, 1}), 3), (Streams{0, 1, 0}));
}

TEST(SchedulingPolicy, PriorityLetsOneNormalStreamGoAfterTheLimit) {
  const auto policy = MakeSchedulingPolicy("priority", 3);
  EXPECT_EQ(Picks(*policy, Ready({0, 7, 33, 40}), 9), (Streams{33, 40, 33, 0, 40, 33, 40, 7, 33}));
  const auto alone = MakeSchedulingPolicy("priority", 3);
  Picks(*alone, Ready({33}), 10);
  EXPECT_EQ(Picks(*alone, Ready({0, 33}), 4), (Streams{33, 33, 33, 0}))
      << "picks that passed over nobody do not count";
}

TEST(SchedulingPolicy, DrainOneFirstStaysUntilNothingIsReadyOrTheLimit) {
  const auto policy = MakeSchedulingPolicy("drain_one_first", 4);
  EXPECT_EQ(Picks(*policy, Ready({2, 5}), 3), (Streams{2, 2, 2}));
  EXPECT_EQ(policy->Pick(Ready({1, 5})), 5u) << "2 has nothing left";
  EXPECT_EQ(Picks(*policy, Ready({1, 5}), 4), (Streams{5, 5, 5, 1}));
}

TEST(SchedulingPolicy, FairTakesTheLeastDeviceTimeUsed) {
  const auto policy = MakeSchedulingPolicy("fair", 1000);
  const ReadyStreams ready = Ready({1, 2});
  policy->OnReady(1);
  policy->OnReady(2);
  std::map<uint32_t, int> picked;
  for (int i = 0; i < 400; ++i) {
    const uint32_t stream = policy->Pick(ready);
    ++picked[stream];
    policy->OnEntered(stream);
    policy->OnAnswered(stream, stream == 1 ? 300 : 100);
  }
  EXPECT_NEAR(picked[2], 3 * picked[1], 6) << "stream 1 takes three times as long";
}

TEST(SchedulingPolicy, FairCountsWhatIsInTheRing) {
  const auto policy = MakeSchedulingPolicy("fair", 1000);
  for (const uint32_t stream : {1u, 2u}) {
    policy->OnReady(stream);
    policy->OnEntered(stream);
    policy->OnAnswered(stream, 100);
  }
  std::map<uint32_t, int> picked;
  for (int i = 0; i < 10; ++i) {
    const uint32_t stream = policy->Pick(Ready({1, 2}));
    policy->OnEntered(stream);  // and no answer comes
    ++picked[stream];
  }
  EXPECT_EQ(picked[1], 5);
  EXPECT_EQ(picked[2], 5);
  policy->OnEntered(1);
  policy->OnReset();
  picked.clear();
  for (int i = 0; i < 10; ++i) {
    const uint32_t stream = policy->Pick(Ready({1, 2}));
    policy->OnEntered(stream);
    ++picked[stream];
  }
  EXPECT_EQ(picked[1], 5) << "what was in the ring at a reset does not count";
}

TEST(SchedulingPolicy, FairStartsANewStreamAtTheTimeTheOthersHaveReached) {
  const auto policy = MakeSchedulingPolicy("fair", 1000);
  policy->OnReady(1);
  for (int i = 0; i < 100; ++i) {
    policy->OnEntered(policy->Pick(Ready({1})));
    policy->OnAnswered(1, 100);
  }
  policy->OnReady(2);
  std::map<uint32_t, int> picked;
  for (int i = 0; i < 100; ++i) {
    const uint32_t stream = policy->Pick(Ready({1, 2}));
    ++picked[stream];
    policy->OnEntered(stream);
    policy->OnAnswered(stream, 100);
  }
  EXPECT_NEAR(picked[1], picked[2], 2) << "stream 2 does not get the past back";
}

// The bound of each policy, in the worst case that it has.
TEST(SchedulingPolicy, NoReadyStreamWaitsLongerThanTheBound) {
  constexpr uint32_t kLimit = 5;
  const Streams streams = {0, 1, 33, 34};
  const size_t others = streams.size() - 1;
  for (const std::string& name : SchedulingPolicyNames()) {
    if (name == "fifo") continue;  // nothing overtakes at all
    const auto policy = MakeSchedulingPolicy(name, kLimit);
    const ReadyStreams ready = Ready({0, 1, 33, 34});
    for (const uint32_t stream : streams) policy->OnReady(stream);
    // Under fair: streams 0 and 1 are long behind, 33 and 34 take no time at all.
    for (const uint32_t stream : {0u, 1u}) {
      policy->OnEntered(stream);
      policy->OnAnswered(stream, 1'000'000'000);
    }
    const Streams picks = Picks(*policy, ready, 1000);
    const size_t bound = name == "round_robin" ? others : (kLimit + 1) * others - 1;
    for (const uint32_t stream : streams) {
      EXPECT_LE(LongestWait(picks, stream), bound) << name << ", stream " << stream;
    }
  }
}

TEST(SchedulingPolicy, UnknownNameListsTheKnownOnes) {
  try {
    MakeSchedulingPolicy("lottery");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fifo, round_robin, priority, drain_one_first, fair"),
              std::string::npos);
  }
  EXPECT_THROW(MakeSchedulingPolicy("fair", 0), Error);
}

TEST(StreamSet, WalksItsMembersInOrderAcrossWords) {
  StreamSet set;
  EXPECT_TRUE(set.empty());
  for (const uint32_t stream : {64u, 0u, 63u, 31u}) set.Insert(stream);
  set.Insert(5);
  set.Erase(5);
  Streams members;
  for (const uint32_t stream : set) members.push_back(stream);
  EXPECT_EQ(members, (Streams{0, 31, 63, 64}));
  EXPECT_EQ(set.NextInTurn(63), 64u);
  EXPECT_EQ(set.NextInTurn(64), 0u);
  EXPECT_EQ(set.NextInTurn(0, 1, 32), 31u);
  EXPECT_EQ(set.NextInTurn(31, 1, 32), 31u) << "itself, when there is no other";
  EXPECT_EQ(set.NextInTurn(0, 32, 62), StreamSet::kNone);
}

}  // namespace
}  // namespace spyre::flex::scheduling_policy_test
