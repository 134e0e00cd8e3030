// SPDX-License-Identifier: Apache-2.0
// The PCIe switch in exact picoseconds. A byte of Gen5 x16 takes 13 us / 819,200; a packet of b
// bytes takes b + 8 framing + 8 DLLP + 16 (request) or 12 (completion) bytes.
#include "model/pcie_switch/pcie_switch.h"

#include <gtest/gtest.h>

namespace spyre::model::pcie_switch_test {
namespace {

constexpr uint64_t kOneWay = 250'000;    // of a card's link
constexpr uint64_t kForward = 115'000;   // through the switch
constexpr uint64_t kUplink = 150'000;    // one way to the host
constexpr uint64_t kPeerRead = 150'000;  // memory window
constexpr uint64_t kWrite = 8 + 8 + 16;  // bytes of a packet beside its data
constexpr uint64_t kCompletion = 8 + 8 + 12;
constexpr uint64_t kWindow = uint64_t{1} << 44;  // of card 1
constexpr uint64_t kHost = 0x100000000;

// Nothing is simulated: links say when, and the cards are there for their links.
class PcieSwitchTest : public ::testing::Test {
 protected:
  PcieSwitchTest() {
    for (PcieEndpoint* card : {&a_, &b_, &c_}) switch_.AddPort(*card);
    switch_.AllowPeer(0, 0, 1, kWindow, 1 << 20);
    switch_.AllowPeer(2, 0, 1, kWindow, 1 << 20);
  }
  static uint64_t Wire(uint64_t ps, uint64_t bytes) { return Clock(819'200, 13).After(ps, bytes); }
  // A packet that leaves a card at 0, at the port that it goes on by.
  static uint64_t Forwarded(uint64_t bytes) { return Wire(0, bytes) + kOneWay + kForward; }

  // With as much room for posted writes as a root complex has.
  static CardConfig Roomy() {
    CardConfig config;
    config.pcie.card_posted_headers = config.pcie.host_posted_headers;
    config.pcie.card_posted_data = config.pcie.host_posted_data;
    return config;
  }

  const CardConfig config_ = Roomy();
  PcieEndpoint a_{"a", config_, nullptr}, b_{"b", config_, nullptr}, c_{"c", config_, nullptr};
  PcieSwitch switch_{"switch", SwitchConfig{}, config_.pcie, true, nullptr};
};

TEST_F(PcieSwitchTest, AWriteToAPeerTakesBothLinksAndTheSwitch) {
  const PcieLink::Times times = a_.link().WriteHost(0, kWindow, 512, 0);
  EXPECT_EQ(times.done_ps, Wire(0, kWrite + 512)) << "posted: done when it has left";
  EXPECT_EQ(times.arrived_ps, Wire(Forwarded(kWrite + 512), kWrite + 512) + kOneWay);
}

TEST_F(PcieSwitchTest, PacketsOfALongWriteFollowEachOtherAtTheRateOfTheLink) {
  const PcieLink::Times times = a_.link().WriteHost(0, kWindow, 4096, 0);
  EXPECT_EQ(times.done_ps, Wire(0, 8 * (kWrite + 512)));
  const uint64_t last = Wire(0, 8 * (kWrite + 512)) + kOneWay + kForward;
  EXPECT_NEAR(static_cast<double>(times.arrived_ps),
              static_cast<double>(Wire(last, kWrite + 512) + kOneWay), 16)
      << "ps: packets start at whole bytes of the link";
}

TEST_F(PcieSwitchTest, TwoSendersToOneCardShareItsLink) {
  const uint64_t first = a_.link().WriteHost(0, kWindow, 512, 0).arrived_ps;
  const uint64_t second = c_.link().WriteHost(0, kWindow + 4096, 512, 0).arrived_ps;
  EXPECT_EQ(first, Wire(Forwarded(kWrite + 512), kWrite + 512) + kOneWay);
  EXPECT_EQ(second, Wire(first - kOneWay, kWrite + 512) + kOneWay) << "it waits for the first";
}

TEST_F(PcieSwitchTest, ASenderToABusyPortIsSlowedDownByItsCredits) {
  // Both send 1 MiB at full rate to one link, which takes the sum of both.
  uint64_t left = 0;
  for (uint64_t offset = 0; offset < 1 << 20; offset += 4096) {
    a_.link().WriteHost(0, kWindow + offset, 4096, 0);
    left = c_.link().WriteHost(0, kWindow + offset, 4096, 0).done_ps;
  }
  const uint64_t alone = Wire(0, 2048 * (kWrite + 512));
  EXPECT_GT(left, alone * 18 / 10) << "ps: twice the time of one sender, but for what is buffered";
  EXPECT_LT(left, alone * 21 / 10);
}

TEST_F(PcieSwitchTest, ACardWithRoomForRegisterWritesOnlyIsWrittenAtTheRateOfItsCredits) {
  const CardConfig narrow;
  PcieEndpoint from("from", narrow, nullptr), to("to", narrow, nullptr);
  PcieSwitch two("two", SwitchConfig{}, narrow.pcie, true, nullptr);
  for (PcieEndpoint* card : {&from, &to}) two.AddPort(*card);
  two.AllowPeer(0, 0, 1, kWindow, 1 << 20);
  uint64_t left = 0;
  for (uint64_t offset = 0; offset < 1 << 20; offset += 4096)
    left = from.link().WriteHost(0, kWindow + offset, 4096, 0).done_ps;
  // 4,096 bytes, and then one way and the credits' way back, 256 times but for what is buffered.
  const uint64_t round = kOneWay + narrow.pcie.credit_return_ns * 1000;
  EXPECT_GT(left, 230 * round);
  EXPECT_LT(left, 260 * round);
}

TEST_F(PcieSwitchTest, WhatIsNotOpenedGoesToTheHostByTheUplinkThatAllShare) {
  const uint64_t first = b_.link().WriteHost(0, kWindow, 512, 0).arrived_ps;
  EXPECT_EQ(first, Wire(Forwarded(kWrite + 512), kWrite + 512) + kUplink)
      << "card 1 may reach no peer";
  const uint64_t second = a_.link().WriteHost(0, kHost, 512, 0).arrived_ps;
  EXPECT_EQ(second, Wire(first - kUplink, kWrite + 512) + kUplink) << "one port to the host";
}

TEST_F(PcieSwitchTest, AReadOfAPeerIsItsRequestTheWindowAndItsCompletion) {
  const PcieLink::Times times = a_.link().ReadHost(0, kWindow, 512, 0);
  const uint64_t at_peer = Wire(Forwarded(kWrite), kWrite) + kOneWay;
  EXPECT_EQ(times.arrived_ps, at_peer);
  const uint64_t at_switch = Wire(at_peer + kPeerRead, kCompletion + 512) + kOneWay;
  EXPECT_EQ(times.done_ps, Wire(at_switch + kForward, kCompletion + 512) + kOneWay);
}

TEST_F(PcieSwitchTest, AReadOfTheHostIsThatOfALinkWithTheSwitchInBetween) {
  const PcieLink::Times times = a_.link().ReadHost(0, kHost, 512, 0);
  const uint64_t at_host = Wire(Forwarded(kWrite), kWrite) + kUplink;
  EXPECT_EQ(times.arrived_ps, at_host);
  const uint64_t ready = Clock(config_.pcie.host_memory_bytes_per_us).After(at_host, 512) +
                         config_.pcie.host_memory_ns * 1000;
  const uint64_t at_switch = Wire(ready, kCompletion + 512) + kUplink;
  EXPECT_EQ(times.done_ps, Wire(at_switch + kForward, kCompletion + 512) + kOneWay);
}

TEST_F(PcieSwitchTest, ARangeIsClosedAgain) {
  EXPECT_TRUE(switch_.ForbidPeer(0, 0, kWindow));
  EXPECT_FALSE(switch_.ForbidPeer(0, 0, kWindow)) << "it is closed already";
  const uint64_t arrived = a_.link().WriteHost(0, kWindow, 512, 0).arrived_ps;
  EXPECT_EQ(arrived, Wire(Forwarded(kWrite + 512), kWrite + 512) + kUplink) << "to the host";
}

}  // namespace
}  // namespace spyre::model::pcie_switch_test
