// SPDX-License-Identifier: Apache-2.0
// The closed form of collectives: times worked out by hand from the card's parameters, and which
// parameter moves what. How far it is from the timed cards: FastListsTest.
#include "cosim/estimate/collective_time.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace spyre::cosim::collective_time_test {
namespace {

using runtime::Collective;
using runtime::CollectiveAlgorithm;

CollectiveTerms Terms() {
  CollectiveTerms terms;
  terms.host = {50, 150, 1100, 300};
  terms.addition_ns = [](uint64_t) { return 5000.0; };
  return terms;
}

std::vector<RankTime> Times(Collective collective, CollectiveAlgorithm algorithm, uint64_t bytes,
                            size_t ranks, const CollectiveTerms& terms = Terms()) {
  runtime::CollectiveCall call;
  call.collective = collective;
  call.algorithm = algorithm;
  call.bytes = bytes;
  return TimesOf(runtime::PlanCollective(call, ranks), terms);
}

double EndOf(const std::vector<RankTime>& times) {
  return std::max_element(times.begin(), times.end(),
                          [](const RankTime& a, const RankTime& b) { return a.end_ns < b.end_ns; })
      ->end_ns;
}

// One stick: entry and doorbell; to the card, a read of the entry, decode, dispatch, set-up, a read
// of memory; a packet on two wires; response and interrupt. Each way between card and host is
// 250 + 115 + 150 ns.
TEST(CollectiveTime, ASmallSendIsTheWayOfAQueueEntry) {
  const auto times = Times(Collective::kSend, CollectiveAlgorithm::kDirect, 128, 2);
  const double way = 250 + 115 + 150;
  const double read = 2 * way + 150, memory = 70 + 18.75 + 21.25;
  EXPECT_NEAR(times[0].end_ns, 150 + 50 + way + read + 50 + 200 + 100 + memory + 50 + way + 1100,
              5);
  EXPECT_EQ(times[0].send_ns, times[0].end_ns);
  EXPECT_EQ(times[1].wait_ns, times[0].end_ns);  // its host is told
}

// A card has room for 4 KiB, which comes back after a packet, one way and the return of credits.
TEST(CollectiveTime, LargeSendsAreHeldBackByTheRoomOfTheReceiver) {
  constexpr uint64_t kMiB = 1 << 20;
  const auto slope = [](const CollectiveTerms& terms) {
    const auto time = [&](uint64_t bytes) {
      return Times(Collective::kSend, CollectiveAlgorithm::kDirect, bytes, 2, terms)[0].end_ns;
    };
    return kMiB / (time(2 * kMiB) - time(kMiB));
  };
  EXPECT_NEAR(slope(Terms()), 4096 / (250 + 300 + 544 / 63.015), 0.01);
  CollectiveTerms room = Terms();
  room.card.pcie.card_posted_data *= 2;
  EXPECT_NEAR(slope(room), 2 * slope(Terms()), 0.01);
  room.card.pcie.card_posted_data = room.card.pcie.card_posted_headers = 1 << 20;
  EXPECT_NEAR(slope(room), 63.015 * 512 / 544, 0.1) << "the wire";
}

TEST(CollectiveTime, AnAdditionComesBehindItsDataAndEndsWithItsKernel) {
  CollectiveTerms slow = Terms();
  slow.addition_ns = [](uint64_t) { return 15000.0; };
  for (const auto algorithm : {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree}) {
    const auto usual = Times(Collective::kReduce, algorithm, 65536, 2);
    const auto longer = Times(Collective::kReduce, algorithm, 65536, 2, slow);
    EXPECT_NEAR(longer[0].compute_ns - usual[0].compute_ns, 10000, 1);
    EXPECT_GT(usual[0].compute_ns, 5000 + 2000);
  }
}

TEST(CollectiveTime, MoreCardsAndMoreBytesTakeLonger) {
  for (const auto collective : {Collective::kAllReduce, Collective::kBroadcast,
                                Collective::kAllGather, Collective::kGather}) {
    for (const auto algorithm :
         {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree, CollectiveAlgorithm::kDirect}) {
      const double base = EndOf(Times(collective, algorithm, 1 << 20, 4));
      EXPECT_GT(EndOf(Times(collective, algorithm, 1 << 20, 8)), base) << Name(collective);
      EXPECT_GT(EndOf(Times(collective, algorithm, 1 << 21, 4)), 1.5 * base) << Name(collective);
    }
  }
}

// Everything that a rank does is in one of the three parts.
TEST(CollectiveTime, PartsAddUp) {
  for (const size_t ranks : {2, 3, 8}) {
    for (const RankTime& time :
         Times(Collective::kAllReduce, CollectiveAlgorithm::kRing, 1 << 20, ranks))
      EXPECT_NEAR(time.send_ns + time.wait_ns + time.compute_ns, time.end_ns, 1e-3);
  }
}

}  // namespace
}  // namespace spyre::cosim::collective_time_test
