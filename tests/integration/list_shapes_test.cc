// SPDX-License-Identifier: Apache-2.0
// Lists of operations on tensors of any shape: sizes of 1, six dimensions or none, slices within
// sticks. Whole runs against loops over the files that the runs wrote.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/list_fixture.h"

namespace spyre::cosim::list_shapes_test {
namespace {

using ListShapes = test::ListFixture;
using test::Off;

// Dimensions of one letter; the sum over those that the result has not.
struct Product {
  const char* name;
  std::map<char, size_t> size;
  std::string a, b, out;
};
void PrintTo(const Product& product, std::ostream* stream) { *stream << product.name; }

size_t Place(const std::string& dims, const std::map<char, size_t>& size,
             const std::map<char, size_t>& at) {
  size_t place = 0;
  for (const char dim : dims) place = place * size.at(dim) + at.at(dim);
  return place;
}

std::vector<double> Sums(const Product& product, const std::vector<double>& a,
                         const std::vector<double>& b) {
  size_t all = 1, results = 1;
  for (const auto& [dim, size] : product.size) all *= size;
  for (const char dim : product.out) results *= product.size.at(dim);
  std::vector<double> sums(results);
  std::map<char, size_t> at;
  for (size_t i = 0; i < all; ++i) {
    size_t rest = i;
    for (const auto& [dim, size] : product.size) {
      at[dim] = rest % size;
      rest /= size;
    }
    sums[Place(product.out, product.size, at)] +=
        a[Place(product.a, product.size, at)] * b[Place(product.b, product.size, at)];
  }
  return sums;
}

std::string DimsOf(const std::string& dims) {
  std::vector<std::string> names;
  for (const char dim : dims) names.push_back(fmt::format("\"{}\"", dim));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

class ListProducts : public ListShapes, public ::testing::WithParamInterface<Product> {};

TEST_P(ListProducts, AreTheSumsOverWhatTheResultHasNot) {
  const Product& product = GetParam();
  std::string sizes, summed;
  for (const auto& [dim, size] : product.size) {
    sizes += fmt::format("{}\"{}\": {}", sizes.empty() ? "" : ", ", dim, size);
    if (product.out.find(dim) == std::string::npos) summed += dim;
  }
  Run(fmt::format(
      R"({{"dims": {{{}}}, "tensors": [{{"name": "a", "dims": {}}}, {{"name": "b", "dims": {}}}],
    "ops": [{{"op": "matmul", "inputs": ["a", "b"], "dim": {}, "output": "y", "dims": {}}}]}})",
      sizes, DimsOf(product.a), DimsOf(product.b), DimsOf(summed), DimsOf(product.out)));
  EXPECT_LT(Off(Values("y"), Sums(product, Values("a"), Values("b"))), 0.005);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ListProducts,
    ::testing::Values(
        Product{"SeveralColumnsOfTheSecond",
                {{'B', 2}, {'S', 5}, {'K', 96}, {'H', 3}, {'D', 64}},
                "BSK",
                "HDK",
                "BSHD"},
        Product{"AVectorByAMatrix", {{'K', 70}, {'N', 100}}, "K", "KN", "N"},
        Product{"AMatrixByAVector", {{'M', 70}, {'K', 100}}, "MK", "K", "M"},
        Product{"ABatchOfVectors", {{'B', 3}, {'M', 70}, {'K', 65}}, "BMK", "BK", "BM"},
        Product{"OneColumn", {{'M', 64}, {'K', 128}, {'N', 1}}, "MK", "KN", "MN"},
        Product{"OneRowOneColumn", {{'M', 1}, {'K', 65}, {'N', 1}}, "KM", "NK", "MN"},
        Product{"OneTerm", {{'M', 65}, {'K', 1}, {'N', 3}}, "MK", "KN", "NM"},
        Product{"SumsOverThree",
                {{'H', 2}, {'G', 3}, {'S', 5}, {'D', 32}, {'N', 70}},
                "HGSD",
                "NHGD",
                "SN"},
        Product{"SixDimensions",
                {{'A', 2}, {'B', 3}, {'C', 1}, {'D', 2}, {'K', 64}, {'M', 3}, {'N', 5}},
                "ABCDMK",
                "NK",
                "ABCDMN"}),
    [](const auto& test) { return std::string(test.param.name); });

// No whole blocks of 64 by 64, and dimensions of size 1, to and fro.
TEST_F(ListShapes, AnyTwoDimensionsAreExchanged) {
  const std::pair<size_t, size_t> shapes[] = {{100, 300}, {1, 300}, {65, 1}};
  for (size_t i = 0; i < std::size(shapes); ++i) {
    const auto [rows, cols] = shapes[i];
    const std::string dims = fmt::format("{{\"A{0}\": {1}, \"B{0}\": {2}}}", i, rows, cols);
    Write("list.json",
          fmt::format(R"({{"dims": {1}, "tensors": [{{"name": "x", "dims": ["A{0}", "B{0}"]}}],
      "ops": [{{"op": "copy", "inputs": ["x"], "output": "t", "dims": ["B{0}", "A{0}"]}},
              {{"op": "abs", "inputs": ["t"], "output": "y", "dims": ["A{0}", "B{0}"]}}],
      "outputs": ["t", "y"]}})",
                      i, dims));
    const Outcome outcome =
        Call(fmt::format("run list.json --out out{} --set output.inputs=true", i));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto values = [&](const char* name) {
      return test::NpyValues(fmt::format("{}/out{}/{}.npy", dir_, i, name));
    };
    const std::vector<double> x = values("x"), t = values("t"), y = values("y");
    std::vector<double> transposed(rows * cols), magnitudes;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t col = 0; col < cols; ++col) {
        transposed[col * rows + row] = x[row * cols + col];
        magnitudes.push_back(std::abs(x[row * cols + col]));
      }
    }
    EXPECT_LT(Off(t, transposed), 0.001) << "rounded once";
    EXPECT_LT(Off(y, magnitudes), 0.001);
  }
}

// Slices that begin and end within sticks, also of a tensor that has no other dimension.
TEST_F(ListShapes, ASliceBeginsAndEndsAnywhere) {
  Run(R"({"dims": {"R": 5, "C": 200, "P": 77, "Q": 3},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "v", "dims": ["C"]},
                {"name": "one", "dims": []}],
    "ops": [{"op": "slice", "inputs": ["x"], "dim": "C", "start": 21, "into": "P", "output": "s"},
            {"op": "mul", "inputs": ["s", "one"], "output": "y"},
            {"op": "slice", "inputs": ["v"], "dim": "C", "start": 130, "into": "Q", "output": "t"},
            {"op": "sum", "inputs": ["t"], "dim": "Q", "output": "z"}]})");
  const std::vector<double> x = Values("x"), v = Values("v"), one = Values("one");
  std::vector<double> y;
  for (size_t row = 0; row < 5; ++row)
    for (size_t col = 21; col < 21 + 77; ++col) y.push_back(x[row * 200 + col] * one[0]);
  EXPECT_LT(Off(Values("y"), y), 0.003);
  EXPECT_LT(Off(Values("z"), {v[130] + v[131] + v[132]}), 0.003);
}

// A reduction along the stick leaves one element to a stick; a softmax wants them side by side, and
// a factor of each row wants those of a vector one to a stick.
TEST_F(ListShapes, ElementsLieOneToAStickOrSideBySideAsTheirReadersWant) {
  constexpr size_t kR = 70, kC = 100;
  Run(R"({"dims": {"R": 70, "C": 100},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "w", "dims": ["R"]}],
    "ops": [{"op": "sum", "inputs": ["x"], "dim": "C", "output": "s"},
            {"op": "softmax", "inputs": ["s"], "dim": "R", "output": "p"},
            {"op": "mul", "inputs": ["x", "w"], "output": "y"},
            {"op": "add", "inputs": ["s", "w"], "output": "z"},
            {"op": "amax", "inputs": ["w"], "dim": "R", "output": "m"}]})");
  const std::vector<double> x = Values("x"), w = Values("w");
  std::vector<double> p, y, z;
  double all = 0;
  for (size_t row = 0; row < kR; ++row) {
    double sum = 0;
    for (size_t col = 0; col < kC; ++col) {
      sum += x[row * kC + col];
      y.push_back(x[row * kC + col] * w[row]);
    }
    z.push_back(sum + w[row]);
    p.push_back(std::exp(sum));
    all += p.back();
  }
  for (double& value : p) value /= all;
  EXPECT_LT(Off(Values("p"), p), 0.03);
  EXPECT_LT(Off(Values("y"), y), 0.005);
  EXPECT_LT(Off(Values("z"), z), 0.005);
  EXPECT_LT(Off(Values("m"), {*std::max_element(w.begin(), w.end())}), 0.001);
}

// Nine rows of a second operand, from the tenth on: the sum is over no whole sticks.
TEST_F(ListShapes, AMatmulOverAPartOfATensorIsPadded) {
  Run(R"({"dims": {"M": 5, "R": 30, "K": 9, "N": 64},
    "tensors": [{"name": "a", "dims": ["M", "K"]}, {"name": "b", "dims": ["R", "N"]}],
    "ops": [{"op": "slice", "inputs": ["b"], "dim": "R", "start": 10, "into": "K", "output": "p"},
            {"op": "matmul", "inputs": ["a", "p"], "dim": "K", "output": "y"}]})");
  std::vector<double> b = Values("b");
  b = std::vector<double>(b.begin() + 10 * 64, b.begin() + 19 * 64);
  const Product product{"", {{'M', 5}, {'K', 9}, {'N', 64}}, "MK", "KN", "MN"};
  EXPECT_LT(Off(Values("y"), Sums(product, Values("a"), b)), 0.005);
}

}  // namespace
}  // namespace spyre::cosim::list_shapes_test
