// SPDX-License-Identifier: Apache-2.0
#include "model/common/matmul_stacker.h"

#include <gtest/gtest.h>

#include <vector>

namespace spyre::model {
namespace {

struct Call {
  int first_row, last_row;
  int first_stick, last_stick;
  const uint8_t* weights;
  bool operator==(const Call& other) const {
    return first_row == other.first_row && last_row == other.last_row &&
           first_stick == other.first_stick && last_stick == other.last_stick;
  }
};
std::vector<Call>& Calls() {
  static std::vector<Call> calls;
  return calls;
}
void Note(const PtStack& stack, const PtPart& part) {
  Calls().push_back(
      {part.first_row, part.last_row, part.first_stick, part.last_stick, stack.weights[0]});
}

// Three LXs whose weights, one stick of 32 steps at the beginning, came by one multicast.
class MatmulStackerTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kA = 8192, kAcc = 16384;

  MatmulStackerTest() : lx_(3, std::vector<uint8_t>(32768)), stacker_(snapshots_, false) {
    Calls().clear();
    for (std::vector<uint8_t>& lx : lx_) snapshots_.AddLx(lx.data(), lx.size());
    Multicast();
  }
  void Multicast() {
    const std::vector<uint8_t> data(4096, 7);
    LxSnapshots::Snapshot* const snapshot = snapshots_.Take(data.data(), 4096, 3);
    for (std::vector<uint8_t>& lx : lx_) {
      snapshots_.Drop({lx.data(), 4096});
      snapshots_.Note({lx.data(), 4096}, snapshot);
    }
    snapshots_.Release(snapshot);
  }
  void Matmul(int core, uint64_t acc = kAcc, uint64_t a = kA) {
    uint8_t* const lx = lx_[core].data();
    stacker_.Add({lx + acc, lx + a, lx, 2, 64, 32, 256, 4096, 512, true}, Note);
  }

  std::vector<std::vector<uint8_t>> lx_;
  LxSnapshots snapshots_;
  MatmulStacker stacker_;
};

TEST_F(MatmulStackerTest, WaitsForTheMembersOfTheMulticastThenRunsAllRowsAtOnce) {
  Matmul(0);
  Matmul(2);
  EXPECT_TRUE(Calls().empty());
  Matmul(1);
  EXPECT_EQ(Calls(), (std::vector<Call>{{0, 6, 0, 1, nullptr}})) << "two rows of each core";
  EXPECT_EQ(Calls()[0].weights[0], 7);
  EXPECT_EQ(lx_[0][0], 0) << "the weights have never been copied to an LX";
}

TEST_F(MatmulStackerTest, RunsWhatIsThereBeforeSomebodyTouchesSumsOrRows) {
  Matmul(0);
  stacker_.Before({lx_[0].data() + kAcc + 512, 64});
  stacker_.Before({lx_[1].data() + kAcc, 64});
  EXPECT_TRUE(Calls().empty()) << "behind the sums; of another core";
  stacker_.Before({lx_[0].data() + kAcc + 511, 64});
  EXPECT_EQ(Calls().size(), 1U);
  Matmul(1);
  stacker_.Before({lx_[1].data() + kA, 1});
  EXPECT_EQ(Calls().size(), 2U);
}

TEST_F(MatmulStackerTest, AnOverwrittenWeightDoesNotMatterToMatmulsThatWait) {
  Matmul(0);
  Multicast();
  stacker_.Before({lx_[0].data(), 4096});
  EXPECT_TRUE(Calls().empty());
  Matmul(1);  // other weights, although they are the same bytes at the same place
  stacker_.RunAll();
  EXPECT_EQ(Calls().size(), 2U);
}

TEST_F(MatmulStackerTest, MatmulsOfOneCoreThatAddToTheSameSumsStayInOrder) {
  Matmul(0);
  Multicast();
  Matmul(0);
  Matmul(1);  // joins the second: nothing is left of the first's weights
  Matmul(2);
  EXPECT_EQ(Calls(), (std::vector<Call>{{0, 2, 0, 1, nullptr}, {0, 6, 0, 1, nullptr}}));
}

TEST_F(MatmulStackerTest, WeightsThatDidNotComeByMulticastRunAtOnce) {
  snapshots_.Settle({lx_[0].data() + 100, 1});
  Matmul(0);
  EXPECT_EQ(Calls().size(), 1U);
  EXPECT_EQ(Calls()[0].weights, lx_[0].data());
}

}  // namespace
}  // namespace spyre::model
