// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/config_space.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/unit/model/pcie/config_space_access.h"

namespace spyre::model::config_space_test {
namespace {

using namespace config;
using namespace test;

TEST(ConfigSpace, IdentifiesThePhysicalFunction) {
  const ConfigSpace space;
  EXPECT_EQ(space.Read32(kId), 0x06A71014u);
  EXPECT_EQ(space.Read32(kClassRevision), 0x12000002u);
}

TEST(ConfigSpace, IdentifiesAVirtualFunction) {
  const ConfigSpace physical;
  const ConfigSpace space(physical, 1);
  EXPECT_EQ(space.Read32(kId), 0x06A81014u);
}

TEST(ConfigSpace, AnswersTheSizingOfItsThreeBars) {
  ConfigSpace space;
  EXPECT_EQ(SizeOf64BitBar(space, kBar0), 4ull << 20);
  EXPECT_EQ(SizeOf64BitBar(space, kBar0 + 8), 2ull << 30);
  EXPECT_EQ(SizeOf64BitBar(space, kBar0 + 16), 32ull << 20);
}

TEST(ConfigSpace, ShowsItsBarsAs64BitPrefetchableWhateverIsWritten) {
  ConfigSpace space;
  for (uint32_t offset : {kBar0, kBar0 + 8, kBar0 + 16}) {
    space.Write32(offset, 0);
    EXPECT_EQ(space.Read32(offset) & 0xF, 0xCu) << "offset " << offset;
  }
}

TEST(ConfigSpace, ReportsBarAddressesAsAssigned) {
  ConfigSpace space;
  space.Write32(kBar0 + 8, 0x80000000);
  space.Write32(kBar0 + 12, 0x12);
  EXPECT_EQ(space.bar_address(2), 0x1280000000ull);
  EXPECT_EQ(space.bar_address(1), 0u) << "upper half of BAR0, no BAR of its own";
}

TEST(ConfigSpace, AnswersInItsBarsOnlyWithMemoryEnabled) {
  ConfigSpace space;
  EXPECT_FALSE(space.memory_enabled());
  EXPECT_FALSE(space.bus_master_enabled());
  space.Write32(kCommandStatus, kCommandMemory | kCommandBusMaster);
  EXPECT_TRUE(space.memory_enabled());
  EXPECT_TRUE(space.bus_master_enabled());
}

TEST(ConfigSpace, IsSilentInD3HotAndKeepsItsSettings) {
  ConfigSpace space;
  space.Write32(kCommandStatus, kCommandMemory | kCommandBusMaster);
  space.Write32(kPowerControl, 3);
  EXPECT_FALSE(space.memory_enabled());
  EXPECT_FALSE(space.bus_master_enabled());
  space.Write32(kPowerControl, 0);
  EXPECT_TRUE(space.memory_enabled());
}

TEST(ConfigSpace, IgnoresPowerStatesItDoesNotHave) {
  ConfigSpace space;
  space.Write32(kPowerControl, 1);
  EXPECT_EQ(space.Read32(kPowerControl) & 3, 0u);
}

TEST(ConfigSpace, HasTheCapabilitiesOfTheCard) {
  const ConfigSpace space;
  EXPECT_EQ(FindCapability(space, 0x01), kPower);
  EXPECT_EQ(FindCapability(space, 0x05), kMsi);
  EXPECT_EQ(FindCapability(space, 0x10), kExpress);
  EXPECT_EQ(FindCapability(space, 0x11), 0u) << "the card has no MSI-X";
  EXPECT_EQ(FindExtendedCapability(space, 0x0001), kAer);
  EXPECT_EQ(FindExtendedCapability(space, 0x000E), kAri);
  EXPECT_EQ(FindExtendedCapability(space, 0x0010), kSriov);
}

TEST(ConfigSpace, HasNoSriovInAVirtualFunction) {
  const ConfigSpace physical;
  const ConfigSpace space(physical, 1);
  EXPECT_EQ(FindCapability(space, 0x05), kMsi);
  EXPECT_EQ(FindExtendedCapability(space, 0x000E), kAri);
  EXPECT_EQ(FindExtendedCapability(space, 0x0010), 0u);
  EXPECT_EQ(space.Read32(kSriovControl), 0u);
}

TEST(ConfigSpace, IsAGen5X16LinkWithFlrAndTenBitTags) {
  const ConfigSpace space;
  EXPECT_EQ(space.Read32(kLinkCapabilities) & 0xF, 5u) << "32 GT/s";
  EXPECT_EQ(space.Read32(kLinkCapabilities) >> 4 & 0x3F, 16u) << "lanes";
  EXPECT_EQ(space.Read32(kLinkControl) >> 16 & 0x3FF, 16u << 4 | 5u) << "negotiated";
  EXPECT_EQ(space.Read32(kDeviceCapabilities) >> 28 & 1, 1u) << "FLR";
  EXPECT_EQ(space.Read32(kDeviceCapabilities) >> 5 & 1, 1u) << "extended tags";
  EXPECT_EQ(space.Read32(kDeviceCapabilities2) >> 16 & 3, 3u) << "10-bit tags";
}

TEST(ConfigSpace, TellsTheGenerationAndTheLanesThatItsLinkHas) {
  const ConfigSpace space(PcieAbility{4, 8});
  EXPECT_EQ(space.Read32(kLinkCapabilities) & 0x3FF, 8u << 4 | 4u);
  EXPECT_EQ(space.Read32(kLinkControl) >> 16 & 0x3FF, 8u << 4 | 4u) << "negotiated";
  EXPECT_EQ(space.Read32(kLinkCapabilities2) & 0xFF, 0x1Eu) << "2.5, 5, 8 and 16 GT/s";
  EXPECT_EQ(ConfigSpace(space, 1).Read32(kLinkCapabilities) & 0x3FF, 8u << 4 | 4u) << "a VF";
}

TEST(ConfigSpace, TransfersAsMuchAsDeviceControlAllows) {
  ConfigSpace space;
  EXPECT_EQ(space.max_payload_bytes(), 512);
  EXPECT_EQ(space.max_read_request_bytes(), 4096);
  space.Write32(kDeviceControl, 1u << kPayloadShift | 2u << kReadRequestShift);
  EXPECT_EQ(space.max_payload_bytes(), 256);
  EXPECT_EQ(space.max_read_request_bytes(), 512);
  const ConfigSpace vf(space, 1);
  EXPECT_EQ(vf.max_payload_bytes(), 256) << "a VF uses the setting of its PF";
}

TEST(ConfigSpace, KeepsTheOldSizeWhenAskedForOneItDoesNotSupport) {
  ConfigSpace space;
  space.Write32(kDeviceControl, 3u << kPayloadShift | 7u << kReadRequestShift);
  EXPECT_EQ(space.max_payload_bytes(), 512);
  EXPECT_EQ(space.max_read_request_bytes(), 4096);
}

TEST(ConfigSpace, WritesOnlyTheEnabledBytes) {
  ConfigSpace space;
  space.Write32(kMsiAddressLow, 0xAABBCCDC, 0xF);
  space.Write32(kMsiAddressLow, 0x11223344, 0b0101);
  EXPECT_EQ(space.Read32(kMsiAddressLow), 0xAA22CC44u);
  space.Write32(kDeviceControl, kInitiateFlr, 0b1100);
  EXPECT_EQ(space.Read32(kMsiAddressLow), 0xAA22CC44u) << "no FLR: its byte was not enabled";
}

TEST(ConfigSpace, RefusesOffsetsOutsideTheSpace) {
  ConfigSpace space;
  EXPECT_THROW(space.Read32(4096), Error);
  EXPECT_THROW(space.Read32(2), Error);
  EXPECT_THROW(space.Write32(4096, 0), Error);
}

TEST(ConfigSpace, HoldsEveryBitThatIsNotWritable) {
  for (const bool physical_function : {true, false}) {
    const ConfigSpace owner;
    ConfigSpace physical;
    ConfigSpace vf(owner, 1);
    ConfigSpace& space = physical_function ? physical : vf;
    const ConfigLayout& layout = physical_function ? PhysicalConfigLayout() : VirtualConfigLayout();
    for (uint32_t offset = 0; offset < kConfigBytes; offset += 4) {
      const uint32_t before = space.Read32(offset);
      const uint32_t ones = offset == kDeviceControl ? ~kInitiateFlr : 0xFFFFFFFFu;
      space.Write32(offset, ones);
      const uint32_t changed = before ^ space.Read32(offset);
      EXPECT_EQ(changed & ~layout.writable[offset / 4], 0u)
          << (physical_function ? "PF" : "VF") << " offset " << std::hex << offset;
    }
  }
}

TEST(ConfigSpaceMsi, OffersEightVectorsAndUsesThoseGranted) {
  ConfigSpace space;
  EXPECT_EQ(space.Read32(kMsi) >> 17 & 7, 3u) << "multiple message capable: 2^3";
  space.Write32(kMsiData, 0x4020);
  EXPECT_EQ(space.msi_vectors(), 1);
  EXPECT_EQ(space.MsiData(5), 0x4020u) << "one vector granted: all causes share it";
  space.Write32(kMsi, kMsiEnable | 3u << kMsiMultipleEnableShift);
  EXPECT_TRUE(space.msi_enabled());
  EXPECT_EQ(space.msi_vectors(), 8);
  EXPECT_EQ(space.MsiData(5), 0x4025u);
  space.Write32(kMsi, kMsiEnable | 5u << kMsiMultipleEnableShift);
  EXPECT_EQ(space.msi_vectors(), 8) << "32 vectors are more than it has";
}

TEST(ConfigSpaceMsi, SendsToA64BitAddress) {
  ConfigSpace space;
  space.Write32(kMsiAddressLow, 0xFEE00FFF);
  space.Write32(kMsiAddressHigh, 0x1);
  EXPECT_EQ(space.msi_address(), 0x1FEE00FFCull);
}

TEST(ConfigSpaceMsi, MasksAndPendsPerVector) {
  ConfigSpace space;
  space.Write32(kMsi, kMsiEnable | 3u << kMsiMultipleEnableShift);
  space.Write32(kMsiMask, 1u << 2);
  EXPECT_TRUE(space.MsiMasked(2));
  EXPECT_FALSE(space.MsiMasked(1));
  space.SetMsiPending(2, true);
  EXPECT_EQ(space.Read32(kMsiPending), 1u << 2);
  space.Write32(kMsiPending, 0);
  EXPECT_TRUE(space.MsiPending(2)) << "pending bits are read only to the host";
  space.SetMsiPending(2, false);
  EXPECT_EQ(space.Read32(kMsiPending), 0u);
}

TEST(ConfigSpaceMsi, TellsWhenAHeldBackInterruptMayGo) {
  ConfigSpace space;
  int calls = 0;
  space.on_msi_change = [&] { ++calls; };
  space.Write32(kMsiMask, 0);
  EXPECT_EQ(calls, 1);
  space.Write32(kCommandStatus, kCommandBusMaster);
  EXPECT_EQ(calls, 2);
  space.Write32(kBar0, 0);
  EXPECT_EQ(calls, 2) << "a BAR has no bearing on interrupts";
}

TEST(ConfigSpaceMsi, RefusesAVectorThatTheCardDoesNotHave) {
  const ConfigSpace space;
  EXPECT_THROW(space.MsiData(8), Error);
  EXPECT_THROW(space.MsiMasked(-1), Error);
}

TEST(ConfigSpaceFlr, ReturnsSettingsToResetAndThenTells) {
  ConfigSpace space;
  uint32_t command_seen = 0xFFFFFFFF;
  space.on_flr = [&] { command_seen = space.Read32(kCommandStatus); };
  space.Write32(kCommandStatus, kCommandMemory | kCommandBusMaster);
  space.Write32(kBar0 + 4, 0x77);
  space.Write32(kMsi, kMsiEnable);
  space.Write32(kDeviceControl, space.Read32(kDeviceControl) | kInitiateFlr);
  EXPECT_EQ(command_seen & 0xFFFF, 0u) << "reset is done when the callback runs";
  EXPECT_EQ(space.bar_address(0), 0u);
  EXPECT_FALSE(space.msi_enabled());
  EXPECT_EQ(space.Read32(kDeviceControl) & kInitiateFlr, 0u) << "Initiate FLR reads 0";
}

TEST(ConfigSpaceFlr, KeepsPayloadSizeAndErrorRecords) {
  ConfigSpace space;
  space.Write32(kDeviceControl, 0);
  space.ReportUncorrectableError(1u << 12);
  space.Write32(kDeviceControl, kInitiateFlr);
  EXPECT_EQ(space.max_payload_bytes(), 128);
  EXPECT_EQ(space.Read32(kUncorrectableStatus), 1u << 12);
  space.Reset();
  EXPECT_EQ(space.Read32(kUncorrectableStatus), 0u) << "a conventional reset clears it";
}

TEST(ConfigSpaceFlr, OfAVirtualFunctionLeavesItsPhysicalFunctionAlone) {
  ConfigSpace physical;
  EnableVfs(physical, 2);
  ConfigSpace vf(physical, 2);
  bool told = false;
  vf.on_flr = [&] { told = true; };
  vf.Write32(kMsi, kMsiEnable);
  vf.Write32(kDeviceControl, kInitiateFlr);
  EXPECT_TRUE(told);
  EXPECT_FALSE(vf.msi_enabled());
  EXPECT_TRUE(physical.vf_enabled());
}

TEST(ConfigSpaceFlr, OfThePhysicalFunctionRemovesItsVirtualFunctionsFirst) {
  ConfigSpace space;
  std::vector<std::string> events;
  space.on_vf_disable = [&] { events.emplace_back("vf_disable"); };
  space.on_flr = [&] { events.emplace_back("flr"); };
  EnableVfs(space, 4);
  space.Write32(kDeviceControl, kInitiateFlr);
  EXPECT_EQ(events, (std::vector<std::string>{"vf_disable", "flr"}));
  EXPECT_FALSE(space.vf_enabled());
  EXPECT_EQ(space.num_vfs(), 0);
}

TEST(ConfigSpaceAer, RecordsTheFirstErrorAndClearsByWritingOnes) {
  ConfigSpace space;
  space.ReportUncorrectableError(1u << 14);  // completion timeout
  space.ReportUncorrectableError(1u << 12);  // poisoned TLP
  EXPECT_EQ(space.Read32(kUncorrectableStatus), 1u << 14 | 1u << 12);
  EXPECT_EQ(space.Read32(kAerControl) & 0x1F, 14u) << "first error pointer";
  EXPECT_EQ(space.Read32(kDeviceControl) >> 16 & 7, 0b010u) << "non-fatal error detected";
  space.Write32(kUncorrectableStatus, 1u << 14);
  EXPECT_EQ(space.Read32(kUncorrectableStatus), 1u << 12);
}

TEST(ConfigSpaceAer, CallsAnErrorFatalIfItsSeveritySaysSo) {
  ConfigSpace space;
  space.Write32(kUncorrectableSeverity, 1u << 12);
  space.ReportUncorrectableError(1u << 12);
  EXPECT_EQ(space.Read32(kDeviceControl) >> 16 & 7, 0b100u);
}

TEST(ConfigSpaceAer, RecordsCorrectableErrors) {
  ConfigSpace space;
  space.ReportCorrectableError(1u << 6);  // bad TLP
  EXPECT_EQ(space.Read32(kCorrectableStatus), 1u << 6);
  EXPECT_EQ(space.Read32(kDeviceControl) >> 16 & 7, 0b001u);
  space.Write32(kCorrectableStatus, 1u << 6);
  EXPECT_EQ(space.Read32(kCorrectableStatus), 0u);
}

// PCI Express base specification, "Advisory Non-Fatal Error Cases" and "Status Register".
TEST(ConfigSpace, AnAnsweredRequestThatIsNotSupportedIsAnAdvisoryError) {
  ConfigSpace space;
  space.ReportUnsupportedRequest(false);
  EXPECT_EQ(space.Read32(kUncorrectableStatus), 1u << 20);
  EXPECT_EQ(space.Read32(kCorrectableStatus), 1u << 13);
  EXPECT_EQ(space.Read32(kDeviceControl) >> 16, 0x9u) << "correctable, unsupported request";
  EXPECT_EQ(space.Read32(kAerControl) & 0x1F, 20u) << "the first error";
  space.Write32(kUncorrectableSeverity, space.Read32(kUncorrectableSeverity) | 1u << 20);
  space.ReportUnsupportedRequest(false);
  EXPECT_EQ(space.Read32(kDeviceControl) >> 16, 0xDu) << "fatal too: it is no longer advisory";
}

TEST(ConfigSpace, APostedRequestThatIsNotSupportedIsNonFatal) {
  ConfigSpace space;
  space.ReportUnsupportedRequest(true);
  EXPECT_EQ(space.Read32(kUncorrectableStatus), 1u << 20);
  EXPECT_EQ(space.Read32(kCorrectableStatus), 0u);
  EXPECT_EQ(space.Read32(kDeviceControl) >> 16, 0xAu) << "non-fatal, unsupported request";
}

TEST(ConfigSpace, AReadThatTheHostRefusesIsAReceivedMasterAbort) {
  ConfigSpace space;
  space.ReportMasterAbort();
  EXPECT_EQ(space.Read32(kCommandStatus) >> 16 & 0xF900, 0x2000u);
  space.Write32(kCommandStatus, 0x20000000);
  EXPECT_EQ(space.Read32(kCommandStatus) >> 16 & 0xF900, 0u) << "cleared by writing one";
}

// PCI Express base specification, "Header Log Register": byte 0 of the header is bits 31:24.
TEST(ConfigSpaceAer, ShowsTheHeaderOfTheFirstError) {
  using Words = TlpHeader;
  EXPECT_EQ(MemoryRequestHeader(false, 0x1000, 4), (Words{0x00000001, 0x0F, 0x1000, 0}));
  EXPECT_EQ(MemoryRequestHeader(true, 0x1002, 1), (Words{0x40000001, 0x04, 0x1000, 0}));
  EXPECT_EQ(MemoryRequestHeader(true, 0x1003, 6), (Words{0x40000003, 0x18, 0x1000, 0}))
      << "byte 3 of the first word, all of the second, byte 0 of the third";
  EXPECT_EQ(MemoryRequestHeader(false, 0x4000000000, 4096), (Words{0x20000000, 0xFF, 0x40, 0}))
      << "64 bits of address; 1,024 words are 0";
  ConfigSpace space;
  const Words first{0x40000001, 0x0F, 0x2000, 0}, second{0x00000001, 0x0F, 0x3000, 0};
  space.ReportUnsupportedRequest(true, &first);
  space.ReportUnsupportedRequest(false, &second);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(space.Read32(0x11C + 4 * i), first[i]) << i;
}

TEST(ConfigSpaceAer, APoisonedWriteIsDetectedAndNonFatal) {
  ConfigSpace space;
  space.ReportPoisonedRequest({0x40000001, 0x0F, 0x2000, 0});
  EXPECT_EQ(space.Read32(kCommandStatus) >> 16 & 0xF900, 0x8000u);
  EXPECT_EQ(space.Read32(kUncorrectableStatus), 1u << 12);
  EXPECT_EQ(space.Read32(kDeviceControl) >> 16, 0x2u);
  EXPECT_EQ(space.Read32(kHeaderLog), 0x40000001u);
}

TEST(ConfigSpace, TimesOutAtTheLeastOfTheRangeThatSoftwareChose) {
  ConfigSpace space;
  const ConfigSpace vf(space, 1);
  EXPECT_EQ(space.completion_timeout_us(), 260'000u);
  for (const auto& [code, us] : std::vector<std::pair<uint32_t, uint64_t>>{
           {0x5, 16'000}, {0x6, 65'000}, {0xA, 1'000'000}, {0x1, 1'000'000}, {0x15, 0}}) {
    space.Write32(kDeviceControl2, code);
    EXPECT_EQ(space.completion_timeout_us(), us) << code;
    EXPECT_EQ(vf.completion_timeout_us(), us) << "a VF waits as long as its PF";
  }
}

TEST(ConfigSpaceReset, AHotResetKeepsErrorRecordsAndAnFlrThePayloadSizeToo) {
  ConfigSpace space;
  const auto dirty = [&] {
    space.Write32(kDeviceControl, 0);
    space.Write32(kLinkControl, 0x43);
    space.Write32(kUncorrectableMask, 1u << 12);
  };
  dirty();
  space.Write32(kDeviceControl, kInitiateFlr);
  EXPECT_EQ(space.max_payload_bytes(), 128);
  EXPECT_EQ(space.Read32(kLinkControl) & 0xFF, 0x03u);
  EXPECT_EQ(space.Read32(kUncorrectableMask), 1u << 12);
  dirty();
  space.HotReset();
  EXPECT_EQ(space.max_payload_bytes(), 512);
  EXPECT_EQ(space.Read32(kLinkControl) & 0xFF, 0u);
  EXPECT_EQ(space.Read32(kUncorrectableMask), 1u << 12);
  space.Reset();
  EXPECT_EQ(space.Read32(kUncorrectableMask), 0u);
}

}  // namespace
}  // namespace spyre::model::config_space_test
