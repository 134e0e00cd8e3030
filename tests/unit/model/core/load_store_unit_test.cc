// SPDX-License-Identifier: Apache-2.0
// The window of bursts in flight, in exact cycles: the ring answers after 1000 cycles.
#include <algorithm>

#include "tests/unit/model/core/core_bench.h"

namespace spyre::model::load_store_unit_test {
namespace {

constexpr uint64_t kLatency = 1000;

struct LoadStoreUnitTest : testing::Test {
  LoadStoreUnitTest() { bench.ring_cycles = kLatency; }

  // One load (or store) of `bursts` x 4 KiB, for the cores of `group`.
  static std::string Move(const std::string& op, uint64_t bursts, uint64_t group = 0) {
    return fmt::format(
        ".program p\n.cores 0x1\n.lx 2031616\n.section {} 0x1\n"
        "  li r1, {}\n  li r2, 1\n  li r3, {}\n  {} r0, r0, r1, r2, r0, r0, r2, r0, r0{}\n",
        op, bursts * 4096, group, op, op == "load" ? ", r3" : "");
  }
  // How many bursts are in flight at most: each takes kLatency.
  size_t MostInFlight() const {
    size_t most = 0;
    for (size_t i = 0; i < bench.asked.size(); ++i) {
      const uint64_t gone = bench.asked[i] < kLatency ? 0 : bench.asked[i] - kLatency;
      most = std::max<size_t>(most,
                              i + 1 -
                                  (std::upper_bound(bench.asked.begin(), bench.asked.end(), gone) -
                                   bench.asked.begin()));
    }
    return most;
  }

  CoreBench bench;
};

TEST_F(LoadStoreUnitTest, FourUnicastLoadsAreInFlight) {
  EXPECT_EQ(bench.Run(Move("load", 12)), Status::OK);
  ASSERT_EQ(bench.asked.size(), 12u);
  EXPECT_EQ(MostInFlight(), 4u);
  EXPECT_EQ(bench.asked[4], bench.asked[0] + kLatency) << "cycles: the first has come back";
  EXPECT_EQ(bench.asked[3], bench.asked[0] + 3) << "cycles: one burst a cycle";
}

// The room is that of four bursts of 4 KiB. Of stores four are in flight, whatever their size.
TEST_F(LoadStoreUnitTest, AsManyShortLoadsAreInFlightAsTheirBytesHaveRoomFor) {
  for (const auto& [op, bytes, group, in_flight] :
       {std::tuple("load", 128, 0, 128u), std::tuple("load", 1024, 0, 16u),
        std::tuple("load", 3072, 0, 5u), std::tuple("load", 512, 3, 32u),
        std::tuple("store", 512, 0, 4u)}) {
    bench.asked.clear();
    const std::string text = fmt::format(
        ".program p\n.cores 0x1\n.lx 2031616\n.section {0} 0x1\n  li r1, {1}\n  li r2, 1\n"
        "  li r3, {2}\n  li r4, 200\n  li r5, 4096\n  {0} r0, r0, r1, r4, r5, r1, r2, r0, r0{3}\n",
        op, bytes, group, op == std::string("load") ? ", r3" : "");
    EXPECT_EQ(bench.Run(text), Status::OK);
    EXPECT_EQ(bench.asked.size(), 200u);
    EXPECT_EQ(MostInFlight(), in_flight) << op << " of " << bytes << " bytes";
  }
}

TEST_F(LoadStoreUnitTest, MulticastsHaveAWindowOfTheirOwn) {
  bench.config.core.outstanding_multicasts = 8;
  EXPECT_EQ(bench.Run(Move("load", 24, 3)), Status::OK);
  EXPECT_EQ(MostInFlight(), 8u);
}

TEST_F(LoadStoreUnitTest, StoresPassTheLxPortFirst) {
  bench.config.core.lx_port_bytes_per_cycle = 128;
  EXPECT_EQ(bench.Run(Move("store", 3)), Status::OK);
  ASSERT_EQ(bench.asked.size(), 3u);
  EXPECT_EQ(bench.asked[1] - bench.asked[0], 32u) << "cycles of a burst on the port";
}

TEST_F(LoadStoreUnitTest, AnEmptyLoadEndsBehindTheLoadsBeforeIt) {
  const std::string text = Move("load", 1) +
                           "  load r0, r0, r0, r2, r0, r0, r2, r0, r0, r3 signal=t1\n"
                           ".section pt 0x1\n  nop wait=t1\n";
  EXPECT_EQ(bench.Run(text), Status::OK);
  EXPECT_GE(bench.LostCycles("pt", Loss::kTokenWait), kLatency)
      << "cycles: the token comes with the data of the load before";
}

TEST_F(LoadStoreUnitTest, TheTimeOfBurstsIsThatOfWhatTheyPassed) {
  bench.partner_cycles = 70;
  bench.memory_cycles = 300;
  EXPECT_EQ(bench.Run(Move("load", 5, 3)), Status::OK);
  EXPECT_EQ(bench.LostCycles("load", Loss::kLoadPartners), 5u * 70);
  EXPECT_EQ(bench.LostCycles("load", Loss::kLoadMemory), 5u * 300);
  EXPECT_EQ(bench.LostCycles("load", Loss::kLoadRing), 5u * kLatency);
  EXPECT_EQ(bench.Run(Move("load", 2)), Status::OK);
  EXPECT_EQ(bench.LostCycles("load", Loss::kLoadRing), 7u * kLatency) << "of unicasts too";
  EXPECT_EQ(bench.LostCycles("load", Loss::kLoadMemory), 5u * 300);
}

TEST_F(LoadStoreUnitTest, LoadsThatMeetAtTheLxPortWaitForIt) {
  bench.config.core.lx_port_bytes_per_cycle = 64;
  EXPECT_EQ(bench.Run(Move("load", 4)), Status::OK);
  EXPECT_GE(bench.LostCycles("load", Loss::kLoadLx), 3u * 32)
      << "cycles: a burst takes 64 on the port, and the ring brings one each cycle";
}

TEST_F(LoadStoreUnitTest, ARefusedBurstEndsTheJob) {
  bench.ring_status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
  EXPECT_EQ(bench.Run(Move("load", 12)), Status::PAGE_FAULT);
  EXPECT_LE(bench.asked.size(), 5u) << "bursts: no new ones after the first has failed";
  bench.ring_status = tlm::TLM_OK_RESPONSE;
  EXPECT_EQ(bench.Run(Move("load", 12)), Status::OK) << "the next job starts afresh";
}

// 32 sticks that indices choose are 32 requests; 32 that lie side by side are one.
TEST_F(LoadStoreUnitTest, SticksThatIndicesChooseAreRequestsOfTheirOwn) {
  const std::string head = ".program p\n.cores 0x1\n.lx 2031616\n.section load 0x1\n";
  EXPECT_EQ(bench.Run(head + "  li r1, 4096\n  li r2, 1\n  li r3, 0\n"
                             "  load r0, r0, r1, r2, r0, r0, r2, r0, r0, r3\n"),
            Status::OK);
  EXPECT_EQ(bench.asked.size(), 1u);
  bench.asked.clear();
  EXPECT_EQ(bench.Run(head + "  li r1, 128\n  li r2, 1\n  li r3, 0\n  li r4, 32\n"
                             "  loop r5, r4\n    madd r6, r0, r5, 4\n    ldx r7, r6, r0, 1000\n"
                             "    madd r8, r0, r7, 128\n"
                             "    load r0, r8, r1, r2, r0, r0, r2, r0, r0, r3\n  end\n"),
            Status::OK);
  EXPECT_EQ(bench.asked.size(), 32u);
}

TEST_F(LoadStoreUnitTest, AnIndexNeedsAnAddressAndARange) {
  const std::string head = ".program p\n.cores 0x1\n.lx 2031616\n.section load 0x1\n";
  EXPECT_EQ(bench.Run(head + "  li r1, 2\n  ldx r2, r1, r0, 10\n"), Status::ILLEGAL_INSTRUCTION)
      << "not a multiple of 4";
  EXPECT_EQ(bench.Run(head + "  ldx r2, r0, r0, 0\n"), Status::ILLEGAL_INSTRUCTION)
      << "a range without a number";
  EXPECT_NE(bench.Run(head + "  li r1, 2097152\n  ldx r2, r1, r0, 10\n"), Status::OK)
      << "behind LX";
}

}  // namespace
}  // namespace spyre::model::load_store_unit_test
