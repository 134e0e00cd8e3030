// SPDX-License-Identifier: Apache-2.0
// Verification of one operation: what differs, what a sample compares, which values are equal.
#include "cosim/verify/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim::check_test {
namespace {

using ::testing::HasSubstr;

std::vector<uint16_t> Halves(const std::vector<double>& values) {
  std::vector<uint16_t> halves;
  for (const double value : values) halves.push_back(NearestHalf(value));
  return halves;
}

std::vector<uint16_t> RandomHalves(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> halves;
  for (int64_t i = 0; i < count; ++i)
    halves.push_back(NearestHalf((static_cast<int>(random() % 4096) - 2048) / 1024.0));
  return halves;
}

TEST(Verify, CountsAndNamesTheElementsThatDiffer) {
  const auto a = RandomHalves(1000, 5);
  ReferenceProblem problem{"neg"};
  problem.cols = 1000, problem.a = a.data();
  const auto reference = MakeReference(problem);
  std::vector<uint16_t> out(1000);
  reference->Compute(0, 1000, out.data());
  Verification good = Verify(*reference, out.data(), 0, 1);
  EXPECT_TRUE(good.passed());
  EXPECT_EQ(good.elements, 1000);
  EXPECT_EQ(good.error_elements, 1000);
  EXPECT_EQ(good.max_abs_error, 0) << "neg of a device value is exact";

  out[17] ^= 1;
  out[900] ^= 1;
  const Verification bad = Verify(*reference, out.data(), 0, 1);
  EXPECT_EQ(bad.mismatches, 2);
  ASSERT_EQ(bad.first.size(), 2u);
  EXPECT_EQ(bad.first[0].element, 17);
  EXPECT_EQ(bad.first[1].element, 900);
  EXPECT_EQ(bad.first[0].expected, out[17] ^ 1);
  EXPECT_GT(bad.max_abs_error, 0);
}

// Every function, sum and product of the card itself is within what its roundings explain.
TEST(Verify, RoundingExplainsTheDocumentedArithmetic) {
  const auto a = RandomHalves(96 * 640, 8), b = RandomHalves(640 * 48, 9);
  std::vector<ReferenceProblem> problems;
  for (const char* op : {"gelu", "tanh", "exp", "silu", "softmax", "sum", "mean", "amax"}) {
    ReferenceProblem& problem = problems.emplace_back();
    problem.op = op;
    problem.rows = 96, problem.cols = 640, problem.a = a.data();
  }
  for (const bool tiled : {false, true}) {
    ReferenceProblem& problem = problems.emplace_back();
    problem.op = "matmul";
    problem.m = 96, problem.k = 640, problem.n = 48, problem.a = a.data(), problem.b = b.data();
    problem.slice_ends = {256, 640};
    if (tiled) problem.tile_ends = {64, 128, 256, 640};
  }
  for (const ReferenceProblem& problem : problems) {
    const auto reference = MakeReference(problem);
    std::vector<uint16_t> out(static_cast<size_t>(reference->elements()));
    reference->Compute(0, reference->elements(), out.data());
    const Verification result = Verify(*reference, out.data(), 0, 1);
    EXPECT_TRUE(result.passed()) << problem.op;
    ASSERT_TRUE(result.worst);
    EXPECT_LT(result.worst->limit, 0.1 * (1 + std::fabs(result.worst->expected)))
        << problem.op << ": a limit that explains everything finds nothing";
  }
}

// The reference and the card agree bit by bit, and both are infinite: 200 * 400 is finite.
TEST(Verify, AnOverflowIsNotVerified) {
  const auto a = Halves({200}), b = Halves({400});
  ReferenceProblem problem{"mul"};
  problem.a = a.data(), problem.b = b.data();
  const auto reference = MakeReference(problem);
  uint16_t out = 0;
  reference->Compute(0, 1, &out);
  const Verification result = Verify(*reference, &out, 0, 1);
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_EQ(result.not_finite, 1);
  EXPECT_FALSE(result.passed());
}

TEST(Verify, SampleComparesThatManyAndSaysSo) {
  const auto a = RandomHalves(10000, 6);
  ReferenceProblem problem{"copy"};
  problem.cols = 10000, problem.a = a.data();
  const auto reference = MakeReference(problem);
  std::vector<uint16_t> out(10000);
  reference->Compute(0, 10000, out.data());
  const Verification sample = Verify(*reference, out.data(), 100, 3);
  EXPECT_EQ(sample.elements, 100);
  EXPECT_THAT(sample.reference, HasSubstr("over 100 of 10000 elements"));
  for (uint16_t& half : out) half ^= 0x10;
  EXPECT_EQ(Verify(*reference, out.data(), 100, 3).mismatches, 100);
}

TEST(Verify, NanEqualsNanAndZerosDifferInSign) {
  const auto a = Halves({-1, 0});
  ReferenceProblem problem{"sqrt"};
  problem.cols = 2, problem.a = a.data();
  const auto reference = MakeReference(problem);
  const std::vector<uint16_t> nan_and_zero = {0x7FFF, 0x0000};
  EXPECT_TRUE(Verify(*reference, nan_and_zero.data(), 0, 1).passed());
  const std::vector<uint16_t> negative_zero = {0xFE01, 0x8000};
  EXPECT_EQ(Verify(*reference, negative_zero.data(), 0, 1).mismatches, 1);
}

}  // namespace
}  // namespace spyre::cosim::check_test
