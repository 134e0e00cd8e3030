// SPDX-License-Identifier: Apache-2.0
// The PCIe link in exact picoseconds. A byte of Gen5 x16 takes 13 us / 819,200 = 15.869140625 ps; a
// packet of b bytes takes b + 8 framing + 8 DLLP + 16 (request) or 12 (completion) bytes.
#include "model/pcie/link.h"

#include <gtest/gtest.h>

namespace spyre::model::link_test {
namespace {

constexpr uint64_t kOneWay = 250'000;
constexpr uint64_t kHostMemory = 150'000;
constexpr uint64_t kCreditReturn = 300'000;
constexpr uint64_t kRequest = 8 + 8 + 16;     // bytes of a read request
constexpr uint64_t kCompletion = 8 + 8 + 12;  // and of a completion, without its data
constexpr uint64_t kWrite = 8 + 8 + 16;
constexpr uint64_t kHost = 0x100000000;

class PcieLinkTest : public ::testing::Test {
 protected:
  PcieLink Make(bool contended = true) const { return PcieLink(config_, contended, nullptr); }
  // `bytes` on the wire from `ps` on, and out of host memory.
  static uint64_t Wire(uint64_t ps, uint64_t bytes) { return Clock(819'200, 13).After(ps, bytes); }
  uint64_t Memory(uint64_t ps, uint64_t bytes) const {
    return Clock(config_.host_memory_bytes_per_us).After(ps, bytes);
  }
  // When the first `share` bytes of a read given at `ps` are ready to leave the host.
  uint64_t FirstReady(uint64_t ps, uint64_t share = 512) const {
    return Memory(Wire(ps, kRequest) + kOneWay, share) + kHostMemory;
  }

  PcieConfig config_;
};

TEST_F(PcieLinkTest, ARegisterWriteIsOnePacketOneWay) {
  PcieLink link = Make();
  EXPECT_EQ(link.WriteCard(0, 0x40, 4), 572 + kOneWay) << "ps: 36 bytes are 571.3";
}

TEST_F(PcieLinkTest, ARegisterReadIsARequestAndACompletion) {
  PcieLink link = Make();
  const uint64_t at_card = link.RequestFromCard(0);
  EXPECT_EQ(at_card, 508 + kOneWay) << "ps: 32 bytes are 507.8";
  const uint64_t ready = at_card + 50'000;
  EXPECT_EQ(link.CompleteToHost(ready, 0x40, 4), Wire(ready, 32) + kOneWay);
}

TEST_F(PcieLinkTest, AReadIsItsRequestHostMemoryAndItsCompletions) {
  PcieLink link = Make();
  const PcieLink::Times times = link.ReadHost(0, kHost, 4096, 0);
  EXPECT_EQ(times.arrived_ps, 508 + kOneWay);
  EXPECT_EQ(FirstReady(0), 508 + kOneWay + 2'560 + kHostMemory + 2)
      << "ps: 512 bytes of 5 ps from the next whole byte on";
  EXPECT_EQ(times.done_ps, Wire(FirstReady(0), 8 * (kCompletion + 512)) + kOneWay);
}

TEST_F(PcieLinkTest, AWriteIsDoneWhenItsLastPacketHasLeft) {
  PcieLink link = Make();
  const PcieLink::Times times = link.WriteHost(0, kHost, 4096, 0);
  EXPECT_EQ(times.done_ps, Wire(0, 8 * (kWrite + 512)));
  EXPECT_EQ(times.arrived_ps, times.done_ps + kOneWay);
}

TEST_F(PcieLinkTest, LargeReadsRunAtTheLinkLessCompletionOverhead) {
  PcieLink link = Make();
  uint64_t done = 0;
  for (uint64_t i = 0; i < 1600; ++i) done = link.ReadHost(0, kHost + i * 4096, 4096, 0).done_ps;
  // 63,015.4 bytes/us x 512/540 = 59,747.9 bytes/us.
  const uint64_t wire = 1600 * 8 * (512 + kCompletion);
  EXPECT_EQ(done, Wire(FirstReady(0), wire) + kOneWay) << "no gap in " << wire << " bytes";
  EXPECT_EQ(Wire(0, wire), 109'687'500u) << "ps for 6,553,600 bytes of data";
}

TEST_F(PcieLinkTest, LargeWritesRunAtTheLinkLessRequestOverhead) {
  PcieLink link = Make();
  uint64_t done = 0;
  for (uint64_t i = 0; i < 1600; ++i) done = link.WriteHost(0, kHost + i * 4096, 4096, 0).done_ps;
  // 63,015.4 bytes/us x 512/544 = 59,308.6 bytes/us.
  EXPECT_EQ(done, 110'500'000u) << "ps for 6,963,200 bytes on the wire";
}

TEST_F(PcieLinkTest, CompletionsEndOnReadCompletionBoundaries) {
  PcieLink link = Make();
  // 0x1030 + 464 is a multiple of 64; then 512; then 24.
  const PcieLink::Times times = link.ReadHost(0, 0x1030, 1000, 0);
  EXPECT_EQ(times.done_ps, Wire(FirstReady(0, 464), 3 * kCompletion + 1000) + kOneWay);
}

TEST_F(PcieLinkTest, NoRequestCrossesFourKibibytes) {
  PcieLink link = Make();
  link.ReadHost(0, kHost + 0x800, 4096, 0);
  EXPECT_EQ(link.Statistics()[0].requests, 2u) << "read requests";
  link.WriteHost(0, kHost + 0xF00, 512, 0);
  EXPECT_EQ(link.Statistics()[0].requests, 2u + 2u) << "and two writes of 256";
}

TEST_F(PcieLinkTest, PayloadIsWholeAlignedWords) {
  PcieLink link = Make();
  EXPECT_EQ(link.WriteHost(0, kHost + 3, 2, 0).done_ps, Wire(0, kWrite + 8)) << "bytes 3 and 4";
}

TEST_F(PcieLinkTest, AWriterWithoutHeaderCreditsWaitsForTheOldestToReturn) {
  config_.host_posted_headers = 2;
  PcieLink link = Make();
  const uint64_t first = link.WriteHost(0, kHost, 512, 0).done_ps;
  const uint64_t second = link.WriteHost(0, kHost, 512, 0).done_ps;
  EXPECT_EQ(second, Wire(0, 2 * (kWrite + 512)));
  const uint64_t returned = Memory(first + kOneWay, 512) + kCreditReturn;
  EXPECT_EQ(link.WriteHost(0, kHost, 512, 0).done_ps, Wire(returned, kWrite + 512));
}

TEST_F(PcieLinkTest, AWriterWithoutDataCreditsWaitsUntilThereAreEnough) {
  config_.host_posted_data = 40;  // 640 bytes
  PcieLink link = Make();
  const uint64_t first = link.WriteHost(0, kHost, 512, 0).done_ps;
  EXPECT_EQ(link.WriteHost(0, kHost, 128, 0).done_ps, Wire(0, 2 * kWrite + 640)) << "fits";
  const uint64_t returned = Memory(first + kOneWay, 512) + kCreditReturn;
  EXPECT_EQ(link.WriteHost(0, kHost, 512, 0).done_ps, Wire(returned, kWrite + 512));
}

TEST_F(PcieLinkTest, TheHostWaitsForTheCardsCredits) {
  config_.card_posted_headers = 1;
  PcieLink link = Make();
  const uint64_t arrived = link.WriteCard(0, 0, 4);
  EXPECT_EQ(link.WriteCard(0, 4, 4), Wire(arrived + kCreditReturn, 36) + kOneWay);
}

TEST_F(PcieLinkTest, AReaderWithoutRequestCreditsWaits) {
  config_.host_nonposted_headers = 1;
  PcieLink link = Make();
  const uint64_t arrived = link.ReadHost(0, kHost, 64, 0).arrived_ps;
  EXPECT_EQ(link.ReadHost(0, kHost, 64, 0).arrived_ps,
            Wire(arrived + kCreditReturn, kRequest) + kOneWay);
}

TEST_F(PcieLinkTest, AReaderWithoutTagsWaitsForACompletion) {
  config_.tags = 1;
  PcieLink link = Make();
  const uint64_t done = link.ReadHost(0, kHost, 64, 0).done_ps;
  EXPECT_EQ(link.ReadHost(0, kHost, 64, 0).arrived_ps, Wire(done, kRequest) + kOneWay);
}

TEST_F(PcieLinkTest, AReaderWithoutRoomForCompletionsWaits) {
  config_.completion_buffer_bytes = 4096;
  PcieLink link = Make();
  const uint64_t done = link.ReadHost(0, kHost, 4096, 0).done_ps;
  EXPECT_EQ(link.ReadHost(0, kHost, 4096, 0).arrived_ps, Wire(done, kRequest) + kOneWay);
}

TEST_F(PcieLinkTest, ASlowHostMemoryPacesReads) {
  config_.host_memory_bytes_per_us = 10'000;  // 100 ps a byte
  PcieLink link = Make();
  uint64_t done = 0;
  for (int i = 0; i < 100; ++i) done = link.ReadHost(0, kHost, 4096, 0).done_ps;
  const uint64_t ready = Memory(508 + kOneWay, 100 * 4096) + kHostMemory;
  EXPECT_EQ(done, Wire(ready, kCompletion + 512) + kOneWay);
}

// A packet given later has the wire from 10 ns on; a write given before does not fit in front of it
// and goes behind. What follows that write would fit, and must not.
class PcieOrderTest : public PcieLinkTest {
 protected:
  PcieLink link_ = Make();
  uint64_t later_ = link_.WriteHost(10'000, kHost, 512, 0).done_ps;
  uint64_t response_ = link_.WriteHost(5'000, kHost, 512, 0).done_ps;
};

TEST_F(PcieOrderTest, AMessageDoesNotOvertakeTheResponseItAnnounces) {
  ASSERT_EQ(response_, Wire(later_, kWrite + 512));
  EXPECT_EQ(link_.WriteHost(6'000, 0xFEE00000, 4, 0).done_ps, Wire(response_, kWrite + 4));
}

TEST_F(PcieOrderTest, AReadRequestDoesNotOvertakeAWrite) {
  EXPECT_EQ(link_.ReadHost(6'000, kHost, 64, 0).arrived_ps, Wire(response_, kRequest) + kOneWay);
}

TEST_F(PcieOrderTest, ACompletionDoesNotOvertakeAWrite) {
  EXPECT_EQ(link_.CompleteToHost(6'000, 0, 4), Wire(response_, kCompletion + 4) + kOneWay);
}

TEST_F(PcieOrderTest, WhatWasGivenEarlierDoesNotWait) {
  EXPECT_EQ(link_.WriteHost(1'000, kHost, 64, 0).done_ps, Wire(1'000, kWrite + 64));
}

TEST_F(PcieLinkTest, AWriteOvertakesAReadThatWaitsForCredits) {
  config_.host_nonposted_headers = 1;
  PcieLink link = Make();
  link.ReadHost(0, kHost, 64, 0);
  link.ReadHost(0, kHost, 64, 0);
  EXPECT_EQ(link.WriteHost(0, kHost, 64, 0).done_ps, Wire(0, kRequest + kWrite + 64));
}

TEST_F(PcieLinkTest, WithoutContentionOnlyLatenciesCount) {
  config_.tags = 1;
  config_.host_posted_headers = 1;
  PcieLink link = Make(false);
  const uint64_t done = link.ReadHost(0, kHost, 512, 0).done_ps;
  EXPECT_EQ(link.ReadHost(0, kHost, 512, 0).done_ps, done);
  const uint64_t left = link.WriteHost(0, kHost, 512, 0).done_ps;
  EXPECT_EQ(link.WriteHost(0, kHost, 512, 0).done_ps, left);
}

TEST_F(PcieLinkTest, HalfTheLanesTakeTwiceTheTime) {
  config_.lanes = 8;
  PcieLink link = Make();
  EXPECT_EQ(link.WriteHost(0, kHost, 512, 0).done_ps, Clock(409'600, 13).After(0, kWrite + 512));
}

}  // namespace
}  // namespace spyre::model::link_test
