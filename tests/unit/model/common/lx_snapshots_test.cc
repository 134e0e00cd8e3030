// SPDX-License-Identifier: Apache-2.0
#include "model/common/lx_snapshots.h"

#include <gtest/gtest.h>

#include <vector>

namespace spyre::model::lx_snapshots_test {
namespace {

class LxSnapshotsTest : public ::testing::Test {
 protected:
  LxSnapshotsTest() : lx_(2, std::vector<uint8_t>(16384, 1)) {
    for (std::vector<uint8_t>& lx : lx_) snapshots_.AddLx(lx.data(), lx.size());
  }
  // Both LXs get `bytes` bytes of `value` at `at`.
  void Multicast(uint64_t at, uint64_t bytes, uint8_t value) {
    const std::vector<uint8_t> data(bytes, value);
    LxSnapshots::Snapshot* const snapshot = snapshots_.Take(data.data(), bytes, 2);
    for (std::vector<uint8_t>& lx : lx_)
      snapshots_.Note(snapshots_.LxOf(lx.data()), {lx.data() + at, bytes}, snapshot);
    snapshots_.Release(snapshot);
  }

  std::vector<std::vector<uint8_t>> lx_;
  LxSnapshots snapshots_;
};

TEST_F(LxSnapshotsTest, BytesAreCopiedWhenTheyAreNeededInPlace) {
  Multicast(1000, 512, 7);
  EXPECT_EQ(lx_[0][1000], 1) << "a note only";
  snapshots_.Settle({lx_[0].data(), 1000});
  EXPECT_EQ(lx_[0][1000], 1) << "ends before it";
  snapshots_.Settle({lx_[0].data() + 1511, 1});
  EXPECT_EQ(lx_[0][1000], 7) << "the last of its bytes";
  EXPECT_EQ(lx_[0][1511], 7);
  EXPECT_EQ(lx_[0][1512], 1);
  EXPECT_EQ(lx_[1][1000], 1) << "of the other LX";
}

TEST_F(LxSnapshotsTest, BytesThatAreReplacedAreNotCopied) {
  Multicast(512, 4096, 7);
  snapshots_.Drop({lx_[0].data() + 512, 4096});
  snapshots_.Settle({lx_[0].data(), 16384});
  EXPECT_EQ(lx_[0][512], 1);
}

TEST_F(LxSnapshotsTest, AReplacedPartLeavesTheRestInPlace) {
  Multicast(512, 4096, 7);
  snapshots_.Drop({lx_[0].data() + 4096, 4096});
  EXPECT_EQ(lx_[0][512], 7);
  EXPECT_EQ(lx_[0][4095], 7);
}

TEST_F(LxSnapshotsTest, AMatmulFindsItsWeightsWhereTheyAre) {
  Multicast(640, 4096, 7);
  const LxSnapshots::Place place = snapshots_.Find(lx_[1].data() + 640 + 4000, 96);
  ASSERT_NE(place.snapshot, nullptr);
  EXPECT_EQ(place.at, place.snapshot->bytes.data() + 4000);
  EXPECT_EQ(snapshots_.Find(lx_[1].data() + 640 + 4000, 97).snapshot, nullptr) << "partly beyond";
  EXPECT_EQ(snapshots_.Find(lx_[1].data() + 639, 2).snapshot, nullptr) << "partly before";
  EXPECT_EQ(snapshots_.Find(place.at, 8).snapshot, nullptr) << "in no LX";
}

TEST_F(LxSnapshotsTest, ASnapshotIsUsedAgainWhenNobodyRefersToIt) {
  const std::vector<uint8_t> data(512, 3);
  LxSnapshots::Snapshot* const first = snapshots_.Take(data.data(), 512, 1);
  snapshots_.Note(snapshots_.LxOf(lx_[0].data()), {lx_[0].data(), 512}, first);
  snapshots_.Release(first);
  LxSnapshots::Snapshot* const second = snapshots_.Take(data.data(), 512, 1);
  EXPECT_NE(second, first) << "the note refers to it";
  snapshots_.Settle({lx_[0].data(), 1});
  EXPECT_EQ(snapshots_.Take(data.data(), 512, 1), first);
}

TEST_F(LxSnapshotsTest, LxsAreFoundByTheirAddresses) {
  const int first = snapshots_.LxOf(lx_[0].data());
  EXPECT_NE(first, LxSnapshots::kNoLx);
  EXPECT_EQ(snapshots_.LxOf(lx_[0].data() + 16383), first);
  EXPECT_EQ(snapshots_.LxOf(lx_[1].data()), 1 - first);
  const uint8_t elsewhere = 0;
  EXPECT_EQ(snapshots_.LxOf(&elsewhere), LxSnapshots::kNoLx);
}

}  // namespace
}  // namespace spyre::model::lx_snapshots_test
