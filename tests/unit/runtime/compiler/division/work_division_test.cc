// SPDX-License-Identifier: Apache-2.0
// The promises of work division that hold for any operation. passes_test.cc compares samples with
// the public compiler.
#include "runtime/compiler/division/work_division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "model/contract/memory_map.h"
#include "runtime/compiler/ir/ir_json.h"
#include "tests/unit/random_cases.h"
#include "tests/unit/runtime/compiler/op_ir_fixture.h"

namespace spyre::compiler::work_division_test {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

int Product(const std::vector<int>& splits) {
  return std::accumulate(splits.begin(), splits.end(), 1, std::multiplies<>());
}

TEST(DeviceCoordinates, WalkTheSameElementsAsTheLayoutPlacesThere) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto rank = test::Draw<size_t>(random, 1, 3);
    std::vector<int64_t> size(rank);
    for (int64_t& s : size) s = test::DrawOf<int64_t>(random, {1, 2, 3, 64, 65, 128, 200});
    const StickLayout layout = DefaultLayout(size, DataFormat::kSen169Fp16);
    std::vector<LoopVariable> loops;
    IndexExpression index{0, ContiguousStrides(size)};
    std::vector<int64_t> at(rank);
    for (size_t d = 0; d < rank; ++d) {
      loops.push_back({"d" + std::to_string(d), size[d]});
      at[d] = test::Draw<int64_t>(random, 0, size[d] - 1);
    }
    const std::vector<Coordinate> coordinates = DeviceCoordinates(layout, index, loops);
    EXPECT_TRUE(IsStickCoordinate(coordinates.back(), 64));
    // The device address by coordinates against the one by the layout's strides, in elements.
    int64_t by_coordinates = 0;
    for (size_t d = 0; d < coordinates.size(); ++d) {
      by_coordinates = by_coordinates * layout.device_size[d] + coordinates[d].At(at);
    }
    int64_t by_layout = 0;
    for (size_t d = 0; d < rank; ++d) {
      const bool stick = d == rank - 1;
      by_layout += (stick ? at[d] / 64 : at[d]) * layout.DeviceByteStride(static_cast<int>(d)) / 2;
      if (stick) by_layout += at[d] % 64;
    }
    EXPECT_EQ(by_coordinates, by_layout);
  });
}

TEST(DeviceCoordinates, OnlyWholeSticksAreStickCoordinates) {
  const std::vector<LoopVariable> loops = {{"d0", 256}};
  const StickLayout layout = DefaultLayout({256}, DataFormat::kSen169Fp16);
  EXPECT_TRUE(IsStickCoordinate(DeviceCoordinates(layout, {0, {1}}, loops).back(), 64));
  EXPECT_FALSE(IsStickCoordinate(DeviceCoordinates(layout, {1, {1}}, loops).back(), 64));
  EXPECT_FALSE(IsStickCoordinate(DeviceCoordinates(layout, {0, {1}}, loops).back(), 32));
  EXPECT_FALSE(IsStickCoordinate(DeviceCoordinates(layout, {0, {2}}, loops).back(), 64));
  EXPECT_TRUE(IsStickCoordinate({}, 64));
}

TEST(WorkDivision, EveryPieceOfWorkIsDoneByExactlyOneCore) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto m = test::Draw<int64_t>(random, 1, 299);
    const auto n = 64 * test::Draw<int64_t>(random, 1, 79);
    const auto k = 64 * test::Draw<int64_t>(random, 1, 79);
    const auto cores = test::Draw(random, 1, kMaxCores);
    const OpIr op = Matmul(m, k, n);
    const WorkDivision division = DivideWork(op, cores, test::DrawBool(random));
    EXPECT_LE(division.cores_used, cores);
    EXPECT_EQ(division.slice.size(), static_cast<size_t>(division.cores_used));
    EXPECT_EQ(Product(division.splits), division.cores_used);
    EXPECT_EQ(m % division.splits[0], 0);
    EXPECT_EQ(n / 64 % division.splits[1], 0);
    EXPECT_EQ(k / 64 % division.splits[2], 0);
    std::vector<std::vector<int>> slices = division.slice;
    std::sort(slices.begin(), slices.end());
    EXPECT_TRUE(std::unique(slices.begin(), slices.end()) == slices.end());
    for (const auto& row : slices) {
      for (size_t i = 0; i < row.size(); ++i)
        EXPECT_TRUE(row[i] >= 0 && row[i] < division.splits[i]) << row[i];
    }
  });
}

TEST(WorkDivision, ASpanOfExactly256MiBIsLegalAndOneStickMoreIsNot) {
  // [rows, 64] halves: the span is rows * 128 bytes.
  const auto unary = [](int64_t rows) {
    OpIr op;
    op.name = "neg";
    op.loops = {{"r", rows}, {"c", 64}};
    op.inputs = {Tensor("x", {rows, 64}, {64, 1})};
    op.output = Tensor("y", {rows, 64}, {64, 1});
    return op;
  };
  std::vector<std::string> log;
  const OpIr fits = unary(int64_t{2} << 20);
  EXPECT_TRUE(WorkDivider(fits).MustSplit(32, &log).empty());
  const OpIr larger = unary((int64_t{2} << 20) + 2);
  EXPECT_THAT(WorkDivider(larger).MustSplit(32, &log), ElementsAre(std::make_pair(0, 2)));
  EXPECT_TRUE(log.empty());
  const WorkDivision one_core = DivideWork(larger, 1, false);
  EXPECT_EQ(one_core.cores_used, 1);
  ASSERT_EQ(one_core.log.size(), 4u);  // a warning and a critical line for each tensor
  EXPECT_THAT(one_core.log.front(), HasSubstr("WARNING: operation 'neg', tensor 'x'"));
  EXPECT_THAT(one_core.log.back(), HasSubstr("CRITICAL: operation 'neg'"));
}

TEST(WorkDivision, RefusesCoreCountsOutside1To32) {
  for (int cores : {-1, 0, 33}) {
    try {
      DivideWork(Matmul(64, 64, 64), cores, true);
      FAIL() << cores;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.message_kind(), "invalid_sencores");
      EXPECT_THAT(error.what(), HasSubstr("it must be 1..32"));
    }
  }
}

TEST(WorkDivision, RefusesACommittedDimensionThatIsStillListed) {
  EXPECT_THROW(SplitIterationSpace({8, 8}, 32, {0, 1}, {}, {{0, 2}}), CompileError);
  EXPECT_THROW(SplitIterationSpace({8, 8}, 32, {0}, {1}, {{1, 2}}), CompileError);
}

TEST(WorkDivision, OperationsThatNoPassCanComputeAreRefusedByName) {
  const auto refusal = [](const std::function<void(OpIr&)>& change) -> std::string {
    OpIr op = Matmul(64, 64, 64);
    change(op);
    try {
      DivideWork(op, 32, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](OpIr& op) { op.inputs.clear(); }), HasSubstr("'mm': a reduction reads"));
  EXPECT_THAT(refusal([](OpIr& op) { op.loops[1].range = 0; }), HasSubstr("loop n has range 0"));
  EXPECT_THAT(refusal([](OpIr& op) { op.inputs[1].index.coefficient[0] = -1; }),
              HasSubstr("'b': index has constant 0 and coefficient -1 of m"));
  EXPECT_THAT(refusal([](OpIr& op) { op.output.index.coefficient.pop_back(); }),
              HasSubstr("'out': index has 2 coefficients for 3 loops"));
  EXPECT_THAT(refusal([](OpIr& op) { op.loops[0].range = INT64_MAX; }),
              HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(refusal([](OpIr& op) { op.output.layout.device_size[0] = 0; }),
              HasSubstr("device size 0"));
  EXPECT_THAT(refusal([](OpIr& op) { op.output.layout.stride_map.pop_back(); }),
              HasSubstr("3 device sizes and 2 strides"));
}

}  // namespace
}  // namespace spyre::compiler::work_division_test
