// SPDX-License-Identifier: Apache-2.0
#include "driver/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "driver/pci.h"
#include "driver/physical_function.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::driver::device_test {
namespace {

using ::testing::HasSubstr;

using test::CaughtFrom;
using test::ErrorOf;
using test::FakeCard;
using test::FakeConfigSpace;

TEST(Device, OpeningEnablesMemoryBusMasterAndEightVectors) {
  FakeCard card;
  const Device device(card, 0);
  const FakeConfigSpace& config = card.config(0);
  EXPECT_TRUE(config.memory_enabled());
  EXPECT_TRUE(config.bus_master());
  EXPECT_TRUE(config.msi_enabled());
  EXPECT_EQ(config.Read(FakeConfigSpace::kMsi) >> 20 & 7, 3u) << "2^3 vectors";
  EXPECT_EQ(config.Read(FakeConfigSpace::kMsi + 4), 0xFEE00000u);
  EXPECT_EQ(config.Read(FakeConfigSpace::kMsi + 12), kMsiVectorBase);
}

TEST(Device, MsiAddressNamesTheFunction) {
  FakeCard card;
  Device physical(card, 0);
  PhysicalFunction(physical).EnableVirtualFunctions(3);
  const Device virtual_function(card, 3);
  EXPECT_EQ(card.config(3).Read(FakeConfigSpace::kMsi + 4), 0xFEE03000u);
}

TEST(Device, IdentityIsWhatTheCardSays) {
  FakeCard card;
  card.memory_mib = 131072;
  card.pipelined = true;
  Device device(card, 0);
  EXPECT_EQ(device.identity().vendor_id, 0x1014);
  EXPECT_EQ(device.identity().device_id, 0x06a7);
  EXPECT_EQ(device.identity().cores, 32);
  EXPECT_EQ(device.identity().memory_bytes, 128ull << 30);
  EXPECT_TRUE(device.identity().pipelined);
  EXPECT_EQ(device.identity().regions, 0);
}

TEST(Device, VirtualFunctionReportsTheLengthsOfItsRegions) {
  FakeCard card;
  card.region_bytes = {12ull << 30, 0, 5ull << 30, 0, 0, 0, 0, 1ull << 20};
  Device physical(card, 0);
  PhysicalFunction(physical).EnableVirtualFunctions(1);
  const Device device(card, 1);
  EXPECT_EQ(device.identity().device_id, 0x06a8);
  EXPECT_EQ(device.identity().regions, 3);
  EXPECT_EQ(device.identity().region_bytes, card.region_bytes);
}

TEST(Device, RefusesAnotherCard) {
  FakeCard card;
  card.config(0).Set(0, 0x12345678);
  const Error error = CaughtFrom([&] { Device(card, 0); });
  EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
  EXPECT_EQ(error.subject(), "function 0");
  EXPECT_EQ(error.value(), "5678:1234");
  EXPECT_EQ(error.remedy(), "1014:06a7");
}

TEST(Device, RefusesAVirtualFunctionThatIsNotEnabled) {
  FakeCard card;
  const std::string error = ErrorOf(ErrorKind::kDeviceFault, [&] { Device(card, 1); });
  EXPECT_NE(error.find("enabled it"), std::string::npos) << error;
}

TEST(Device, BrokenCapabilityListIsAFaultNotAHang) {
  FakeCard card;
  card.config(0).Set(FakeConfigSpace::kPowerManagement, FakeConfigSpace::kPowerManagement << 8 | 1);
  ErrorOf(ErrorKind::kDeviceFault, [&] { Device(card, 0); });
}

TEST(Device, RingSizesMustBePowersOfTwo) {
  FakeCard card;
  for (const uint32_t entries : {0u, 1u, 3u, 100u, 131072u}) {
    DeviceOptions options;
    options.submission_entries = entries;
    const Error error = CaughtFrom([&] { Device(card, 0, options); });
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_EQ(error.subject(), "submission ring");
    EXPECT_EQ(error.value(), std::to_string(entries));
  }
}

TEST(Device, DeviceTimeIsThe64BitClock) {
  FakeCard card;
  Device device(card, 0);
  card.Advance(5'000'000'000'000);
  EXPECT_EQ(device.ReadTimePs(), card.NowPs());
  EXPECT_GT(device.ReadTimePs(), 1ull << 32);
}

TEST(Device, ResetForgetsMappingsAndStartsTheRingsAgain) {
  FakeCard card;
  Device device(card, 0);
  PhysicalFunction(device).MapRange(0, 4096, kPermissionRead);
  Entry nop = ControlBlock{};
  device.queue().Submit(nop);
  device.queue().Wait();
  const uint64_t before = card.NowPs();
  device.Reset();
  EXPECT_EQ(card.resets, 1);
  EXPECT_EQ(card.NowPs() - before, 100'000'000'000u) << "100 ms in ps";
  EXPECT_TRUE(card.mapped.empty());
  nop = ControlBlock{};
  device.queue().Submit(nop);
  EXPECT_EQ(device.queue().Wait().sequence, 1u);
}

TEST(Device, ClosingReleasesEverythingThatWasMapped) {
  FakeCard card;
  {
    const Device device(card, 0);
    EXPECT_EQ(card.host_mappings(), 2u) << "two rings";
  }
  EXPECT_EQ(card.host_mappings(), 0u);
}

TEST(PhysicalFunction, MapsAndUnmapsRanges) {
  FakeCard card;
  Device device(card, 0);
  PhysicalFunction function(device);
  function.MapRange(1 << 20, 4096, kPermissionRead | kPermissionWrite);
  ASSERT_EQ(card.mapped.count(1 << 20), 1u);
  EXPECT_EQ(card.mapped[1 << 20], (std::pair<uint64_t, uint8_t>(4096, 3)));
  function.UnmapRange(1 << 20);
  EXPECT_TRUE(card.mapped.empty());
}

TEST(PhysicalFunction, EveryRefusalOfTheMappingTableIsNamed) {
  FakeCard card;
  card.map_table_entries = 1;
  Device device(card, 0);
  PhysicalFunction function(device);
  function.MapRange(0, 4096, 7);
  const auto refusal = [&](uint64_t base, uint64_t length) {
    return CaughtFrom([&] { function.MapRange(base, length, 7); }).value();
  };
  EXPECT_THAT(refusal(128, 128), HasSubstr("overlaps"));
  EXPECT_THAT(refusal(8192 + 64, 128), HasSubstr("aligned"));
  EXPECT_THAT(refusal(1ull << 40, 128), HasSubstr("outside device memory"));
  EXPECT_THAT(refusal(8192, 128), HasSubstr("full"));
  EXPECT_THAT(CaughtFrom([&] { function.UnmapRange(8192); }).value(), HasSubstr("no mapping"));
}

TEST(PhysicalFunction, ACardThatWasRemovedIsADeviceFaultAndRefusesNothing) {
  FakeCard card;
  Device device(card, 0);
  PhysicalFunction function(device);
  card.gone = true;
  const std::function<void()> calls[] = {[&] { function.MapRange(0, 4096, kPermissionRead); },
                                         [&] { function.UnmapRange(0); },
                                         [&] { function.EnableVirtualFunctions(1); },
                                         [&] { function.AssignRegion(1, 0, 0, 4096); },
                                         [&] { function.ReadFirmwareVersion(); },
                                         [&] { device.Reset(); }};
  for (const auto& call : calls) ErrorOf(ErrorKind::kDeviceFault, call);
}

TEST(PhysicalFunction, AssignsRegionsThroughTheAdminBlock) {
  FakeCard card;
  Device device(card, 0);
  PhysicalFunction function(device);
  function.AssignRegion(2, 7, 0x1234000000, 12ull << 30);
  ASSERT_EQ(card.assigned.size(), 1u);
  EXPECT_EQ(card.assigned[0], (std::array<uint64_t, 4>{2, 7, 0x1234000000, 12ull << 30}));
  EXPECT_NE(ErrorOf(ErrorKind::kBadInput, [&] { function.AssignRegion(0, 0, 0, 128); })
                .find("no such virtual function"),
            std::string::npos);
}

TEST(PhysicalFunction, WindowShowsDeviceMemory) {
  FakeCard card;
  Device device(card, 0);
  PhysicalFunction function(device);
  const uint32_t value = 0xCAFEF00D;
  card.WriteMemory(0x3000'0040, &value, sizeof(value));
  EXPECT_EQ(function.PeekMemory(0x3000'0040), value);
  function.PokeMemory(0x3000'0044, 77);
  EXPECT_EQ(function.PeekMemory(0x3000'0044), 77u);
}

TEST(PhysicalFunction, AVirtualFunctionManagesNothing) {
  FakeCard card;
  Device physical(card, 0);
  PhysicalFunction(physical).EnableVirtualFunctions(1);
  Device device(card, 1);
  ErrorOf(ErrorKind::kBadInput, [&] { PhysicalFunction function(device); });
}

TEST(PhysicalFunction, RefusesMoreVirtualFunctionsThanTheCardHas) {
  FakeCard card;
  Device device(card, 0);
  PhysicalFunction function(device);
  EXPECT_EQ(function.TotalVirtualFunctions(), 255);
  const Error error = CaughtFrom([&] { function.EnableVirtualFunctions(256); });
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
  EXPECT_EQ(error.value(), "256");
  EXPECT_EQ(error.remedy(), "0 to 255");
}

TEST(Device, AFunctionThatIsOpenIsNotOpenedAgain) {
  FakeCard card;
  {
    const Device device(card, 0);
    try {
      const Device second(card, 0);
      FAIL() << "two owners of one function";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      EXPECT_NE(std::string(error.what()).find("function 0 is open already"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_NO_THROW(Device(card, 0)) << "closed, so it can be opened";
}

}  // namespace
}  // namespace spyre::driver::device_test
