// SPDX-License-Identifier: Apache-2.0
// Plans of collectives, executed over sets of ranks: afterwards each has what the operation means,
// each term once, and the bytes are those of the algorithm.
#include "runtime/collectives/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/error_of.h"

namespace spyre::runtime::plan_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kStick = 128;

// What a stick is the sum of: how often the stick of each rank at some place is in it.
using Terms = std::map<std::pair<size_t, uint64_t>, int>;
using Area = std::vector<Terms>;

struct Memory {
  Area data, result, inbox;
  Area& At(CollectiveArea area) {
    return area == CollectiveArea::kData ? data : area == CollectiveArea::kResult ? result : inbox;
  }
};

std::vector<Memory> Execute(const CollectivePlan& plan) {
  const uint64_t sticks = plan.call.bytes / kStick;
  std::vector<Memory> ranks(plan.ranks);
  for (size_t rank = 0; rank < plan.ranks; ++rank) {
    for (uint64_t stick = 0; stick < sticks; ++stick)
      ranks[rank].data.push_back({{{rank, stick}, 1}});
    ranks[rank].result.resize(plan.result_bytes / kStick);
    ranks[rank].inbox.resize(plan.inbox_bytes / kStick);
  }
  for (const auto& round : plan.rounds) {
    const std::vector<Memory> before = ranks;
    for (const CollectiveStep& step : round) {
      EXPECT_NE(step.from, step.to);
      EXPECT_GT(step.bytes, 0u);
      for (uint64_t at = 0; at < step.bytes; at += kStick) {
        Memory from = before[step.from];
        const Terms terms = from.At(step.source.area).at((step.source.offset + at) / kStick);
        ranks[step.to].At(step.target.area).at((step.target.offset + at) / kStick) = terms;
        if (!step.adds) continue;
        Terms& sum = ranks[step.to].data.at((step.sum + at) / kStick);
        for (const auto& [term, count] : terms) sum[term] += count;
      }
    }
  }
  return ranks;
}

struct Case {
  Collective collective;
  CollectiveAlgorithm algorithm;
  size_t ranks;
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << TraceName(test.collective) << "By_" << Name(test.algorithm) << "Of" << test.ranks;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (size_t collective = 1; collective < CollectiveNames().size(); ++collective) {
    for (size_t algorithm = 0; algorithm < CollectiveAlgorithmNames().size(); ++algorithm) {
      for (const size_t ranks : {2, 3, 4, 5, 8}) {
        cases.push_back({static_cast<Collective>(collective),
                         static_cast<CollectiveAlgorithm>(algorithm), ranks});
      }
    }
  }
  return cases;
}

class Plans : public ::testing::TestWithParam<Case> {};

TEST_P(Plans, DoWhatTheOperationMeans) {
  const auto [collective, algorithm, ranks] = GetParam();
  std::mt19937 random(static_cast<unsigned>(ranks));
  for (const uint64_t sticks : {uint64_t{1}, uint64_t{random() % 40 + 1}, uint64_t{16}}) {
    CollectiveCall call{collective, algorithm, sticks * kStick, "SEN169_FP16", 0, 0};
    call.root = random() % ranks;
    call.peer = (call.root + 1 + random() % (ranks - 1)) % ranks;
    std::vector<Memory> memory = Execute(PlanCollective(call, ranks));
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (uint64_t stick = 0; stick < sticks; ++stick) {
        Terms sum;
        for (size_t i = 0; i < ranks; ++i) sum[{i, stick}] = 1;
        const CollectiveChunk own = ChunkOf(call.bytes, ranks, rank);
        const bool in_own = stick * kStick >= own.offset && stick * kStick < own.offset + own.bytes;
        const bool summed = collective == Collective::kAllReduce ||
                            (collective == Collective::kReduce && rank == call.root) ||
                            (collective == Collective::kReduceScatter && in_own);
        const bool copied = collective == Collective::kBroadcast ||
                            (collective == Collective::kSend && rank == call.peer);
        if (summed) {
          EXPECT_EQ(memory[rank].data[stick], sum) << rank << " " << stick;
        } else if (!Adds(collective)) {
          const Terms wanted = {{{copied ? call.root : rank, stick}, 1}};
          EXPECT_EQ(memory[rank].data[stick], wanted) << rank << " " << stick;
        }
        const bool gets = collective == Collective::kAllGather ||
                          (collective == Collective::kGather && rank == call.root);
        for (size_t from = 0; gets && from < ranks; ++from) {
          if (from == rank) continue;
          const Terms wanted = {{{from, stick}, 1}};
          EXPECT_EQ(memory[rank].result[from * sticks + stick], wanted) << rank << " of " << from;
        }
      }
    }
  }
}

// Nobody reads or writes in a round what somebody else writes in it.
TEST_P(Plans, HaveRoundsWhoseStepsDoNotTouchEachOther) {
  const auto [collective, algorithm, ranks] = GetParam();
  const CollectivePlan plan =
      PlanCollective({collective, algorithm, 13 * kStick, "SEN169_FP16", 0, 1}, ranks);
  const auto touch = [](uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
  };
  for (const auto& round : plan.rounds) {
    for (size_t i = 0; i < round.size(); ++i) {
      for (size_t j = 0; j < round.size(); ++j) {
        const CollectiveStep &a = round[i], &b = round[j];
        EXPECT_FALSE(a.to == b.from && a.target.area == b.source.area &&
                     touch(a.target.offset, a.bytes, b.source.offset, b.bytes));
        EXPECT_FALSE(a.adds && a.to == b.from && b.source.area == CollectiveArea::kData &&
                     touch(a.sum, a.bytes, b.source.offset, b.bytes));
        EXPECT_FALSE(i < j && a.to == b.to && a.target.area == b.target.area &&
                     touch(a.target.offset, a.bytes, b.target.offset, b.bytes));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, Plans, ::testing::ValuesIn(Cases()),
                         ::testing::PrintToStringParamName());

TEST(PlanBytes, AreThoseOfTheAlgorithm) {
  using C = Collective;
  using A = CollectiveAlgorithm;
  for (const size_t n : {2, 3, 4, 8}) {
    const uint64_t bytes = n * 4 * kStick;
    const auto most = [&](C collective, A algorithm) {
      const CollectivePlan plan =
          PlanCollective({collective, algorithm, bytes, "SEN169_FP16", 0, 1}, n);
      uint64_t sent = 0;
      for (size_t rank = 0; rank < n; ++rank) sent = std::max(sent, plan.BytesFrom(rank));
      return sent;
    };
    const auto all = [&](C collective, A algorithm) {
      const CollectivePlan plan =
          PlanCollective({collective, algorithm, bytes, "SEN169_FP16", 0, 1}, n);
      uint64_t sent = 0;
      for (size_t rank = 0; rank < n; ++rank) sent += plan.BytesFrom(rank);
      return sent;
    };
    for (const A algorithm : {A::kRing, A::kDirect}) {
      EXPECT_EQ(most(C::kAllReduce, algorithm), 2 * (n - 1) * bytes / n);
      EXPECT_EQ(most(C::kReduceScatter, algorithm), (n - 1) * bytes / n);
    }
    for (const A algorithm : {A::kRing, A::kTree, A::kDirect}) {
      EXPECT_EQ(most(C::kAllGather, algorithm), (n - 1) * bytes);
      EXPECT_EQ(all(C::kBroadcast, algorithm), (n - 1) * bytes) << "each gets them once";
    }
    EXPECT_EQ(all(C::kAllReduce, A::kTree), 2 * (n - 1) * bytes);
    EXPECT_EQ(all(C::kReduce, A::kTree), (n - 1) * bytes);
    EXPECT_EQ(all(C::kReduce, A::kDirect), (n - 1) * bytes);
    EXPECT_EQ(most(C::kReduce, A::kRing), bytes);
    EXPECT_EQ(most(C::kBroadcast, A::kRing), bytes);
    EXPECT_EQ(most(C::kBroadcast, A::kDirect), (n - 1) * bytes);
    EXPECT_EQ(all(C::kGather, A::kDirect), (n - 1) * bytes);
    EXPECT_EQ(all(C::kGather, A::kRing), n * (n - 1) / 2 * bytes) << "passed on";
    EXPECT_EQ(all(C::kSend, A::kDirect), bytes);
    EXPECT_EQ(all(C::kBarrier, A::kRing), n * (n - 1) * kStick);
  }
}

TEST(PlanChunks, AreWholeSticksAndTogetherAll) {
  for (const size_t ranks : {1, 2, 3, 4, 8}) {
    for (const uint64_t sticks : {1, 2, 5, 8, 100, 1001}) {
      uint64_t end = 0;
      for (size_t number = 0; number < ranks; ++number) {
        const CollectiveChunk chunk = ChunkOf(sticks * kStick, ranks, number);
        EXPECT_EQ(chunk.offset, end) << "they follow each other";
        EXPECT_EQ(chunk.bytes % kStick, 0u);
        end += chunk.bytes;
      }
      EXPECT_EQ(end, sticks * kStick) << ranks << " ranks";
    }
  }
}

TEST(PlanCalls, ThatMeanNothingAreRefused) {
  const auto refusal = [](const CollectiveCall& call) {
    return test::BadInputOf([&] { PlanCollective(call, 4); });
  };
  CollectiveCall call{Collective::kBroadcast, CollectiveAlgorithm::kAuto, 100, "IEEE_FP16", 0, 1};
  EXPECT_THAT(refusal(call), HasSubstr("broadcast over 100 bytes"));
  call.bytes = kStick;
  call.root = 4;
  EXPECT_THAT(refusal(call), HasSubstr("no rank 4"));
  call = {Collective::kSend, CollectiveAlgorithm::kAuto, kStick, "IEEE_FP16", 1, 1};
  EXPECT_THAT(refusal(call), HasSubstr("to itself"));
}

TEST(PlanCalls, ThatDifferNameBothRanks) {
  const CollectiveCall call{
      Collective::kReduce, CollectiveAlgorithm::kTree, 4096, "SEN169_FP16", 0, 1};
  const auto refusal = [&](const CollectiveCall& other) {
    return test::BadInputOf([&] { CheckSameCall(7, 1, call, 3, other); });
  };
  CheckSameCall(7, 1, call, 3, call);
  CollectiveCall other = call;
  other.bytes = 8192;
  EXPECT_EQ(refusal(other),
            "collective 7: rank 1 calls reduce of 4096 bytes of SEN169_FP16 to rank 0 by tree, and "
            "rank 3 calls reduce of 8192 bytes of SEN169_FP16 to rank 0 by tree; all must call the "
            "same");
  other = call;
  other.type = "IEEE_FP32";
  EXPECT_THAT(refusal(other), HasSubstr("rank 3 calls reduce of 4096 bytes of IEEE_FP32"));
  other = call;
  other.root = 2;
  EXPECT_THAT(refusal(other), HasSubstr("to rank 2"));
  other = call;
  other.collective = Collective::kBarrier;
  EXPECT_THAT(refusal(other), HasSubstr("rank 3 calls barrier by tree"));
}

}  // namespace
}  // namespace spyre::runtime::plan_test
