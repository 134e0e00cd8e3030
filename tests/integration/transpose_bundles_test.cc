// SPDX-License-Identifier: Apache-2.0
// Changes of sticks in bundles, of tensors that end within a block of 64 by 64 elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "cosim/tensors/reference_numbers.h"
#include "tests/integration/program_fixture.h"
#include "tests/integration/written_bundle.h"

namespace spyre::cosim::transpose_bundles_test {
namespace {

using compiler::SdscTensor;
using compiler::SuperDsc;
using nlohmann::json;

// 70 x 20 elements with columns in their sticks become 20 x 70: two steps, with what is between
// them in LX.
class TransposeBundles : public test::ProgramFixture {
 protected:
  enum Dim : int { kRow, kColumn };
  static constexpr int64_t kRows = 70, kColumns = 20, kStick = 64;

  static SdscTensor Tensor(const char* name, bool transposed) {
    SdscTensor tensor = test::WrittenTensor(
        name, transposed ? "KERNEL" : "OUTPUT", DataFormat::kSen169Fp16,
        transposed ? std::vector<int>{kColumn, kRow} : std::vector<int>{kRow, kColumn},
        transposed ? kRow : kColumn);
    tensor.start = {0};
    return tensor;
  }
  static SuperDsc Step(bool from_transposed, bool to_transposed) {
    SuperDsc dsc;
    dsc.op = from_transposed == to_transposed ? "identity" : "ReStickifyOpHBM";
    dsc.unit = "sfp";
    dsc.dims = {{"mb", kRows, kRows, 1}, {"out", kColumns, kColumns, 1}};
    dsc.cores = {0};
    dsc.slice = {{0, 0}};
    dsc.tensors = {Tensor("Tensor0", from_transposed), Tensor("Tensor1", to_transposed)};
    dsc.inputs = {0};
    dsc.outputs = {1};
    return dsc;
  }

  // Runs the two steps; the second of them changes the sticks, or the first.
  void ExpectTransposed(bool first_changes) {
    std::filesystem::create_directories(dir_ + "/bundle");
    const std::vector<test::WrittenStep> steps = {{Step(false, first_changes), {0, test::kInLx}},
                                                  {Step(first_changes, true), {test::kInLx, 1}}};
    for (const test::WrittenFile& file : test::WrittenBundle(steps, 2))
      Write("bundle/" + file.name, file.text);
    std::vector<uint16_t> data(kRows * kColumns);
    const auto value = [](int64_t i) { return static_cast<double>(i % 509 - 250); };
    for (size_t i = 0; i < data.size(); ++i) data[i] = NearestHalf(value(static_cast<int64_t>(i)));
    WriteNpy(dir_ + "/x.npy", "f2", {kRows, kColumns}, data.data());
    const Outcome outcome =
        Call("run bundle --no-progress --out out --args x.npy --shape 70x20,20x70");
    ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_EQ(SortedJsonOf(Read("out/report.json"))["verified"]["mismatches"], 0);
    const NpyArray out = ReadNpy(dir_ + "/out/arg_1.npy", "out", "f2", {kColumns, kRows});
    for (int64_t column = 0; column < kColumns; ++column) {
      for (int64_t row = 0; row < kRows; ++row) {
        uint16_t got = 0;
        std::memcpy(&got, &out.data[2 * static_cast<size_t>(column * kRows + row)], sizeof got);
        ASSERT_EQ(HalfValue(got), value(row * kColumns + column)) << row << ", " << column;
      }
    }
  }
};

// As images of sticks: what is behind the end of the result's sticks is zero, whatever the tiles
// before the last one have left in LX.
TEST_F(TransposeBundles, BehindTheEndOfSticksThereAreZerosAlsoInTheLastOfSeveralTiles) {
  constexpr int64_t kMany = 1000;
  SuperDsc dsc = Step(false, true);
  dsc.dims[kRow] = {"mb", kMany, kMany, 1};
  dsc.dims[kColumn] = {"out", kStick, kStick, 1};
  dsc.tensors[1].back_gap = {{kColumn, kStick}};  // no shape is known of arguments with gaps
  std::filesystem::create_directories(dir_ + "/bundle");
  for (const test::WrittenFile& file : test::WrittenBundle({{dsc, {0, 1}}}, 2))
    Write("bundle/" + file.name, file.text);
  const Outcome outcome = Call("run bundle --no-progress --out out");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::HasSubstr("each argument is an image of its sticks"));
}

TEST_F(TransposeBundles, ResultsThatStayInLxMayEndWithinABlock) { ExpectTransposed(true); }

TEST_F(TransposeBundles, OperandsThatStayInLxMayEndWithinABlock) { ExpectTransposed(false); }

}  // namespace
}  // namespace spyre::cosim::transpose_bundles_test
