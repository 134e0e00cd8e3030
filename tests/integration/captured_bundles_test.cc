// SPDX-License-Identifier: Apache-2.0
// Bundles that the public front end made of other people's programs, as they are: nothing beside
// them says what their arguments look like. And what a bundle may do with its arguments: write a
// part, read and write, read padding behind the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "cosim/tensors/reference_numbers.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::captured_bundles_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kCaptured = SPYRE_SOURCE_DIR "/tests/data/captured_bundles/";
constexpr const char* kBundles = SPYRE_SOURCE_DIR "/tests/data/bundles/";

// A matrix of the host, in float64.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  Matrix(int64_t r, int64_t c) : rows(r), columns(c), values(static_cast<size_t>(r * c)) {}
  double& at(int64_t r, int64_t c) { return values[static_cast<size_t>(r * columns + c)]; }
  double at(int64_t r, int64_t c) const { return values[static_cast<size_t>(r * columns + c)]; }
};

class CapturedBundles : public test::ProgramFixture {
 protected:
  struct Result {
    int status;
    std::string text;
  };
  Result Run(const std::string& arguments) const {
    const Outcome outcome = Call("run " + arguments + " --out out --no-progress");
    return {outcome.status, outcome.out + outcome.err};
  }
  json OutReport() const { return SortedJsonOf(Read("out/report.json")); }

  // Numbers of 1/8 up to `range`, which float16 and SEN169 hold exactly; returns what was written.
  Matrix WriteMatrix(const std::string& name, int64_t rows, int64_t columns, int salt,
                     int64_t range = 8, std::vector<int64_t> shape = {}) const {
    Matrix matrix(rows, columns);
    std::vector<uint16_t> data;
    for (size_t i = 0; i < matrix.values.size(); ++i) {
      const auto mixed = static_cast<int64_t>((i * 2654435761u + static_cast<unsigned>(salt)) >> 7);
      matrix.values[i] = static_cast<double>(mixed % (2 * range + 1) - range) / 8;
      data.push_back(NearestHalf(matrix.values[i]));
    }
    if (shape.empty()) shape = {rows, columns};
    WriteNpy(dir_ + "/" + name, "f2", shape, data.data());
    return matrix;
  }
  Matrix ReadMatrix(const std::string& name, const std::vector<int64_t>& shape) const {
    const NpyArray array = ReadNpy(dir_ + "/" + name, name, "f2", shape);
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    const int64_t columns = shape.empty() ? 1 : shape.back();
    Matrix matrix(elements / columns, columns);
    for (size_t i = 0; i < matrix.values.size(); ++i)
      matrix.values[i] =
          HalfValue(static_cast<uint16_t>(array.data[2 * i] | array.data[2 * i + 1] << 8));
    return matrix;
  }
};

TEST_F(CapturedBundles, RunBitExactWithNothingBesideThem) {
  for (const auto& entry : std::filesystem::directory_iterator(kCaptured)) {
    SCOPED_TRACE(entry.path().string());
    const Result result = Run(entry.path().string());
    EXPECT_EQ(result.status, 0) << result.text;
    const json verified = OutReport()["verified"];
    EXPECT_EQ(verified["mismatches"], 0);
    EXPECT_GT(verified["elements"], 0);
  }
}

TEST_F(CapturedBundles, UnknownShapesAreSaidAndOutputsAreImagesOfSticks) {
  std::filesystem::copy(std::string(kBundles) + "symbolic_args/loop_rows_flat_k4/loops",
                        dir_ + "/loops");
  std::filesystem::remove(dir_ + "/loops/op_spec.py.txt");
  const Result result = Run("loops");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("shapes not known: each argument is an image of its sticks"));
  // 64 x 128 elements: a row of 64 for each of 128 sticks.
  EXPECT_NO_THROW(ReadNpy(dir_ + "/out/arg_2.npy", "out", "f4", {128, 64}));
}

// A number times [24, 65, 2, 3] with its last two dimensions exchanged: blocks of 64 by 64, of
// which 2 by 3 elements are there, into LX, which ends with them.
TEST_F(CapturedBundles, ATranspositionIntoLxWritesTheRowsThatThereAre) {
  const Matrix x = WriteMatrix("x.npy", 24 * 65 * 2, 3, 1, 8, {24, 65, 2, 3});
  const Matrix factor = WriteMatrix("factor.npy", 1, 1, 2, 8, {1});
  const Result result = Run(std::string(kCaptured) +
                            "transposition_into_lx --shape 24x65x2x3,1,24x65x3x2 "
                            "--args x.npy,factor.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  const Matrix got = ReadMatrix("out/arg_2.npy", {24, 65, 3, 2});
  for (int64_t outer = 0; outer < 24 * 65; ++outer) {
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        ASSERT_EQ(got.at(outer * 3 + j, i), x.at(outer * 2 + i, j) * factor.at(0, 0))
            << outer << ' ' << i << ' ' << j;
      }
    }
  }
}

// The output of attention with a factor for each key, over keys that lie transposed.
TEST_F(CapturedBundles, AttentionThatIsShuffledBetweenCoresIsAttention) {
  constexpr int64_t kKeys = 256;
  constexpr int64_t kWidth = 128;
  const Matrix k = WriteMatrix("k.npy", kKeys, kWidth, 1, 3);
  const Matrix q = WriteMatrix("q.npy", kKeys, kWidth, 2, 3);
  const Matrix factor = WriteMatrix("f.npy", 1, kKeys, 3, 2, {kKeys});
  const Matrix v = WriteMatrix("v.npy", kKeys, kWidth, 4);
  const Result result = Run(std::string(kCaptured) +
                            "attention_shuffle --shape 256x128,256x128,256,256x128,256x128 "
                            "--args k.npy,q.npy,f.npy,v.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, ::testing::Not(HasSubstr("shapes not known")));
  const Matrix got = ReadMatrix("out/arg_4.npy", {kKeys, kWidth});
  double largest_error = 0;
  for (int64_t row = 0; row < kKeys; ++row) {
    std::vector<double> weight(kKeys);
    double most = -INFINITY;
    for (int64_t key = 0; key < kKeys; ++key) {
      for (int64_t i = 0; i < kWidth; ++i) weight[key] += q.at(row, i) * k.at(key, i);
      weight[key] *= factor.at(0, key);
      most = std::max(most, weight[key]);
    }
    double sum = 0;
    for (double& w : weight) sum += w = std::exp(w - most);
    for (int64_t column = 0; column < kWidth; ++column) {
      double expected = 0;
      for (int64_t key = 0; key < kKeys; ++key) expected += weight[key] / sum * v.at(key, column);
      largest_error = std::max(largest_error, std::fabs(got.at(row, column) - expected));
    }
  }
  EXPECT_LT(largest_error, 0.01) << "of values up to 1";
}

// mean(x) over all three dimensions of 3 x 7 x 9, the second of which is divided over seven cores.
TEST_F(CapturedBundles, AMeanOverThreeDimensionsOfWhichOneIsDividedIsTheMean) {
  const Matrix x = WriteMatrix("x.npy", 21, 9, 5, 16, {3, 7, 9});
  const Result result =
      Run(std::string(kCaptured) + "mean_of_three_dimensions --shape 3x7x9,1x1x1 --args x.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  double sum = 0;
  for (const double value : x.values) sum += value;
  const Matrix got = ReadMatrix("out/arg_1.npy", {1, 1, 1});
  EXPECT_NEAR(got.values[0], sum / 189, std::fabs(sum / 189) / 512 + 1e-6);
}

// A change of sticks of 8 x 13 x 128 whose walk has 64 rows for 13 in memory, as torch-spyre emits
// it before the second matmul of an attention: what lies behind the rows is never read.
TEST_F(CapturedBundles, ATranspositionOfRowsThatAreNoWholeStickPadsWithZeros) {
  constexpr int64_t kHeads = 8, kRows = 13, kWidth = 128, kStick = 64;
  std::vector<float> x(kHeads * kRows * kWidth);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 251) - 100;
  WriteNpy(dir_ + "/x.npy", "f4", {kHeads * kRows * kWidth / kStick, kStick}, x.data());
  const Result result = Run(std::string(kCaptured) + "transposition_of_13_rows --args x.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  const NpyArray out = ReadNpy(dir_ + "/out/arg_1.npy", "out", "f4", {kHeads * kWidth, kStick});
  std::vector<float> got(kHeads * kWidth * kStick);
  std::memcpy(got.data(), out.data.data(), got.size() * sizeof(float));
  for (int64_t head = 0; head < kHeads; ++head) {
    for (int64_t column = 0; column < kWidth; ++column) {
      for (int64_t row = 0; row < kStick; ++row) {
        const float expected =
            row < kRows ? x[static_cast<size_t>((head * kRows + row) * kWidth + column)] : 0;
        ASSERT_EQ(got[static_cast<size_t>((head * kWidth + column) * kStick + row)], expected)
            << head << ", " << row << ", " << column;
      }
    }
  }
}

// t @ t.T of 100 x 64: torch-spyre hands both operands the tensor that it has transposed for the
// second, walks 128 rows of the result, and divides them in halves of 64 that begin 50 rows apart.
TEST_F(CapturedBundles, AProductWithItsOwnTransposeIsThatProduct) {
  constexpr int64_t kRows = 100, kWidth = 64;
  const Matrix t = WriteMatrix("t.npy", kRows, kWidth, 3);
  const Result result = Run(std::string(kCaptured) +
                            "product_with_own_transpose --shape 100x64,100x100 --args t.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("100 elements of 'mb' are walked as 128 in 2 slices"));
  const Matrix got = ReadMatrix("out/arg_1.npy", {kRows, kRows});
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kRows; ++column) {
      double expected = 0;
      for (int64_t i = 0; i < kWidth; ++i) expected += t.at(row, i) * t.at(column, i);
      ASSERT_NEAR(got.at(row, column), expected, std::fabs(expected) / 512 + 1e-6)
          << row << ", " << column;
    }
  }
}

// 96 rows of a table of 128 x 256, and rows of 128 x 256 that are overwritten by those of 3 x 256.
class IndexedBundles : public CapturedBundles {
 protected:
  static constexpr int64_t kTable = 128;
  static constexpr int64_t kColumns = 256;
  static constexpr int64_t kGathered = 96;

  void WriteIndices(const std::string& name, const std::vector<int64_t>& indices) const {
    WriteNpy(dir_ + "/" + name, "i8", {static_cast<int64_t>(indices.size())}, indices.data());
  }
  Result Gather(const std::vector<int64_t>& indices) const {
    WriteIndices("index.npy", indices);
    return Run(std::string(kCaptured) +
               "gather_rows --shape 128x256,96:int64,96x256 --args table.npy,index.npy");
  }
  Result Scatter(const std::vector<int64_t>& indices) const {
    WriteIndices("index.npy", indices);
    return Run(std::string(kCaptured) +
               "scatter_rows --shape 128x256,3:int64,3x256,128x256 "
               "--args table.npy,index.npy,rows.npy");
  }
  // Nanoseconds of a step of the run.
  double StepNs(size_t step) const {
    return OutReport()["bundle"]["programs"][0]["steps"].at(step)["device_ns"].get<double>();
  }
};

TEST_F(IndexedBundles, AGatherTakesTheRowsThatItsIndicesName) {
  const Matrix table = WriteMatrix("table.npy", kTable, kColumns, 1);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < kGathered; ++i) indices.push_back(i * i * 37 % kTable);
  indices.back() = kTable - 1;
  const Result result = Gather(indices);
  ASSERT_EQ(result.status, 0) << result.text;
  const Matrix got = ReadMatrix("out/arg_2.npy", {kGathered, kColumns});
  for (int64_t row = 0; row < kGathered; ++row) {
    for (int64_t column = 0; column < kColumns; ++column)
      ASSERT_EQ(got.at(row, column), table.at(indices[row], column)) << row << ", " << column;
  }
}

TEST_F(IndexedBundles, AScatterWritesTheRowsThatItsIndicesNameAndTheLastOfEqualOnesStays) {
  Matrix expected = WriteMatrix("table.npy", kTable, kColumns, 1);
  const Matrix rows = WriteMatrix("rows.npy", 3, kColumns, 2);
  const std::vector<int64_t> indices = {127, 5, 127};
  const Result result = Scatter(indices);
  ASSERT_EQ(result.status, 0) << result.text;
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t column = 0; column < kColumns; ++column)
      expected.at(indices[i], column) = rows.at(i, column);
  }
  const Matrix got = ReadMatrix("out/arg_3.npy", {kTable, kColumns});
  EXPECT_EQ(got.values, expected.values);
}

// The scatter's first step copies its table as it lies; the gather moves fewer sticks.
TEST_F(IndexedBundles, SticksThatLieScatteredTakeLongerThanAdjacentOnes) {
  WriteMatrix("table.npy", kTable, kColumns, 1);
  WriteMatrix("rows.npy", 3, kColumns, 2);
  ASSERT_EQ(Scatter({0, 1, 2}).status, 0);
  const double adjacent_ns = StepNs(0) / static_cast<double>(kTable * kColumns / 64);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < kGathered; ++i) indices.push_back(i * 37 % kTable);
  ASSERT_EQ(Gather(indices).status, 0);
  const double scattered_ns = StepNs(1) / static_cast<double>(kGathered * kColumns / 64);
  EXPECT_GT(scattered_ns, 1.8 * adjacent_ns) << "ns for a stick";
}

TEST_F(IndexedBundles, AnIndexOutOfRangeIsAFaultOfTheCardThatNamesTheTensorAndTheIndex) {
  WriteMatrix("table.npy", kTable, kColumns, 1);
  WriteMatrix("rows.npy", 3, kColumns, 2);
  std::vector<int64_t> indices(kGathered, 3);
  indices[40] = kTable;
  const Result gather = Gather(indices);
  EXPECT_EQ(gather.status, 3) << gather.text;
  EXPECT_THAT(gather.text, AllOf(HasSubstr("INDEX_RANGE"),
                                 HasSubstr("index 128 in arg_1 (Tensor0 of sdsc_1.json)")));
  const Result scatter = Scatter({0, 1, -1});
  EXPECT_EQ(scatter.status, 3) << scatter.text;
  EXPECT_THAT(scatter.text, HasSubstr("index -1 in arg_1 (Tensor0 of sdsc_2.json)"));
}

TEST_F(CapturedBundles, WhatABundleDoesNotWriteOfAnArgumentStays) {
  // The addition of 64 x 128 fills half of an output of 128 x 128: its first columns of sticks.
  WriteMatrix("a.npy", 64, 128, 1);
  WriteMatrix("b.npy", 64, 128, 2);
  const Matrix before = WriteMatrix("before.npy", 128, 128, 3);
  const std::string add = std::string(kBundles) + "symbolic_args/add_64x128_rows4/flat";
  const Result result = Run(add + " --shape 64x128,64x128,128x128 --args a.npy,b.npy,before.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_EQ(OutReport()["verified"]["mismatches"], 0);
  const Matrix after = ReadMatrix("out/arg_2.npy", {128, 128});
  int64_t changed = 0;
  for (int64_t row = 0; row < 128; ++row) {
    for (int64_t column = 0; column < 128; ++column) {
      if (column < 64) {
        changed += after.at(row, column) != before.at(row, column) ? 1 : 0;
      } else {
        ASSERT_EQ(after.at(row, column), before.at(row, column)) << row << ", " << column;
      }
    }
  }
  EXPECT_GT(changed, 128 * 64 / 2);
}

// x @ y for a k of 128, of which the caller has 100: the lanes behind those are zero in x, and the
// rows of y behind those are whatever follows it in memory.
class PaddedMatmul : public CapturedBundles {
 protected:
  void SetUp() override {
    CapturedBundles::SetUp();
    const auto tensor = [](bool input, int index, const std::string& size, const char* row,
                           const char* column) {
      return fmt::format(
          "TensorArg(is_input={}, arg_index={}, device_dtype=DataFormats.SEN169_FP16, "
          "device_size={}, device_coordinates=[sympify('floor({}/64)'), sympify('{}'), "
          "sympify('Mod({}, 64)')], allocation={{'hbm': {}}})",
          input ? "True" : "False", index, size, column, row, column, index);
    };
    Write("mm.py.txt",
          "[OpSpec(op='batchmatmul', is_reduction=True, iteration_space={sympify('c0'): "
          "(sympify('32'), 4), sympify('c1'): (sympify('64'), 1), sympify('c2'): (sympify('128'), "
          "1)}, op_info={}, symbolic_dim_bounds={}, args=[" +
              tensor(true, 0, "[2, 32, 64]", "c0", "c2") + ", " +
              tensor(true, 1, "[1, 128, 64]", "c2", "c1") + ", " +
              tensor(false, 2, "[1, 32, 64]", "c0", "c1") + "])]");
    const Outcome compiled = Call("compile mm.py.txt -o code --bundle mm");
    ASSERT_EQ(compiled.status, 0) << compiled.err;
  }
};

TEST_F(PaddedMatmul, ReadsOfPaddingBehindAnArgumentPass) {
  const Matrix x = WriteMatrix("x.npy", 32, 100, 1);
  const Matrix y = WriteMatrix("y.npy", 100, 64, 2);
  const Result result = Run("mm --shape 32x100,100x64,32x64 --args x.npy,y.npy");
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text,
              HasSubstr("has 12800 bytes on the device, but the bundle reaches over 16384; it "
                        "reads there, and no result depends on it"));
  const Matrix got = ReadMatrix("out/arg_2.npy", {32, 64});
  for (int64_t row = 0; row < 32; ++row) {
    for (int64_t column = 0; column < 64; ++column) {
      double expected = 0;
      for (int64_t i = 0; i < 100; ++i) expected += x.at(row, i) * y.at(i, column);
      ASSERT_NEAR(got.at(row, column), expected, std::fabs(expected) / 512 + 1e-6);
    }
  }
}

// What follows y in memory here is the result, which is allocated next.
TEST_F(PaddedMatmul, WhatLiesBehindAnArgumentDoesNotChangeAResult) {
  WriteMatrix("x.npy", 32, 100, 1);
  WriteMatrix("y.npy", 100, 64, 2);
  const std::string run = "mm --shape 32x100,100x64,64x64 --args x.npy,y.npy,";
  std::string results[2];
  for (const int pattern : {0, 1}) {
    WriteMatrix("behind.npy", 64, 64, 7 + pattern);
    const Result result = Run(run + "behind.npy");
    ASSERT_EQ(result.status, 0) << result.text;
    const Matrix got = ReadMatrix("out/arg_2.npy", {64, 64});
    for (size_t i = 0; i < 32 * 64; ++i) results[pattern] += fmt::format("{} ", got.values[i]);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(PaddedMatmul, AWrongShapeIsStillCaught) {
  for (const auto& [shapes, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {"32x128,100x64,32x64", "argument 1 ('arg_1') of shape [100, 64] has 12800 bytes"},
           {"16x128,128x64,32x64", "argument 0 ('arg_0') of shape [16, 128] has 4096 bytes"},
           {"32x128,128x64,16x64", "argument 2 ('arg_2') of shape [16, 64] has 2048 bytes"}}) {
    const Result result = Run(std::string("mm --shape ") + shapes);
    EXPECT_EQ(result.status, 2) << shapes;
    EXPECT_THAT(result.text, AllOf(HasSubstr(message), HasSubstr("the bundle reaches over")));
  }
}

}  // namespace
}  // namespace spyre::cosim::captured_bundles_test
