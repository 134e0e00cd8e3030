// SPDX-License-Identifier: Apache-2.0
// Where bundles of the public front end stop short of what they need: parts of LX that an earlier
// bundle has left, and conversions whose last sticks are not full, or whose cores do not begin
// where the layout puts them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "cosim/tensors/reference_numbers.h"
#include "tests/integration/program_fixture.h"
#include "tests/integration/written_bundle.h"

namespace spyre::cosim::bundle_ends_test {
namespace {

using compiler::SuperDsc;
using ::testing::HasSubstr;

class BundleEnds : public test::ProgramFixture {
 protected:
  void WriteBundle(std::vector<test::WrittenStep> steps, int arguments) const {
    std::filesystem::remove_all(dir_ + "/bundle");
    std::filesystem::create_directories(dir_ + "/bundle");
    for (const test::WrittenFile& file : test::WrittenBundle(std::move(steps), arguments))
      Write("bundle/" + file.name, file.text);
  }
  Outcome Run(const std::string& arguments) const {
    return Call("run bundle --no-progress --out out " + arguments);
  }
  nlohmann::json Report() const { return SortedJsonOf(Read("out/report.json")); }

  // The i-th number is i / 8 modulo 64.
  std::vector<double> WriteHalves(const std::string& name, int64_t rows, int64_t columns) const {
    std::vector<double> values;
    std::vector<uint16_t> numbers;
    for (int64_t i = 0; i < rows * columns; ++i) {
      values.push_back(static_cast<double>(i % 509) / 8);
      numbers.push_back(NearestHalf(values.back()));
    }
    WriteNpy(dir_ + "/" + name, "f2", {rows, columns}, numbers.data());
    return values;
  }
  std::vector<float> ReadFloats(const std::string& name, int64_t rows, int64_t columns) const {
    const NpyArray read = ReadNpy(dir_ + "/" + name, name, "f4", {rows, columns});
    std::vector<float> numbers(static_cast<size_t>(rows * columns));
    std::memcpy(numbers.data(), read.data.data(), numbers.size() * sizeof(float));
    return numbers;
  }

  static SuperDsc Step(const std::string& op, std::vector<compiler::SdscDim> dims, int cores,
                       int divided) {
    SuperDsc dsc;
    dsc.op = op;
    dsc.unit = "sfp";
    dsc.dims = std::move(dims);
    for (int core = 0; core < cores; ++core) {
      dsc.cores.push_back(core);
      dsc.slice.emplace_back(dsc.dims.size(), 0);
      dsc.slice.back()[static_cast<size_t>(divided)] = core;
    }
    dsc.inputs = {0};
    dsc.outputs = {1};
    return dsc;
  }

  // `rows` rows of `columns` numbers from SEN169 to fp32, the columns divided over cores; the wide
  // side has room for `gap` columns more, and core i begins i * `apart` bytes behind core 0.
  static test::WrittenStep Widening(int64_t rows, int64_t columns, int cores, int64_t gap,
                                    int64_t apart) {
    SuperDsc dsc = Step(
        "dl16tofp32", {{"mb", rows, rows, 1}, {"out", columns, columns / cores, cores}}, cores, 1);
    dsc.tensors = {test::WrittenTensor("Tensor0", "OUTPUT", DataFormat::kSen169Fp16, {0, 1}, 1),
                   test::WrittenTensor("Tensor1", "KERNEL", DataFormat::kIeeeFp32, {0, 1}, 1)};
    if (gap > 0) dsc.tensors[1].back_gap = {{1, gap}};
    for (int core = 0; core < cores; ++core) {
      const int64_t sticks = (columns / cores + 63) / 64;
      dsc.tensors[0].start.push_back(core * sticks * rows * 128);
      dsc.tensors[1].start.push_back(core * apart);
    }
    return {dsc, {0, 1}};
  }

  // Runs it with `wide` columns on the wide side, and looks for each column where the alternation
  // of fours puts it.
  Outcome Check(int64_t rows, int64_t columns, int64_t wide) const {
    const std::vector<double> in = WriteHalves("in.npy", rows, columns);
    const Outcome run =
        Run(fmt::format("--shape {0}x{1},{0}x{2}:float32 --args in.npy", rows, columns, wide));
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    if (run.status != 0) return run;
    EXPECT_EQ(Report()["verified"]["mismatches"], 0);
    const std::vector<float> out = ReadFloats("out/arg_1.npy", rows, wide);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t lane = column % 64;
        const int64_t stick = column / 64 * 2 + lane / 4 % 2;
        const int64_t place = stick * 32 + lane / 8 * 4 + lane % 4;
        if (place >= wide) continue;
        EXPECT_EQ(out.at(static_cast<size_t>(row * wide + place)),
                  in.at(static_cast<size_t>(row * columns + column)))
            << "row " << row << ", column " << column;
      }
    }
    return run;
  }
};

TEST_F(BundleEnds, WhatAnEarlierBundleLeftInLxIsAnArgumentOfABundleThatRunsAlone) {
  constexpr int64_t kRows = 4;  // of each of two cores
  SuperDsc copy = Step("identity", {{"mb", 2 * kRows, kRows, 2}, {"out", 64, 64, 1}}, 2, 0);
  copy.tensors = {test::WrittenTensor("Tensor0", "OUTPUT", DataFormat::kSen169Fp16, {0, 1}, 1),
                  test::WrittenTensor("Tensor1", "OUTPUT", DataFormat::kSen169Fp16, {0, 1}, 1)};
  copy.tensors[0].start = {1024, 1024};
  copy.tensors[1].start = {0, kRows * 128};
  WriteBundle({{copy, {test::kInLx, 0}}}, 1);
  const Outcome generated = Run("");
  ASSERT_EQ(generated.status, 0) << generated.out << generated.err;
  EXPECT_THAT(generated.out + generated.err,
              HasSubstr("the argument 'lx' holds what an earlier bundle left there, on 2 cores"));
  EXPECT_THAT(generated.out, HasSubstr("(1 SDSC file"));
  EXPECT_GT(Report()["verified"]["elements"], 0);
  std::vector<float> lx;
  for (int i = 0; i < 2 * kRows * 64; ++i) lx.push_back(static_cast<float>(i % 509) / 8);
  WriteNpy(dir_ + "/lx.npy", "f4", {2 * kRows, 64}, lx.data());
  const Outcome given = Run("--shape 8x64 --args lx.npy");
  ASSERT_EQ(given.status, 0) << given.out << given.err;
  const NpyArray out = ReadNpy(dir_ + "/out/arg_0.npy", "out", "f2", {2 * kRows, 64});
  for (size_t i = 0; i < lx.size(); ++i) {
    ASSERT_EQ(HalfValue(static_cast<uint16_t>(out.data[2 * i] | out.data[2 * i + 1] << 8)), lx[i])
        << "element " << i;
  }
}

TEST_F(BundleEnds, ConversionsOfSticksThatAreNotFullConvertWhatIsThere) {
  // 84 columns: fours of the last twenty are in both sticks of the last pair, and the layout counts
  // one of them as a gap.
  WriteBundle({Widening(3, 84, 1, 32, 0)}, 2);
  Check(3, 84, 128);
}

TEST_F(BundleEnds, AStickThatIsNotThereIsNeitherReadNorWritten) {
  WriteBundle({Widening(2, 20, 1, 0, 0)}, 2);  // of the pair of fp32 sticks there is one
  Check(2, 20, 32);
}

TEST_F(BundleEnds, CoresOfAConversionBeginWhereTheLayoutPutsThem) {
  for (const int64_t apart : {768, 512}) {
    WriteBundle({Widening(4, 128, 2, 0, apart)}, 2);
    const Outcome run = Check(4, 128, 128);
    EXPECT_THAT(run.out + run.err, HasSubstr("the layout counts"));
  }
}

TEST_F(BundleEnds, EachCoreOfAConversionMayEndWithinAStickOfItsOwn) {
  WriteBundle({Widening(1, 68, 2, 32, 192)}, 2);  // 34 columns each
  Check(1, 68, 128);
}

}  // namespace
}  // namespace spyre::cosim::bundle_ends_test
