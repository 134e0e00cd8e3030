// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/device_handle.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "model/contract/memory_map.h"

namespace spyre::flex::device_handle_test {
namespace {

TEST(DeviceHandle, OffsetMovesInsideTheSameRegion) {
  EXPECT_EQ(Offset(PFDeviceHandle{0x1000}, 0x80), DeviceHandle(PFDeviceHandle{0x1080}));
  EXPECT_EQ(Offset(VFDeviceHandle{2, 0x100}, -0x80), DeviceHandle(VFDeviceHandle{2, 0x80}));
}

TEST(DeviceHandle, LeavingMemoryIsRefused) {
  EXPECT_THROW(Offset(PFDeviceHandle{0x1000}, -0x1001), Error);
  EXPECT_THROW(Offset(VFDeviceHandle{0, UINT64_MAX}, 1), Error);
}

TEST(DeviceHandle, RegionsAreSegmentsAndPhysicalMemoryIsIdentical) {
  EXPECT_EQ(ToDeviceVirtual(VFDeviceHandle{3, 0x80}), 3 * kSegmentBytes + 0x80);
  EXPECT_EQ(ToDeviceVirtual(PFDeviceHandle{0x5'0000'0080}), 0x5'0000'0080u);
  EXPECT_THROW(ToDeviceVirtual(PFDeviceHandle{kProgramBase}), Error);
  EXPECT_THROW(ToDeviceVirtual(VFDeviceHandle{8, 0}), Error);
}

TEST(DeviceHandle, TextNamesTheModeAndThePlace) {
  EXPECT_EQ(ToString(PFDeviceHandle{0x1000}), "physical 0x1000");
  EXPECT_EQ(ToString(VFDeviceHandle{7, 0x634a0000}), "region 7 + 0x634a0000");
}

}  // namespace
}  // namespace spyre::flex::device_handle_test
