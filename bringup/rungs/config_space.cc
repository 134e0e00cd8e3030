// SPDX-License-Identifier: Apache-2.0
// Rung 1: configuration space. What an operating system sees before any register of ours is read.
#include <gmock/gmock.h>

#include <set>

#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

namespace pci = driver::pci;
constexpr uint32_t kClassRevision = 0x08;
constexpr uint32_t kBar0 = 0x10;
constexpr uint32_t kAllOnes = 0xFFFFFFFF;
constexpr uint16_t kExtendedErrorReporting = 0x0001;
constexpr uint32_t kUncorrectableStatus = 0x04;
constexpr uint32_t kUnsupportedRequest = 1u << 20;
constexpr uint32_t kCorrectableStatus = 0x10;
constexpr uint32_t kAdvisoryNonFatal = 1u << 13;

class Rung1ConfigurationSpace : public Rung {
 protected:
  // The size of the 64-bit BAR pair at `offset`, by the protocol of the PCI specification: write
  // all ones, see which address bits stay 0, put the old value back.
  uint64_t BarBytes(uint32_t offset) {
    const uint32_t low = Config(0, offset);
    const uint32_t high = Config(0, offset + 4);
    EXPECT_EQ(low & 0x7, 0x4u) << "a 64-bit memory BAR at " << offset;
    card().ConfigWrite(0, offset, kAllOnes);
    card().ConfigWrite(0, offset + 4, kAllOnes);
    const uint64_t mask =
        static_cast<uint64_t>(Config(0, offset + 4)) << 32 | (Config(0, offset) & ~0xFu);
    card().ConfigWrite(0, offset, low);
    card().ConfigWrite(0, offset + 4, high);
    EXPECT_EQ(Config(0, offset), low) << "the address comes back";
    return ~mask + 1;
  }
  uint32_t Require(uint8_t capability) {
    const auto found = driver::FindCapability(card(), 0, capability);
    EXPECT_TRUE(found.has_value()) << "capability " << int{capability};
    return found.value_or(0);
  }
  uint32_t Sriov() {
    return driver::FindExtendedCapability(card(), 0, pci::kExtendedSriov).value_or(0);
  }
};

TEST_F(Rung1ConfigurationSpace, TheCardIsIdentifiedByVendorDeviceAndClass) {
  EXPECT_EQ(Config(0, pci::kVendorDevice), 0x06A71014u);
  EXPECT_EQ(Config(0, kClassRevision) >> 8, 0x120000u) << "processing accelerator";
}

TEST_F(Rung1ConfigurationSpace, EachBarGivesItsSizeByTheSixtyFourBitProtocol) {
  RequireOwnConfigSpace();
  EXPECT_EQ(BarBytes(kBar0), 4ull << 20) << "registers";
  EXPECT_EQ(BarBytes(kBar0 + 8), 2ull << 30) << "window onto device memory";
  EXPECT_EQ(BarBytes(kBar0 + 16), 32ull << 20) << "SRAM";
}

TEST_F(Rung1ConfigurationSpace, BarsAnswerOnlyWhileMemoryIsEnabled) {
  RequireOwnConfigSpace();
  EXPECT_EQ(card().Read32(0, 0, 0), kAllOnes) << "after power-on";
  EnableBars(0);
  EXPECT_EQ(card().Read32(0, 0, 0), 0x52595053u) << "SPYR";
  card().ConfigWrite(0, pci::kCommandStatus, 0);
  EXPECT_EQ(card().Read32(0, 0, 0), kAllOnes);
}

TEST_F(Rung1ConfigurationSpace, ARequestThatNothingAnswersIsLoggedAndTheLogIsCleared) {
  RequireOwnConfigSpace();
  const uint32_t control = Require(pci::kCapabilityPciExpress) + pci::kDeviceControl;
  const auto errors = driver::FindExtendedCapability(card(), 0, kExtendedErrorReporting);
  ASSERT_TRUE(errors.has_value());
  card().ConfigWrite(0, *errors + kUncorrectableStatus, kAllOnes);  // it outlives resets
  card().ConfigWrite(0, *errors + kCorrectableStatus, kAllOnes);
  ASSERT_EQ(Config(0, *errors + kUncorrectableStatus), 0u);
  card().ConfigWrite(0, pci::kCommandStatus, 0);
  EXPECT_EQ(card().Read32(0, 0, 0), kAllOnes);
  // An answered request that is not supported is an advisory error: it is correctable.
  EXPECT_EQ(Config(0, *errors + kUncorrectableStatus), kUnsupportedRequest);
  EXPECT_EQ(Config(0, *errors + kCorrectableStatus), kAdvisoryNonFatal);
  EXPECT_EQ(Config(0, control) >> 16 & 0xF, 0x9u) << "correctable, unsupported request";
  card().ConfigWrite(0, *errors + kUncorrectableStatus, kAllOnes);
  card().ConfigWrite(0, *errors + kCorrectableStatus, kAllOnes);
  card().ConfigWrite(0, control, Config(0, control));
  EXPECT_EQ(Config(0, *errors + kUncorrectableStatus), 0u);
  EXPECT_EQ(Config(0, *errors + kCorrectableStatus), 0u);
  EXPECT_EQ(Config(0, control) >> 16 & 0xF, 0u);
}

TEST_F(Rung1ConfigurationSpace, TheCapabilityListEndsAndHoldsPowerVpdMsiAndExpress) {
  std::multiset<uint32_t> ids;
  uint32_t offset = Config(0, pci::kCapabilityPointer) & 0xFC;
  while (offset != 0 && ids.size() < 48) {
    ASSERT_GE(offset, 0x40u);
    ids.insert(Config(0, offset) & 0xFF);
    offset = Config(0, offset) >> 8 & 0xFC;
  }
  EXPECT_THAT(ids, ::testing::ElementsAre(0x01, 0x03, 0x05, 0x10));
}

TEST_F(Rung1ConfigurationSpace, TheExtendedListEndsAndHoldsErrorReportingAriAndSriov) {
  std::multiset<uint32_t> ids;
  uint32_t offset = 0x100;
  while (offset != 0 && ids.size() < 960) {
    ASSERT_GE(offset, 0x100u);
    ids.insert(Config(0, offset) & 0xFFFF);
    offset = Config(0, offset) >> 20 & 0xFFC;
  }
  EXPECT_THAT(ids, ::testing::ElementsAre(0x01, 0x0E, 0x10));
}

TEST_F(Rung1ConfigurationSpace, MsiOffersEightVectorsWithSixtyFourBitAddress) {
  RequireOwnConfigSpace();
  const uint32_t msi = Require(pci::kCapabilityMsi);
  const uint32_t header = Config(0, msi);
  EXPECT_EQ(header >> pci::kMsiCapableShift & 7, 3u) << "log2 of the vectors";
  EXPECT_NE(header & pci::kMsi64Bit, 0u);
  EXPECT_EQ(header & pci::kMsiEnable, 0u) << "off after power-on";
  card().ConfigWrite(0, msi + 4, 0xFEE00000);
  card().ConfigWrite(0, msi + 8, 0x1);
  EXPECT_EQ(Config(0, msi + 4), 0xFEE00000u);
  EXPECT_EQ(Config(0, msi + 8), 0x1u);
  card().ConfigWrite(0, msi, 7u << pci::kMsiEnabledShift | pci::kMsiEnable);
  EXPECT_LE(Config(0, msi) >> pci::kMsiEnabledShift & 7, 3u) << "no more vectors than offered";
}

TEST_F(Rung1ConfigurationSpace, TheExpressCapabilityOffersAReset) {
  const uint32_t express = Require(pci::kCapabilityPciExpress);
  EXPECT_NE(Config(0, express + pci::kDeviceCapabilities) & pci::kDeviceCapabilityFlr, 0u);
  EXPECT_EQ(Config(0, express + pci::kDeviceControl) & pci::kInitiateFlr, 0u) << "reads 0";
}

TEST_F(Rung1ConfigurationSpace, SriovDescribesVirtualFunctionsWithOneBarEach) {
  const uint32_t sriov = Sriov();
  ASSERT_NE(sriov, 0u);
  const uint32_t counts = Config(0, sriov + pci::kSriovInitialTotal);
  EXPECT_GE(counts >> 16, 1u) << "TotalVFs";
  EXPECT_EQ(counts & 0xFFFF, counts >> 16) << "InitialVFs: without migration all of them";
  EXPECT_EQ(Config(0, sriov + 0x14), 1u | 1u << 16) << "first VF follows the PF, stride 1";
  EXPECT_EQ(Config(0, sriov + 0x18) >> 16, 0x06A8u) << "device id of a VF";
  EXPECT_EQ(Config(0, sriov + 0x2C), 0u) << "no BAR2";
}

TEST_F(Rung1ConfigurationSpace, TheBarOfVirtualFunctionsGivesItsSize) {
  RequireOwnConfigSpace();
  const uint32_t sriov = Sriov();
  ASSERT_NE(sriov, 0u);
  EXPECT_EQ(BarBytes(sriov + 0x24), kVfBar0Bytes) << "BAR0 of a VF";
}

TEST_F(Rung1ConfigurationSpace, VirtualFunctionsAppearWhenEnabledAndGoWhenDisabled) {
  EXPECT_EQ(Config(1, 0), kAllOnes);
  EnableVirtualFunctions(1);
  driver::PhysicalFunction manager(Physical());
  EXPECT_EQ(Config(1, 0), 0x06A81014u);
  EXPECT_EQ(Config(2, 0), kAllOnes) << "one was asked for";
  for (uint32_t bar = 0; bar < 6; ++bar) {
    // A VF's BARs are in the PF's SR-IOV capability; a host may show a VF as if BAR0 were its own.
    const uint32_t value = Config(1, kBar0 + 4 * bar);
    EXPECT_TRUE(value == 0 || (bar == 0 && value == 0xC)) << "BAR" << bar << " " << value;
  }
  manager.EnableVirtualFunctions(0);
  EXPECT_EQ(Config(1, 0), kAllOnes);
  EXPECT_EQ(card().Read32(1, 0, 0), kAllOnes);
}

TEST_F(Rung1ConfigurationSpace, AnFlrReturnsTheFunctionToItsStateAfterPowerOn) {
  RequireOwnConfigSpace();
  const uint32_t msi = Require(pci::kCapabilityMsi);
  EnableBars(0);
  card().ConfigWrite(0, kBar0 + 4, 0x12);
  card().ConfigWrite(0, msi, pci::kMsiEnable);
  auto registers = Registers(0);
  registers.WriteScratch(0x1234);
  card().Reset(0);
  card().Advance(100 * kMillisecondPs);
  EXPECT_EQ(Config(0, pci::kCommandStatus) & 0xFFFF, 0u);
  EXPECT_EQ(Config(0, kBar0 + 4), 0u);
  EXPECT_EQ(Config(0, msi) & pci::kMsiEnable, 0u);
  EnableBars(0);
  EXPECT_EQ(registers.ReadScratch(), 0u);
}

TEST_F(Rung1ConfigurationSpace, AnFlrOfOneVirtualFunctionLeavesTheOtherAlone) {
  EnableVfs();
  EnableBars(1);
  EnableBars(2);
  Registers(1).WriteScratch(0x11);
  Registers(2).WriteScratch(0x22);
  card().Reset(1);
  card().Advance(100 * kMillisecondPs);
  EnableBars(1);
  EXPECT_EQ(Registers(1).ReadScratch(), 0u);
  EXPECT_EQ(Registers(2).ReadScratch(), 0x22u);
}

TEST_F(Rung1ConfigurationSpace, FieldsOfTheHeaderThatIdentifyCannotBeWritten) {
  for (const uint32_t offset : {0x00u, 0x08u, 0x2Cu, 0x34u}) {
    const uint32_t before = Config(0, offset);
    card().ConfigWrite(0, offset, ~before);
    EXPECT_EQ(Config(0, offset), before) << "offset " << offset;
  }
}

}  // namespace

void LinkConfigSpaceRung() {}

}  // namespace spyre::bringup
