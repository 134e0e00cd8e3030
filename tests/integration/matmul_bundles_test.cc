// SPDX-License-Identifier: Apache-2.0
// Products in bundles: which of an operand's dimensions may be in its sticks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/integration/program_fixture.h"
#include "tests/integration/written_bundle.h"

namespace spyre::cosim::matmul_bundles_test {
namespace {

using compiler::SuperDsc;
using ::testing::HasSubstr;

class MatmulBundles : public test::ProgramFixture {
 protected:
  enum Dim : int { kM, kN, kK };

  // 64 x 64 by 64 x 64 with `stick` in the sticks of the first operand.
  void WriteBundle(int stick) const {
    SuperDsc dsc;
    dsc.op = "batchmatmul";
    dsc.unit = "pt";
    dsc.dims = {{"mb", 64, 64, 1}, {"out", 64, 64, 1}, {"in", 64, 64, 1}};
    dsc.cores = {0};
    dsc.slice = {{0, 0, 0}};
    const DataFormat format = DataFormat::kSen169Fp16;
    dsc.tensors = {test::WrittenTensor("Tensor0", "INPUT", format, {kM, kK}, stick),
                   test::WrittenTensor("Tensor1", "KERNEL", format, {kK, kN}, kN),
                   test::WrittenTensor("Tensor2", "OUTPUT", format, {kM, kN}, kN)};
    for (compiler::SdscTensor& tensor : dsc.tensors) tensor.start = {0};
    dsc.inputs = {0, 1};
    dsc.outputs = {2};
    std::filesystem::create_directories(dir_ + "/bundle");
    for (const test::WrittenFile& file : test::WrittenBundle({{dsc, {0, 1, 2}}}, 3))
      Write("bundle/" + file.name, file.text);
  }
  Outcome Run() { return Call("run bundle --no-progress --out out --shape 64x64,64x64,64x64"); }
};

TEST_F(MatmulBundles, TheSticksOfTheFirstOperandHoldWhatIsSummedOver) {
  WriteBundle(kK);
  const Outcome outcome = Run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

// torch-spyre writes this where a tensor is multiplied by its own transpose.
TEST_F(MatmulBundles, RowsInTheSticksOfTheFirstOperandAreRefused) {
  WriteBundle(kM);
  const Outcome outcome = Run();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("'mb' is in the sticks of the first operand"));
}

}  // namespace
}  // namespace spyre::cosim::matmul_bundles_test
