// SPDX-License-Identifier: Apache-2.0
// The reference: values worked out by hand, and the order of additions.
#include "cosim/reference/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim::reference_test {
namespace {

using ::testing::ElementsAre;

std::vector<uint16_t> Halves(const std::vector<double>& values) {
  std::vector<uint16_t> halves;
  for (const double value : values) halves.push_back(NearestHalf(value));
  return halves;
}

std::vector<double> Values(const ReferenceProblem& problem) {
  const auto reference = MakeReference(problem);
  std::vector<uint16_t> results(static_cast<size_t>(reference->elements()));
  reference->Compute(0, reference->elements(), results.data());
  std::vector<double> values;
  for (const uint16_t half : results) values.push_back(HalfValue(half));
  return values;
}

std::vector<uint16_t> RandomHalves(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> halves;
  for (int64_t i = 0; i < count; ++i)
    halves.push_back(NearestHalf((static_cast<int>(random() % 4096) - 2048) / 1024.0));
  return halves;
}

TEST(Reference, SmallMatmulByHand) {
  const auto a = Halves({1, 2, 3, 4, 5, 6});
  const auto b = Halves({1, 0, -1, 2, 0.5, 1});
  ReferenceProblem problem{"matmul"};
  problem.m = 2, problem.k = 3, problem.n = 2;
  problem.a = a.data(), problem.b = b.data();
  EXPECT_THAT(Values(problem), ElementsAre(0.5, 7, 2, 16));
}

TEST(Reference, BatchesAreIndependent) {
  const auto a = Halves({2, 3});
  const auto b = Halves({10, 100});
  ReferenceProblem problem{"batchmatmul"};
  problem.batch = 2, problem.a = a.data(), problem.b = b.data();
  EXPECT_THAT(Values(problem), ElementsAre(20, 300));
}

// 2^24 + 1 is not a float: ones added to it one by one vanish, ones added up first do not. Inputs
// 4096 * 4096 = 2^24.
TEST(Reference, ChunksOf64AreSummedBeforeTheyAreAdded) {
  // First chunk: 2^24 and 63 lost ones. Second: 64 ones. Third: -2^24, back into float16's range.
  std::vector<double> a(192, 0.0), b(192, 0.0);
  std::fill_n(a.begin(), 128, 1.0);
  std::fill_n(b.begin(), 128, 1.0);
  a[0] = b[0] = 4096;
  a[128] = -4096, b[128] = 4096;
  const auto ha = Halves(a), hb = Halves(b);
  ReferenceProblem problem{"matmul"};
  problem.k = 192, problem.a = ha.data(), problem.b = hb.data();
  EXPECT_THAT(Values(problem), ElementsAre(64));
  EXPECT_EQ(MakeReference(problem)->Ideal(0), 127);
}

TEST(Reference, SlicesAreSummedBeforeTheyAreAddedInOrder) {
  // Chunks of 64: [2^24], [-2^24], [1], [1]. Slices of two chunks give (0) + (2).
  std::vector<double> a(256, 0.0), b(256, 0.0);
  a[0] = b[0] = 4096;
  a[64] = -4096, b[64] = 4096;
  a[128] = b[128] = 1;
  a[192] = b[192] = 1;
  const auto ha = Halves(a), hb = Halves(b);
  ReferenceProblem problem{"matmul"};
  problem.k = 256, problem.a = ha.data(), problem.b = hb.data(), problem.slice_ends = {128, 256};
  EXPECT_THAT(Values(problem), ElementsAre(2));
  // One slice each of [1], [2^24], [-2^24], [1] instead: the first 1 is lost.
  std::rotate(a.begin(), a.begin() + 192, a.end());
  std::rotate(b.begin(), b.begin() + 192, b.end());
  const auto ra = Halves(a), rb = Halves(b);
  problem.a = ra.data(), problem.b = rb.data(), problem.slice_ends = {64, 128, 192, 256};
  EXPECT_THAT(Values(problem), ElementsAre(1));
}

TEST(Reference, TilesAreRoundedBeforeAndAfterTheyAreAdded) {
  // 1024 + 1.5 is 1026 (a step is 2, ties away from zero); 1026 + 1.5 is 1028.
  std::vector<double> a(192, 0.0), b(192, 1.0);
  a[0] = 1024, a[64] = 1.5, a[128] = 1.5;
  const auto ha = Halves(a), hb = Halves(b);
  ReferenceProblem problem{"matmul"};
  problem.k = 192, problem.a = ha.data(), problem.b = hb.data();
  EXPECT_THAT(Values(problem), ElementsAre(1028)) << "1027, rounded once";
  problem.tile_ends = {128, 192};
  EXPECT_THAT(Values(problem), ElementsAre(1028)) << "1025.5 is 1026, 1027.5 is 1028";
  a[64] = 0.75, a[128] = 0.75;
  const auto small = Halves(a);
  problem.a = small.data();
  problem.tile_ends = {};
  EXPECT_THAT(Values(problem), ElementsAre(1026)) << "1025.5, rounded once";
  problem.tile_ends = {64, 128, 192};
  EXPECT_THAT(Values(problem), ElementsAre(1024)) << "each 0.75 is lost";
  ReferenceProblem sum{"sum"};
  sum.cols = 192, sum.a = small.data();
  EXPECT_THAT(Values(sum), ElementsAre(1026));
  sum.tile_ends = {64, 128, 192};
  EXPECT_THAT(Values(sum), ElementsAre(1024));
}

TEST(Reference, PartsOfAMatmulAreThoseOfTheWhole) {
  const auto a = RandomHalves(2 * 7 * 150, 1), b = RandomHalves(2 * 150 * 37, 2);
  ReferenceProblem problem{"batchmatmul"};
  problem.batch = 2, problem.m = 7, problem.k = 150, problem.n = 37;
  problem.slice_ends = {64, 128, 150};
  problem.a = a.data(), problem.b = b.data();
  const auto reference = MakeReference(problem);
  const int64_t total = reference->elements();
  std::vector<uint16_t> whole(static_cast<size_t>(total));
  reference->Compute(0, total, whole.data());
  for (int64_t begin = 0; begin < total; begin += 13) {
    const int64_t end = std::min(total, begin + 1 + begin % 80);
    std::vector<uint16_t> part(static_cast<size_t>(end - begin));
    reference->Compute(begin, end, part.data());
    for (int64_t i = begin; i < end; ++i) {
      ASSERT_EQ(part[static_cast<size_t>(i - begin)], whole[static_cast<size_t>(i)])
          << "element " << i << " of [" << begin << ", " << end << ")";
    }
  }
}

TEST(Reference, VectorFormOfMatmulAddsLikeAScalarLoop) {
  const int64_t m = 5, k = 200, n = 19, slice = 128;
  const auto a = RandomHalves(m * k, 3), b = RandomHalves(k * n, 4);
  ReferenceProblem problem{"matmul"};
  problem.m = m, problem.k = k, problem.n = n, problem.slice_ends = {slice, k};
  problem.a = a.data(), problem.b = b.data();
  const std::vector<double> values = Values(problem);
  const auto value = [](uint16_t half) { return static_cast<float>(SenValue(SenOfHalf(half))); };
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float total = 0;
      for (int64_t s = 0; s < k; s += slice) {
        float sum = 0;
        for (int64_t c = s; c < std::min(k, s + slice); c += 64) {
          float chunk = 0;
          for (int64_t kk = c; kk < std::min({k, s + slice, c + 64}); ++kk)
            chunk += value(a[i * k + kk]) * value(b[kk * n + j]);
          sum += chunk;
        }
        total += sum;
      }
      EXPECT_EQ(values[static_cast<size_t>(i * n + j)],
                HalfValue(HalfOfSen(NearestSen(double{total}))))
          << i << ", " << j;
    }
  }
}

TEST(Reference, UnaryFunctionsAtKnownPoints) {
  const auto at = [](const std::string& op, double x) {
    const auto a = Halves({x});
    ReferenceProblem problem{op};
    problem.a = a.data();
    return Values(problem)[0];
  };
  EXPECT_EQ(at("copy", 3.5), 3.5);
  EXPECT_EQ(at("neg", 3.5), -3.5);
  EXPECT_EQ(at("abs", -3.5), 3.5);
  EXPECT_EQ(at("relu", -3.5), 0);
  EXPECT_EQ(at("relu", 3.5), 3.5);
  EXPECT_EQ(at("exp", 0), 1);
  EXPECT_EQ(at("exp", 1), 2.71875);  // e = 2.71828, steps of 1/256
  EXPECT_EQ(at("gelu", 0), 0);
  EXPECT_EQ(at("gelu", 1), 0.841796875);  // 0.841345, steps of 1/1024
  EXPECT_EQ(at("gelu", -20), 0);
  EXPECT_EQ(at("sigmoid", 0), 0.5);
  EXPECT_EQ(at("tanh", 0), 0);
  EXPECT_EQ(at("tanh", 10), 1);
  EXPECT_EQ(at("sqrt", 4), 2);
  EXPECT_EQ(at("rsqrt", 4), 0.5);
  EXPECT_EQ(at("reciprocal", -8), -0.125);
  EXPECT_TRUE(std::isnan(at("sqrt", -1)));
  EXPECT_TRUE(std::isnan(at("reciprocal", 0))) << "infinity is NINF on the card";
}

TEST(Reference, BinaryFunctionsAtKnownPoints) {
  const auto at = [](const std::string& op, double x, double y) {
    const auto a = Halves({x}), b = Halves({y});
    ReferenceProblem problem{op};
    problem.a = a.data(), problem.b = b.data();
    return Values(problem)[0];
  };
  EXPECT_EQ(at("add", 1.5, 2), 3.5);
  EXPECT_EQ(at("sub", 1.5, 2), -0.5);
  EXPECT_EQ(at("mul", 1.5, -2), -3);
  EXPECT_EQ(at("div", 1, 3), 0.33349609375);  // 1/3 in 9 fraction bits
  EXPECT_EQ(at("max", 1, -3), 1);
  EXPECT_EQ(at("min", 1, -3), -3);
}

TEST(Reference, ReductionsOfRowsAndColumns) {
  const auto a = Halves({1, 2, 3, 4, 5, 6});
  ReferenceProblem problem{"sum"};
  problem.rows = 2, problem.cols = 3, problem.a = a.data();
  EXPECT_THAT(Values(problem), ElementsAre(6, 15));
  problem.reduce_rows = true;
  EXPECT_THAT(Values(problem), ElementsAre(5, 7, 9));
  problem.op = "mean";
  EXPECT_THAT(Values(problem), ElementsAre(2.5, 3.5, 4.5));
  problem.op = "amax";
  EXPECT_THAT(Values(problem), ElementsAre(4, 5, 6));
  problem.op = "amin", problem.reduce_rows = false;
  EXPECT_THAT(Values(problem), ElementsAre(1, 4));
  problem.op = "prod";
  EXPECT_THAT(Values(problem), ElementsAre(6, 120));
}

TEST(Reference, SoftmaxRoundsEveryStep) {
  const auto a = Halves({0, 0, 0, 0, 1, 0});
  ReferenceProblem problem{"softmax"};
  problem.rows = 2, problem.cols = 3, problem.a = a.data();
  const std::vector<double> values = Values(problem);
  EXPECT_EQ(values[0], 0.33349609375);
  // exp(-1) = 0.367879 -> 0.36767578125; 1 + 2 * that, its reciprocal, then the product.
  const auto rounded = [](double value) { return SenValue(NearestSen(value)); };
  const double e = rounded(std::exp(-1.0));
  EXPECT_EQ(e, 0.36767578125);
  const double scale = rounded(1 / rounded(1 + 2 * e));
  EXPECT_EQ(values[4], scale);
  EXPECT_EQ(values[3], rounded(e * scale));
}

TEST(Reference, UnknownOperationIsRefused) { EXPECT_THROW(MakeReference({"convolve"}), Error); }

}  // namespace
}  // namespace spyre::cosim::reference_test
