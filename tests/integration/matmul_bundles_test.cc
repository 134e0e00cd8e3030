// SPDX-License-Identifier: Apache-2.0
// Products in bundles: which of an operand's dimensions may be in its sticks.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "tests/integration/float64_product.h"
#include "tests/integration/program_fixture.h"
#include "tests/integration/written_bundle.h"

namespace spyre::cosim::matmul_bundles_test {
namespace {

using compiler::SuperDsc;
using nlohmann::json;

// out[b, m, n] = sum over k of a[b, m, k] * b[b, k, n], as images of sticks: what an operand has in
// its sticks is decided by a test. Two batches, and k in two slices on two cores each.
class MatmulBundles : public test::ProgramFixture {
 protected:
  enum Dim : int { kBatch, kM, kN, kK };
  static constexpr int64_t kStick = 64;

  struct Sizes {
    int64_t batch = 1, m = kStick, n = kStick, k = kStick;
    int slices = 1;  // of k
  };

  int64_t SizeOf(const Sizes& sizes, int dim) const {
    return dim == kBatch ? sizes.batch : dim == kM ? sizes.m : dim == kN ? sizes.n : sizes.k;
  }
  static int64_t Up(int64_t value) { return (value + kStick - 1) / kStick * kStick; }

  // Where element (row, column) of a matrix with rows `outer` and sticks along `stick` is in its
  // image: sticks of a column block after each other.
  struct Image {
    std::vector<int> order;  // innermost first
    int stick;
  };
  int64_t Offset(const Sizes& sizes, const Image& image, const std::array<int64_t, 4>& at) const {
    int64_t offset = 0, stride = kStick;
    for (const int dim : image.order) {
      const int64_t size = SizeOf(sizes, dim);
      if (dim == image.stick) {
        offset += at[dim] % kStick + at[dim] / kStick * stride;
        stride *= Up(size) / kStick;
      } else {
        offset += at[dim] * stride;
        stride *= size;
      }
    }
    return offset;
  }
  // One matrix of an image, row by row.
  std::vector<double> Matrix(const std::vector<double>& values, const Sizes& sizes,
                             const Image& image, int64_t batch, int rows, int columns) const {
    std::vector<double> matrix;
    std::array<int64_t, 4> at{};
    at[kBatch] = batch;
    for (at[rows] = 0; at[rows] < SizeOf(sizes, rows); ++at[rows]) {
      for (at[columns] = 0; at[columns] < SizeOf(sizes, columns); ++at[columns])
        matrix.push_back(values[static_cast<size_t>(Offset(sizes, image, at))]);
    }
    return matrix;
  }
  int64_t Elements(const Sizes& sizes, const Image& image) const {
    int64_t elements = 1;
    for (const int dim : image.order)
      elements *= dim == image.stick ? Up(SizeOf(sizes, dim)) : SizeOf(sizes, dim);
    return elements;
  }

  std::vector<double> WriteImage(const std::string& name, const Sizes& sizes, const Image& image,
                                 int salt) const {
    std::vector<double> values(static_cast<size_t>(Elements(sizes, image)));
    std::vector<float> data(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto mixed = static_cast<int64_t>((i * 2654435761u + static_cast<unsigned>(salt)) >> 7);
      values[i] = static_cast<double>(mixed % 17 - 8) / 8;
      data[i] = static_cast<float>(values[i]);
    }
    WriteNpy(dir_ + "/" + name, "f4", {static_cast<int64_t>(values.size()) / kStick, kStick},
             data.data());
    return values;
  }

  // Writes the bundle, and runs it with random numbers; `shown` is what the program said.
  void ExpectProduct(const Sizes& sizes, int a_stick, int b_stick,
                     const std::string& options = "") {
    const Image a{{kBatch, a_stick == kK ? kM : kK, a_stick}, a_stick};
    const Image b{{kBatch, b_stick == kN ? kK : kN, b_stick}, b_stick};
    const Image out{{kBatch, kM, kN}, kN};
    WriteBundle(sizes, a, b, out);
    const std::vector<double> left = WriteImage("a.npy", sizes, a, 1);
    const std::vector<double> right = WriteImage("b.npy", sizes, b, 2);
    const Outcome outcome = Call("run bundle --no-progress --out out --args a.npy,b.npy" + options);
    ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_EQ(SortedJsonOf(Read("out/report.json"))["verified"]["mismatches"], 0);
    const NpyArray got =
        ReadNpy(dir_ + "/out/a2.npy", "out", "f4", {Elements(sizes, out) / kStick, kStick});
    for (int64_t batch = 0; batch < sizes.batch; ++batch) {
      const std::vector<double> expected =
          test::Float64Product(Matrix(left, sizes, a, batch, kM, kK),
                               Matrix(right, sizes, b, batch, kK, kN), sizes.m, sizes.k, sizes.n);
      for (int64_t m = 0; m < sizes.m; ++m) {
        for (int64_t n = 0; n < sizes.n; ++n) {
          const double sum = expected[static_cast<size_t>(m * sizes.n + n)];
          float value = 0;
          std::memcpy(&value, &got.data[4 * static_cast<size_t>(Offset(sizes, out, {batch, m, n}))],
                      sizeof value);
          ASSERT_NEAR(value, sum, std::fabs(sum) / 512 + 1e-6) << batch << ", " << m << ", " << n;
        }
      }
    }
  }

  void WriteBundle(const Sizes& sizes, const Image& a, const Image& b, const Image& out) const {
    SuperDsc dsc;
    dsc.op = "batchmatmul";
    dsc.unit = "pt";
    dsc.dims = {{"x", sizes.batch, 1, static_cast<int>(sizes.batch)},
                {"mb", sizes.m, sizes.m, 1},
                {"out", sizes.n, sizes.n, 1},
                {"in", sizes.k, sizes.k / sizes.slices, sizes.slices}};
    const DataFormat format = DataFormat::kSen169Fp16;
    dsc.tensors = {test::WrittenTensor("Tensor0", "INPUT", format, a.order, a.stick),
                   test::WrittenTensor("Tensor1", "KERNEL", format, b.order, b.stick),
                   test::WrittenTensor("Tensor2", "OUTPUT", format, out.order, out.stick)};
    const std::array<const Image*, 3> images{&a, &b, &out};
    for (int batch = 0; batch < sizes.batch; ++batch) {
      for (int slice = 0; slice < sizes.slices; ++slice) {
        dsc.cores.push_back(static_cast<int>(dsc.cores.size()));
        dsc.slice.push_back({batch, 0, 0, slice});
        for (size_t t = 0; t < images.size(); ++t) {
          const int64_t first = t == 2 ? 0 : slice * (sizes.k / sizes.slices);
          dsc.tensors[t].start.push_back(2 * Offset(sizes, *images[t], {batch, 0, 0, first}));
        }
      }
    }
    dsc.inputs = {0, 1};
    dsc.outputs = {2};
    std::filesystem::create_directories(dir_ + "/bundle");
    for (const test::WrittenFile& file : test::WrittenBundle({{dsc, {0, 1, 2}}}, 3))
      Write("bundle/" + file.name, file.text);
  }
};

struct Layout {
  const char* name;
  int a_stick, b_stick;
};

class MatmulLayouts : public MatmulBundles, public ::testing::WithParamInterface<Layout> {};

TEST_P(MatmulLayouts, SticksOfEitherDimensionGiveTheProduct) {
  ExpectProduct({2, 192, 128, 256, 2}, GetParam().a_stick, GetParam().b_stick);
}

// Cores that share a k of 96 have 24 elements each, where no operand has it in its sticks.
TEST_P(MatmulLayouts, SticksThatEndInPartGiveTheProduct) {
  const bool in_sticks = GetParam().a_stick == kK || GetParam().b_stick == kK;
  // Lanes behind the end of an operand's sticks are data of the test, and zero where it is
  // transposed.
  const int64_t n = GetParam().b_stick == kN ? 128 : 100;
  ExpectProduct({2, 40, n, 96, in_sticks ? 1 : 4}, GetParam().a_stick, GetParam().b_stick);
}

// Each core has several tiles of rows, columns and k.
TEST_P(MatmulLayouts, TilesOfALargeOneGiveTheProduct) {
  ExpectProduct({1, 640, 704, 640, 1}, GetParam().a_stick, GetParam().b_stick);
}

INSTANTIATE_TEST_SUITE_P(Sticks, MatmulLayouts,
                         ::testing::Values(Layout{"AsTheArrayTakesThem", 3, 2},
                                           Layout{"RowsInTheFirst", 1, 2},
                                           Layout{"SumInTheSecond", 3, 3},
                                           Layout{"BothTransposed", 1, 3}),
                         [](const auto& layout) { return layout.param.name; });

// The time of a transpose is a key of the card, which a product without one does not depend on.
TEST_F(MatmulBundles, TransposingAnOperandTakesTimeOfTheVectorUnit) {
  const auto ns = [&](int a_stick, int passes) {
    ExpectProduct({1, 128, 128, 128, 1}, a_stick, kN,
                  " --set card.core.vector_transpose_cost=" + std::to_string(passes));
    const json step = SortedJsonOf(Read("out/report.json"))["bundle"]["programs"][0]["steps"][0];
    return step["device_ns"].get<double>();
  };
  EXPECT_GT(ns(kM, 64), ns(kM, 2));
  EXPECT_EQ(ns(kK, 64), ns(kK, 2));
}

}  // namespace
}  // namespace spyre::cosim::matmul_bundles_test
