// SPDX-License-Identifier: Apache-2.0
// What a sample of an operation's output must not miss: parts worked out by hand, and wrong tiles
// planted in a right output.
#include "cosim/estimate/output_parts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "cosim/verify/check.h"
#include "cosim/verify/sample.h"

namespace spyre::cosim::output_parts_test {
namespace {

using ::testing::ElementsAre;

compiler::KernelSpec Spec(const std::string& op, std::map<std::string, int64_t> launched) {
  compiler::KernelSpec spec;
  spec.op = op;
  spec.dims = std::move(launched);
  return spec;
}

// Launches of 8 rows, 3 cores with 3, 3 and 2 of them, two corelets a core.
TEST(OutputParts, AreThoseOfLaunchesCoresAndCorelets) {
  compiler::KernelPlan plan;
  plan.split = {{"rows", 3}};
  const auto parts =
      OutputParts(Spec("exp", {{"rows", 8}, {"cols", 64}}), {{"rows", 11}, {"cols", 64}}, plan);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[0], ElementsAre(1, 3, 4, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(parts[1], ElementsAre(32, 64));
}

// Sticks are not divided: of 5 on 2 cores one has 3. A core works on tiles of 128.
TEST(OutputParts, OfAStickDimensionAreWholeSticksOnACore) {
  compiler::KernelPlan plan;
  plan.split = {{"m", 1}, {"n", 2}};
  plan.tile = {{"m", 2}, {"n", 128}};
  const auto parts = OutputParts(Spec("matmul", {{"m", 2}, {"k", 64}, {"n", 320}}),
                                 {{"m", 2}, {"k", 64}, {"n", 320}}, plan);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[0], ElementsAre(1, 2));
  EXPECT_THAT(parts[1], ElementsAre(64, 128, 160, 192, 256, 320));
}

TEST(OutputParts, OfAReductionAreThoseOfTheDimensionThatStays) {
  compiler::KernelSpec spec = Spec("sum", {{"rows", 4}, {"cols", 128}});
  EXPECT_EQ(OutputParts(spec, spec.dims, {}).size(), 1u);
  EXPECT_THAT(OutputParts(spec, spec.dims, {})[0], ElementsAre(2, 4));
  spec.axis = "rows";
  EXPECT_THAT(OutputParts(spec, spec.dims, {})[0], ElementsAre(64, 128));
}

// A kernel for 256 x 512 launched on 1024 x 1024, on 8 x 4 cores: 32 x 128 elements for each. All
// elements of one core in one launch are wrong, or one column of sticks in all of them.
TEST(SampleOfParts, FindsAnyPlantedTileAndColumnOfSticks) {
  constexpr int64_t kSize = 1024, kRows = 32, kCols = 128, kStick = 64;
  compiler::KernelPlan plan;
  plan.split = {{"rows", 8}, {"cols", 4}};
  ReferenceProblem problem{"neg"};
  problem.rows = kSize, problem.cols = kSize;
  CheckOptions options;
  options.sample = true;
  options.parts = OutputParts(Spec("neg", {{"rows", 256}, {"cols", 512}}),
                              {{"rows", kSize}, {"cols", kSize}}, plan);
  std::vector<HostData> inputs(2), outputs(2);
  inputs[0].resize(kSize * kSize * 2);
  outputs[1].resize(kSize * kSize * 2);
  auto* const in = reinterpret_cast<uint16_t*>(inputs[0].data());
  auto* const out = reinterpret_cast<uint16_t*>(outputs[1].data());
  for (int64_t i = 0; i < kSize * kSize; ++i) in[i] = 0x3C00, out[i] = 0xBC00;  // 1, -1
  const Verification right = VerifyOperation(problem, inputs, outputs, options);
  EXPECT_TRUE(right.passed());
  EXPECT_LT(right.elements, kSize * kSize / 50) << "that is what a sample is for";
  EXPECT_EQ(right.total, kSize * kSize);
  const auto plant = [&](int64_t row, int64_t rows, int64_t col, int64_t cols, uint16_t value) {
    for (int64_t r = row; r < row + rows; ++r) std::fill_n(out + r * kSize + col, cols, value);
  };
  const auto found = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
    plant(row, rows, col, cols, 0);
    const bool passed = VerifyOperation(problem, inputs, outputs, options).passed();
    plant(row, rows, col, cols, 0xBC00);
    return !passed;
  };
  for (int64_t row = 0; row < kSize; row += 7 * kRows) {
    for (int64_t col = 0; col < kSize; col += kCols)
      EXPECT_TRUE(found(row, kRows, col, kCols)) << row << ", " << col;
  }
  for (int64_t col = 0; col < kSize; col += kStick)
    EXPECT_TRUE(found(0, kSize, col, kStick)) << "column of sticks " << col / kStick;
}

TEST(SampleOfParts, HasAnElementOfEveryBox) {
  const std::vector<std::vector<int64_t>> parts = {{1, 4, 9}, {2, 3}, {64, 100, 128}};
  const std::vector<int64_t> sample = SampleOfParts(parts, 5);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  const auto part_of = [](const std::vector<int64_t>& ends, int64_t index) {
    return std::upper_bound(ends.begin(), ends.end(), index) - ends.begin();
  };
  std::set<std::vector<int64_t>> boxes;
  for (const int64_t element : sample) {
    boxes.insert({part_of(parts[0], element / (3 * 128)), part_of(parts[1], element / 128 % 3),
                  part_of(parts[2], element % 128)});
  }
  EXPECT_EQ(boxes.size(), 3u * 2 * 3);
}

}  // namespace
}  // namespace spyre::cosim::output_parts_test
