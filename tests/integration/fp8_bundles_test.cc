// SPDX-License-Identifier: Apache-2.0
// Products of fp8: rows and weights are converted on the card, the weights to sticks of two
// dimensions, and multiplied. Against loops over float64 that round to fp8 by a list of its
// numbers, and know nothing of sticks or cores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "cosim/tensors/reference_numbers.h"
#include "tests/integration/program_fixture.h"
#include "tests/integration/written_bundle.h"
#include "tests/paths.h"

namespace spyre::cosim::fp8_bundles_test {
namespace {

using compiler::SdscTensor;
using compiler::SuperDsc;
using ::testing::HasSubstr;

struct Product {
  int64_t m = 1, k = 64, n = 64;
  int m_cores = 1, n_cores = 1;  // of the product
  int weight_cores = 1;          // that the columns of the weights are converted on
  bool weights_in_lx = false;    // needs as many cores for the product's columns
};

// The numbers of e4m3 that are not negative, in order: 0, then 8 for each exponent, up to 448.
std::vector<double> Fp8Numbers() {
  std::vector<double> numbers;
  for (int code = 0; code < 127; ++code) {
    const int exponent = code / 8;
    numbers.push_back(exponent == 0 ? code % 8 / 8.0 * std::exp2(-6)
                                    : (1 + code % 8 / 8.0) * std::exp2(exponent - 7));
  }
  return numbers;
}
// The nearest of them, of two equally near ones that with the even code.
double ToFp8(double value) {
  static const std::vector<double> numbers = Fp8Numbers();
  const double magnitude = std::min(std::fabs(value), numbers.back());
  const auto above = std::lower_bound(numbers.begin(), numbers.end(), magnitude);
  const auto at = static_cast<size_t>(above - numbers.begin());
  double nearest = *above;
  if (at > 0) {
    const double up = *above - magnitude;
    const double down = magnitude - numbers[at - 1];
    if (down < up || (down == up && at % 2 == 1)) nearest = numbers[at - 1];
  }
  return std::copysign(nearest, value);
}

class Fp8Bundles : public test::ProgramFixture {
 protected:
  enum Dim : int { kM, kN, kK };
  enum Argument : int { kRows, kWeights, kOut };

  static int64_t Sticks(int64_t elements, int64_t per_stick) {
    return (elements + per_stick - 1) / per_stick;
  }

  static SuperDsc Step(const std::string& op, std::vector<compiler::SdscDim> dims, int cores,
                       int divided) {
    SuperDsc dsc;
    dsc.op = op;
    dsc.unit = op == "batchmatmulfp8" ? "pt" : "sfp";
    dsc.dims = std::move(dims);
    for (int core = 0; core < cores; ++core) {
      dsc.cores.push_back(core);
      dsc.slice.emplace_back(dsc.dims.size(), 0);
      if (divided >= 0) dsc.slice.back()[static_cast<size_t>(divided)] = core;
    }
    return dsc;
  }

  // The dimension in the sticks is dims[1].
  static test::WrittenStep Conversion(const Product& p, bool weights) {
    const int cores = weights ? p.weight_cores : 1;
    const int64_t rows = weights ? p.k : p.m;
    const int64_t columns = weights ? p.n : p.k;
    SuperDsc dsc =
        Step(weights ? "qfp8wt" : "qfp8ch",
             {{"mb", rows, rows, 1}, {"out", columns, columns / cores, cores}}, cores, 1);
    dsc.tensors = {test::WrittenTensor("Tensor0", "OUTPUT", DataFormat::kSen169Fp16, {0, 1}, 1),
                   test::WrittenTensor("Tensor1", "KERNEL", DataFormat::kSen143Fp8, {0, 1}, 1)};
    if (weights) {
      dsc.tensors[1].stick_dims = {0, 1};
      dsc.tensors[1].stick_sizes = {2, 64};
    }
    for (int core = 0; core < cores; ++core) {
      const int64_t column = columns / cores / 64 * core;
      dsc.tensors[0].start.push_back(column * rows * 128);
      dsc.tensors[1].start.push_back(weights ? WeightsStart(p, column) : 0);
    }
    dsc.inputs = {0};
    dsc.outputs = {1};
    return {dsc, {weights ? kWeights : kRows, weights ? WeightsPlace(p) : test::kInPool}};
  }

  // The converted rows are at the begin of the pool, the weights behind them or in LX.
  static int WeightsPlace(const Product& p) {
    return p.weights_in_lx ? test::kInLx : test::kInPool;
  }
  static int64_t RowsBytes(const Product& p) { return Sticks(p.k, 128) * p.m * 128; }
  static int64_t WeightsStart(const Product& p, int64_t column_of_sticks) {
    return p.weights_in_lx ? 0 : RowsBytes(p) + column_of_sticks * Sticks(p.k, 2) * 128;
  }

  static test::WrittenStep Multiplication(const Product& p) {
    const int cores = p.m_cores * p.n_cores;
    SuperDsc dsc = Step("batchmatmulfp8",
                        {{"mb", p.m, p.m / p.m_cores, p.m_cores},
                         {"out", p.n, p.n / p.n_cores, p.n_cores},
                         {"in", p.k, p.k, 1}},
                        cores, -1);
    dsc.format = DataFormat::kSen143Fp8;
    dsc.tensors = {test::WrittenTensor("Tensor0", "INPUT", DataFormat::kSen143Fp8, {kM, kK}, kK),
                   test::WrittenTensor("Tensor1", "KERNEL", DataFormat::kSen143Fp8, {kK, kN}, kN),
                   test::WrittenTensor("Tensor2", "OUTPUT", DataFormat::kSen169Fp16, {kM, kN}, kN)};
    dsc.tensors[1].stick_dims = {kK, kN};
    dsc.tensors[1].stick_sizes = {2, 64};
    for (int core = 0; core < cores; ++core) {
      const int m = core % p.m_cores, n = core / p.m_cores;
      dsc.slice[static_cast<size_t>(core)] = {m, n, 0};
      const int64_t row = p.m / p.m_cores * m, column = p.n / p.n_cores / 64 * n;
      dsc.tensors[0].start.push_back(row * 128);
      dsc.tensors[1].start.push_back(WeightsStart(p, column));
      dsc.tensors[2].start.push_back((column * p.m + row) * 128);
    }
    dsc.inputs = {0, 1};
    dsc.outputs = {2};
    return {dsc, {test::kInPool, WeightsPlace(p), kOut}};
  }

  void WriteBundle(const Product& p) const {
    std::vector<test::WrittenStep> steps = {Conversion(p, false), Conversion(p, true),
                                            Multiplication(p)};
    const int64_t weights = Sticks(p.n, 64) * Sticks(p.k, 2) * 128;
    std::filesystem::remove_all(dir_ + "/bundle");
    std::filesystem::create_directories(dir_ + "/bundle");
    for (const test::WrittenFile& file :
         test::WrittenBundle(std::move(steps), kOut + 1, RowsBytes(p) + weights))
      Write("bundle/" + file.name, file.text);
  }

  // Numbers of up to `range` with more bits than fp8 has.
  std::vector<double> WriteMatrix(const std::string& name, int64_t rows, int64_t columns, int salt,
                                  double range) const {
    std::vector<double> values;
    std::vector<uint16_t> numbers;
    for (int64_t i = 0; i < rows * columns; ++i) {
      const uint32_t mixed = static_cast<uint32_t>(i) * 2654435761u + static_cast<uint32_t>(salt);
      values.push_back((static_cast<int>(mixed >> 8 & 255) - 128) / 128.0 * range);  // eight bits
      numbers.push_back(NearestHalf(values.back()));
    }
    WriteNpy(dir_ + "/" + name, "f2", {rows, columns}, numbers.data());
    return values;
  }

  void Check(const Product& p) const {
    SCOPED_TRACE(fmt::format("{} x {} x {}, cores {} x {}, weights on {}{}", p.m, p.k, p.n,
                             p.m_cores, p.n_cores, p.weight_cores,
                             p.weights_in_lx ? " in LX" : ""));
    WriteBundle(p);
    const std::vector<double> a = WriteMatrix("a.npy", p.m, p.k, 1, 2);
    const std::vector<double> b = WriteMatrix("b.npy", p.k, p.n, 2, 608);  // some beyond 448
    const Outcome run =
        Call(fmt::format("run bundle --no-progress --out out --shape {0}x{1},{1}x{2},{0}x{2} "
                         "--args a.npy,b.npy",
                         p.m, p.k, p.n));
    ASSERT_EQ(run.status, 0) << run.out << run.err;
    EXPECT_EQ(SortedJsonOf(Read("out/report.json"))["verified"]["mismatches"], 0);
    const NpyArray read = ReadNpy(dir_ + "/out/arg_2.npy", "out", "f2", {p.m, p.n});
    double largest = 0;
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double expected = 0, magnitude = 0;
        for (int64_t kk = 0; kk < p.k; ++kk) {
          const double product = ToFp8(a[static_cast<size_t>(i * p.k + kk)]) *
                                 ToFp8(b[static_cast<size_t>(kk * p.n + j)]);
          expected += product;
          magnitude += std::fabs(product);
        }
        largest = std::max(largest, std::fabs(expected));
        const auto at = static_cast<size_t>(2 * (i * p.n + j));
        const double got = HalfValue(static_cast<uint16_t>(read.data[at] | read.data[at + 1] << 8));
        ASSERT_NEAR(got, expected, std::fabs(expected) / 512 + magnitude * 1e-6)
            << "row " << i << ", column " << j;
      }
    }
    EXPECT_GT(largest, 100);
  }
};

TEST_F(Fp8Bundles, ProductsOfConvertedRowsAndWeightsAreThoseOfTheirRoundedNumbers) {
  Check({1, 128, 64});
  Check({3, 256, 128, 3, 1});
  Check({8, 384, 192, 2, 3, 3});
  Check({70, 128, 64});
}

TEST_F(Fp8Bundles, DepthsThatFillNeitherSticksNorPairsAreSummedToTheirEnd) {
  Check({2, 100, 64});
  Check({2, 67, 128, 1, 2});  // the last stick of weights holds one row
  Check({5, 64, 64});         // the last pair of rows' sticks has one
  Check({2, 1, 64});
  Check({4, 193, 128, 2, 1, 2});
}

TEST_F(Fp8Bundles, WeightsThatStayInLxAreReadWhereTheyAre) {
  Check({2, 128, 192, 1, 3, 3, true});
  Check({3, 101, 128, 1, 2, 2, true});
}

TEST_F(Fp8Bundles, SticksOfTwoDimensionsThatNothingTakesAreRefused) {
  WriteBundle({2, 128, 64});
  nlohmann::json file = SortedJsonOf(Read("bundle/sdsc_1.json"));
  nlohmann::json& op = file["1_qfp8wt"]["dscs_"][0]["qfp8wt"];
  op["computeOp_"][0]["opFuncName"] = "neg";
  Write("bundle/sdsc_1.json", file.dump());
  const Outcome other = Call("run bundle --no-progress --out out");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("the sticks of Tensor1 hold two dimensions"));
  op["computeOp_"][0]["opFuncName"] = "qfp8wt";
  op["primaryDsInfo_"]["KERNEL"]["stickSize_"] = {4, 32};
  Write("bundle/sdsc_1.json", file.dump());
  const Outcome four = Call("run bundle --no-progress --out out");
  EXPECT_EQ(four.status, 2);
  EXPECT_THAT(four.err, HasSubstr("4 elements of one"));
}

}  // namespace
}  // namespace spyre::cosim::fp8_bundles_test
