// SPDX-License-Identifier: Apache-2.0
// Rung 9: the link, as far as the PCI Express capability of configuration space tells and controls
// it: speed, width, and training again.
#include "base/error.h"
#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

class Rung9Link : public Rung {
 protected:
  static constexpr uint32_t kLinkCapabilities = 0x0C, kLinkControl = 0x10;
  static constexpr uint32_t kRetrain = 1u << 5;    // of Link Control
  static constexpr uint32_t kTraining = 1u << 27;  // of Link Status

  void SetUp() override {
    const auto found = driver::FindCapability(card(), 0, driver::pci::kCapabilityPciExpress);
    ASSERT_TRUE(found.has_value()) << "no PCI Express capability";
    express_ = *found;
  }
  uint32_t Status() { return Config(0, express_ + kLinkControl) >> 16; }
  static int Speed(uint32_t word) { return static_cast<int>(word & 0xF); }
  static int Width(uint32_t word) { return static_cast<int>(word >> 4 & 0x3F); }

  uint32_t express_ = 0;
};

TEST_F(Rung9Link, RunsAtTheSpeedAndWidthThatTheCardCanDo) {
  const uint32_t can = Config(0, express_ + kLinkCapabilities);
  const uint32_t status = Status();
  Measure("link_generation", Speed(status), "PCIe generation");
  Measure("link_width", Width(status), "lanes");
  EXPECT_EQ(Speed(status), Speed(can)) << "PCIe generation of Link Status and Link Capabilities";
  EXPECT_EQ(Width(status), Width(can)) << "lanes of Link Status and Link Capabilities";
}

TEST_F(Rung9Link, IsNotInTraining) { EXPECT_EQ(Status() & (kTraining >> 16), 0u); }

// Only the port above the card trains again on request (PCI Express base specification, Link
// Control, bit 5); of an endpoint the bit is reserved, and writing it must do nothing.
TEST_F(Rung9Link, StaysAsItIsWhenTheCardIsAskedToTrainIt) {
  const uint32_t before = Config(0, express_ + kLinkControl);
  card().ConfigWrite(0, express_ + kLinkControl, (before & 0xFFFF) | kRetrain);
  card().Advance(kMillisecondPs);
  const uint32_t after = Config(0, express_ + kLinkControl);
  EXPECT_EQ(after & kRetrain, 0u);
  EXPECT_EQ(after >> 16, before >> 16) << "Link Status";
}

TEST_F(Rung9Link, ComesBackAsItWasAfterEveryReset) {
  const uint32_t before = Status();
  for (int i = 0; i < 10; ++i) {
    card().Reset(0);
    card().Advance(100 * kMillisecondPs);
    ASSERT_EQ(Status(), before) << "after reset " << i;
  }
}

TEST_F(Rung9Link, ComesBackAsItWasAfterAHotReset) {
  const uint32_t before = Status();
  try {
    board().WillResetCard();
    card().HotReset();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    CannotRun(error.what());
  }
  EXPECT_EQ(Status(), before);
  Physical();
  EXPECT_EQ(card().Read32(0, 0, regs::MAGIC), 0x52595053u);
}

}  // namespace

void LinkLinkRung() {}

}  // namespace spyre::bringup
