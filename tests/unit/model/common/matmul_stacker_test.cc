// SPDX-License-Identifier: Apache-2.0
#include "model/common/matmul_stacker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace spyre::model::matmul_stacker_test {
namespace {

using Product = std::tuple<int, int, int>;  // rows, sticks of columns, chunks
std::vector<Product>& Products() {
  static std::vector<Product> products;
  return products;
}
std::vector<const uint8_t*>& Weights() {
  static std::vector<const uint8_t*> weights;
  return weights;
}
const PtKernel kNotes = {
    "notes", [](const uint8_t* stick, float* values) { std::fill_n(values, 64, stick[0]); },
    [](const PtStack& stack, const PtPart& part) {
      Products().emplace_back(part.last_row, part.last_stick, stack.chunk_count);
      Weights().push_back(stack.chunks[0].weights[0]);
    }};

// Three LXs whose weights, one stick of 32 steps at the beginning, came by one multicast.
class MatmulStackerTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kA = 8192, kAcc = 16384;

  MatmulStackerTest() : lx_(3, std::vector<uint8_t>(32768)), stacker_(snapshots_, false) {
    Products().clear();
    Weights().clear();
    for (std::vector<uint8_t>& lx : lx_) snapshots_.AddLx(lx.data(), lx.size());
    Multicast();
  }
  void Multicast() {
    const std::vector<uint8_t> data(4096, 7);
    LxSnapshots::Snapshot* const snapshot = snapshots_.Take(data.data(), 4096, 3);
    for (std::vector<uint8_t>& lx : lx_)
      snapshots_.Note(snapshots_.LxOf(lx.data()), {lx.data(), 4096}, snapshot);
    snapshots_.Release(snapshot);
  }
  // Two rows.
  void Matmul(int core, bool accumulate = true, uint64_t acc = kAcc) {
    uint8_t* const lx = lx_[core].data();
    stacker_.Add({lx + acc, lx + kA, lx, 2, 64, 32, 256, 4096, 512, accumulate}, kNotes);
  }

  std::vector<std::vector<uint8_t>> lx_;
  LxSnapshots snapshots_;
  MatmulStacker stacker_;
};

TEST_F(MatmulStackerTest, RowsOfAllCoresMeetTheirWeightsTogether) {
  for (const int core : {0, 2, 1}) Matmul(core);
  EXPECT_TRUE(Products().empty());
  stacker_.RunAll();
  EXPECT_EQ(Products(), (std::vector<Product>{{6, 1, 1}}));
  EXPECT_EQ(Weights()[0][0], 7);
  EXPECT_EQ(lx_[0][0], 0) << "the weights have never been copied to an LX";
}

TEST_F(MatmulStackerTest, MatmulsThatAddToTheSameSumsRunTogetherWhenThereAreEnough) {
  for (size_t stack = 0; stack < MatmulStacker::kFused; ++stack) {
    EXPECT_TRUE(Products().empty());
    if (stack > 0) Multicast();
    for (const int core : {2, 0, 1}) Matmul(core, stack > 0);
  }
  EXPECT_EQ(Products(), (std::vector<Product>{{6, 1, MatmulStacker::kFused}}));
}

TEST_F(MatmulStackerTest, SumsThatBeginAnewDoNotGoOnWithOldOnes) {
  for (const bool accumulate : {false, true, false}) {
    for (const int core : {0, 1, 2}) Matmul(core, accumulate);
    Multicast();
  }
  stacker_.RunAll();
  EXPECT_EQ(Products(), (std::vector<Product>{{6, 1, 2}, {6, 1, 1}}));
}

TEST_F(MatmulStackerTest, RunsWhatIsThereBeforeSomebodyTouchesItsSums) {
  Matmul(0);
  stacker_.Before({lx_[0].data() + kAcc + 512, 64});
  stacker_.Before({lx_[1].data() + kAcc, 64});
  EXPECT_TRUE(Products().empty()) << "behind the sums; of another core";
  stacker_.Before({lx_[0].data() + kAcc + 511, 64});
  EXPECT_EQ(Products().size(), 1U);
}

TEST_F(MatmulStackerTest, RowsThatAreSumsOfAMatmulThatWaitsComeAfterIt) {
  Matmul(0);
  uint8_t* const lx = lx_[0].data();
  stacker_.Add({lx + 24576, lx + kAcc, lx, 2, 64, 32, 256, 4096, 512, true}, kNotes);
  EXPECT_EQ(Products().size(), 1U);
}

TEST_F(MatmulStackerTest, RowsAreThoseOfTheTimeOfTheMatmul) {
  lx_[0][kA] = 3;
  Matmul(0);
  stacker_.Before({lx_[0].data() + kA, 1});
  lx_[0][kA] = 4;
  EXPECT_TRUE(Products().empty());
  static float value;
  static const PtKernel reads = {"reads", kNotes.widen, [](const PtStack& stack, const PtPart&) {
                                   value = stack.chunks[0].a[0][0];
                                 }};
  uint8_t* const lx = lx_[1].data();
  lx[kA] = 3;
  stacker_.Add({lx + kAcc, lx + kA, lx, 2, 64, 32, 256, 4096, 512, true}, reads);
  lx[kA] = 4;
  stacker_.RunAll();
  EXPECT_EQ(value, 3);
}

TEST_F(MatmulStackerTest, AnOverwrittenWeightDoesNotMatterToMatmulsThatWait) {
  Matmul(0);
  Multicast();
  stacker_.Before({lx_[0].data(), 4096});
  EXPECT_TRUE(Products().empty());
  Matmul(1);  // other weights, although they are the same bytes at the same place
  stacker_.RunAll();
  EXPECT_EQ(Products().size(), 2U);
  EXPECT_NE(Weights()[0], Weights()[1]);
}

TEST_F(MatmulStackerTest, WeightsThatDidNotComeByMulticastRunAtOnce) {
  snapshots_.Settle({lx_[0].data() + 100, 1});
  Matmul(0);
  EXPECT_EQ(Products().size(), 1U);
  EXPECT_EQ(Weights()[0], lx_[0].data());
}

}  // namespace
}  // namespace spyre::model::matmul_stacker_test
