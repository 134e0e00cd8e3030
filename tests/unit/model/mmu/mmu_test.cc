// SPDX-License-Identifier: Apache-2.0
#include "model/mmu/mmu.h"

#include <gtest/gtest.h>

namespace spyre::model::mmu_test {
namespace {

constexpr uint8_t kReadWrite = kPermissionRead | kPermissionWrite;
constexpr uint64_t kGiB = 1ull << 30;

class MmuTest : public ::testing::Test {
 protected:
  CardConfig config_;
  Mmu mmu_{config_};
};

TEST_F(MmuTest, ThePhysicalFunctionReachesExactlyItsMappedRanges) {
  ASSERT_EQ(mmu_.Map({4096, 1024, kReadWrite}), Mmu::MapResult::kDone);
  EXPECT_EQ(mmu_.CheckPhysical(0, 4096, 1024, kReadWrite), Status::OK);
  EXPECT_EQ(mmu_.CheckPhysical(0, 4096, 1025, kPermissionRead), Status::PAGE_FAULT);
  EXPECT_EQ(mmu_.CheckPhysical(0, 4095, 1, kPermissionRead), Status::PAGE_FAULT);
  EXPECT_EQ(mmu_.CheckPhysical(0, 5119, 1, kPermissionRead), Status::OK);
  EXPECT_EQ(mmu_.CheckPhysical(0, 5120, 1, kPermissionRead), Status::PAGE_FAULT);
  EXPECT_EQ(mmu_.CheckPhysical(0, 4096, 128, kPermissionExecute), Status::PERMISSION);
}

TEST_F(MmuTest, AnAccessMayNotRunFromOneAllocationIntoItsNeighbour) {
  mmu_.Map({0, 128, kReadWrite});
  mmu_.Map({128, 128, kReadWrite});
  EXPECT_EQ(mmu_.CheckPhysical(0, 0, 256, kPermissionRead), Status::PAGE_FAULT);
}

TEST_F(MmuTest, MappingsDoNotOverlapAndLieInMemory) {
  EXPECT_EQ(mmu_.Map({1024, 1024, kReadWrite}), Mmu::MapResult::kDone);
  EXPECT_EQ(mmu_.Map({1920, 128, kReadWrite}), Mmu::MapResult::kOverlap);
  EXPECT_EQ(mmu_.Map({896, 256, kReadWrite}), Mmu::MapResult::kOverlap);
  EXPECT_EQ(mmu_.Map({2048, 128, kReadWrite}), Mmu::MapResult::kDone);
  EXPECT_EQ(mmu_.Map({64, 128, kReadWrite}), Mmu::MapResult::kBadRange) << "misaligned";
  EXPECT_EQ(mmu_.Map({0, 0, kReadWrite}), Mmu::MapResult::kBadRange) << "empty";
  EXPECT_EQ(mmu_.Map({config_.usable_bytes() - 128, 256, kReadWrite}), Mmu::MapResult::kBadRange);
  EXPECT_EQ(mmu_.Map({~0ull - 127, 128, kReadWrite}), Mmu::MapResult::kBadRange) << "wraps round";
  EXPECT_EQ(mmu_.Unmap(1024), Mmu::MapResult::kDone);
  EXPECT_EQ(mmu_.Unmap(1024), Mmu::MapResult::kNoMapping);
}

TEST_F(MmuTest, TheMappingTableIsFinite) {
  config_.mmu.map_entries = 2;
  Mmu small(config_);
  EXPECT_EQ(small.Map({0, 128, kReadWrite}), Mmu::MapResult::kDone);
  EXPECT_EQ(small.Map({128, 128, kReadWrite}), Mmu::MapResult::kDone);
  EXPECT_EQ(small.Map({256, 128, kReadWrite}), Mmu::MapResult::kTableFull);
}

TEST_F(MmuTest, RegionsAndCoresThatTheCardDoesNotHaveAreIgnored) {
  const auto functions = static_cast<unsigned>(config_.num_vfs + 1);
  mmu_.SetRegion(functions, 0, {0, kGiB, kReadWrite});
  mmu_.SetRegion(1, kRegions, {0, kGiB, kReadWrite});
  mmu_.SetCores(functions, 1);
  EXPECT_EQ(mmu_.region(1, 0).length, 0u);
  mmu_.SetCores(1, 0xF);
  EXPECT_EQ(mmu_.cores(1), 0xFu);
  EXPECT_EQ(mmu_.cores(2), UINT32_MAX) << "at first a function may use them all";
}

TEST_F(MmuTest, AVirtualFunctionSeesItsRegionsAsSegmentsAndNothingElse) {
  mmu_.SetRegion(1, 0, {0, kGiB, kReadWrite});
  mmu_.SetRegion(2, 0, {kGiB, kGiB, kReadWrite});
  const SegmentTable one = mmu_.Segments(1, {});
  const Translation inside =
      mmu_.Translate(1, one, SegmentAddress(0, kGiB - 128), 128, kPermissionWrite);
  EXPECT_EQ(inside.status, Status::OK);
  EXPECT_EQ(inside.grant.address(), kGiB - 128);
  EXPECT_EQ(mmu_.Translate(1, one, SegmentAddress(0, kGiB - 128), 256, kPermissionRead).status,
            Status::PAGE_FAULT);
  EXPECT_EQ(mmu_.Translate(1, one, SegmentAddress(1, 0), 128, kPermissionRead).status,
            Status::PAGE_FAULT);
  EXPECT_EQ(mmu_.CheckPhysical(1, kGiB, 128, kPermissionRead), Status::PAGE_FAULT)
      << "memory of VF 2";
}

TEST_F(MmuTest, AGrantStandsUntilSomethingIsTakenAway) {
  mmu_.SetRegion(1, 0, {0, kGiB, kReadWrite});
  mmu_.SetRegion(2, 0, {kGiB, kGiB, kReadWrite});
  EXPECT_FALSE(Grant().stands());
  EXPECT_FALSE(mmu_.Ask(1, kGiB, 128, kPermissionRead).grant.stands()) << "memory of VF 2";
  const Grant grant = mmu_.Ask(1, 1024, 4096, kPermissionRead).grant;
  EXPECT_TRUE(grant.stands());
  EXPECT_EQ(grant.function(), 1u);
  EXPECT_TRUE(grant.Permits(kPermissionRead));
  EXPECT_FALSE(grant.Permits(kPermissionWrite));
  mmu_.Map({0, 128, kReadWrite});
  EXPECT_TRUE(grant.stands()) << "something more is nothing less";
  mmu_.SetRegion(1, 0, {});
  EXPECT_FALSE(grant.stands());
  EXPECT_EQ(mmu_.Ask(1, 1024, 4096, kPermissionRead).status, Status::PAGE_FAULT);
  Grant of_two = mmu_.Ask(2, kGiB, 128, kPermissionRead).grant;
  EXPECT_TRUE(of_two.stands());
  mmu_.UnmapAll();
  EXPECT_FALSE(of_two.stands()) << "it has to ask again";
}

TEST_F(MmuTest, APartOfAGrantLiesInIt) {
  mmu_.Map({0, 4096, kReadWrite});
  Grant grant = mmu_.Ask(0, 1024, 1024, kPermissionRead).grant;
  const Grant part = grant.Part(128, 896);
  EXPECT_EQ(part.address(), 1152u);
  EXPECT_EQ(part.bytes(), 896u);
  EXPECT_TRUE(part.stands());
  EXPECT_THROW(grant.Part(128, 897), Error);
  EXPECT_THROW(grant.Part(1025, 0), Error);
  EXPECT_THROW(grant.Part(~0ull, 2), Error);
  EXPECT_EQ(grant.Take(256).bytes(), 256u);
  EXPECT_EQ(grant.address(), 1280u);
  EXPECT_EQ(grant.bytes(), 768u);
}

TEST_F(MmuTest, SegmentSevenEndsWithTheProgram) {
  mmu_.Map({0, 4096, kReadWrite | kPermissionExecute});
  const SegmentTable segments = mmu_.Segments(0, {1024, 512, kReadWrite});
  EXPECT_EQ(mmu_.Translate(0, segments, kProgramBase + 384, 128, kPermissionRead).grant.address(),
            1408u);
  EXPECT_EQ(mmu_.Translate(0, segments, kProgramBase + 512, 128, kPermissionRead).status,
            Status::PAGE_FAULT);
  EXPECT_EQ(mmu_.Translate(0, segments, 8 * kSegmentBytes, 128, kPermissionRead).status,
            Status::PAGE_FAULT);
}

}  // namespace
}  // namespace spyre::model::mmu_test
