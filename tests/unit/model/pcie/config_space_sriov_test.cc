// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "model/pcie/config_space.h"
#include "tests/unit/model/pcie/config_space_access.h"

namespace spyre::model::config_space_sriov_test {
namespace {

using namespace config;
using namespace test;

TEST(ConfigSpaceSriov, DescribesTheVirtualFunctionsOfTheCard) {
  const ConfigSpace space;
  EXPECT_EQ(space.Read32(kVfCounts), 255u << 16 | 255u) << "TotalVFs, InitialVFs";
  EXPECT_EQ(space.Read32(kVfOffsetStride), 1u << 16 | 1u) << "stride, offset";
  EXPECT_EQ(space.Read32(kVfDeviceId) >> 16, 0x06A8u);
}

TEST(ConfigSpaceSriov, TellsHowManyThereAreAndRefusesMore) {
  ConfigSpace space(PcieAbility{5, 16, 4});
  EXPECT_EQ(space.Read32(kVfCounts), 4u << 16 | 4u) << "TotalVFs, InitialVFs";
  space.Write32(kNumVfs, 5);
  EXPECT_EQ(space.num_vfs(), 0) << "more than there are";
  space.Write32(kNumVfs, 4);
  EXPECT_EQ(space.num_vfs(), 4);
  EXPECT_THROW(ConfigSpace(space, 5), Error);
}

TEST(ConfigSpaceSriov, TellsWhenVirtualFunctionsComeAndGo) {
  ConfigSpace space;
  std::vector<int> enabled;
  int disabled = 0;
  space.on_vf_enable = [&](int count) { enabled.push_back(count); };
  space.on_vf_disable = [&] { ++disabled; };
  EnableVfs(space, 3);
  space.Write32(kSriovControl, kVfEnable);  // stays enabled: nothing comes or goes
  EXPECT_EQ(enabled, std::vector<int>{3});
  EXPECT_EQ(disabled, 0);
  space.Write32(kSriovControl, 0);
  EXPECT_EQ(disabled, 1);
}

TEST(ConfigSpaceSriov, LocksTheNumberOfFunctionsWhileTheyExist) {
  ConfigSpace space;
  EnableVfs(space, 3);
  space.Write32(kNumVfs, 5);
  EXPECT_EQ(space.num_vfs(), 3);
  space.Write32(kSriovControl, 0);
  space.Write32(kNumVfs, 5);
  EXPECT_EQ(space.num_vfs(), 5);
}

TEST(ConfigSpaceSriov, RefusesMoreFunctionsThanItHas) {
  ConfigSpace space;
  space.Write32(kNumVfs, 255);
  EXPECT_EQ(space.num_vfs(), 255);
  space.Write32(kNumVfs, 256);
  EXPECT_EQ(space.num_vfs(), 255);
}

TEST(ConfigSpaceSriov, GivesEachVirtualFunctionItsPartOfTheVfBar) {
  ConfigSpace physical;
  EXPECT_EQ(SizeOf64BitBar(physical, kVfBar0), kVfBar0Bytes);
  EnableVfs(physical, 2);
  const ConfigSpace first(physical, 1);
  const ConfigSpace second(physical, 2);
  EXPECT_EQ(first.bar_address(0), 0x840000000ull);
  EXPECT_EQ(second.bar_address(0), 0x840000000ull + kVfBar0Bytes);
  EXPECT_EQ(second.bar_size(2), 0u) << "a VF has BAR0 only";
}

TEST(ConfigSpaceSriov, WidensTheVfBarToTheSystemPage) {
  ConfigSpace space;
  space.Write32(kVfBar0, 0x40010000);
  space.Write32(kSystemPageSize, 1u << 6);  // 256 KB
  EXPECT_EQ(SizeOf64BitBar(space, kVfBar0), 256ull << 10);
  EXPECT_EQ(space.Read32(kVfBar0), 0x4000000Cu) << "address bits inside the aperture are gone";
  space.Write32(kSystemPageSize, 3);
  EXPECT_EQ(space.Read32(kSystemPageSize), 1u << 6) << "a page has one size";
}

TEST(ConfigSpaceSriov, ReadsTheBarsOfAVirtualFunctionAsZero) {
  ConfigSpace physical;
  EnableVfs(physical, 1);
  ConfigSpace vf(physical, 1);
  for (uint32_t offset = kBar0; offset < kBar0 + 24; offset += 4) {
    vf.Write32(offset, 0xFFFFFFFF);
    EXPECT_EQ(vf.Read32(offset), 0u) << "offset " << offset;
  }
}

TEST(ConfigSpaceSriov, EnablesTheMemoryOfVirtualFunctionsInThePhysicalOne) {
  ConfigSpace physical;
  ConfigSpace vf(physical, 2);
  vf.Write32(kCommandStatus, kCommandMemory | kCommandBusMaster);
  EXPECT_TRUE(vf.bus_master_enabled());
  EXPECT_FALSE(vf.memory_enabled()) << "a VF has no memory enable of its own";
  EnableVfs(physical, 2);
  EXPECT_TRUE(vf.memory_enabled());
  physical.Write32(kSriovControl, kVfEnable);
  EXPECT_FALSE(vf.memory_enabled());
  physical.Write32(kSriovControl, 0);
  EnableVfs(physical, 1);
  EXPECT_FALSE(vf.memory_enabled()) << "VF 2 of 1";
}

TEST(ConfigSpaceSriov, RefusesToMakeAVirtualFunctionThatCannotExist) {
  const ConfigSpace physical;
  EXPECT_THROW(ConfigSpace(physical, 0), Error);
  EXPECT_THROW(ConfigSpace(physical, 256), Error);
  const ConfigSpace vf(physical, 1);
  EXPECT_THROW(ConfigSpace(vf, 1), Error);
}

}  // namespace
}  // namespace spyre::model::config_space_sriov_test
