// SPDX-License-Identifier: Apache-2.0
#include "model/core/pt_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "model/contract/formats.h"

namespace spyre::model::pt_kernel_test {
namespace {

enum class Values { kAny, kFinite, kWithZerosAndNinf };

// Operands of one MATMUL, with slack between sticks and around everything.
struct Problem {
  int m;
  int n;
  int k;
  int64_t a_stride;
  int64_t b_stride;
  int64_t acc_stride;
  std::vector<uint8_t> a;
  std::vector<uint8_t> b;
  std::vector<uint8_t> acc;
};

uint16_t RandomCode(Values values, std::mt19937& random) {
  switch (values) {
    case Values::kAny:
      return static_cast<uint16_t>(random());
    case Values::kWithZerosAndNinf: {
      const uint32_t pick = random() % 400;
      if (pick == 0) return random() % 2 != 0 ? 0xFFFF : 0x7FFF;
      if (pick < 150) return random() % 2 != 0 ? 0x8000 : 0;
      break;
    }
    case Values::kFinite:
      break;
  }
  // Exponents near one, so that every bit of a sum matters.
  return static_cast<uint16_t>((random() & 0x81FF) | (28 + random() % 6) << 9);
}

Problem MakeProblem(int m, int n, int k, Values values, uint32_t seed) {
  std::mt19937 random(seed);
  Problem p{m,  n,  k, int64_t{m} * 128 + 128, int64_t{k} * 128 + 384, int64_t{m} * 256 + 256,
            {}, {}, {}};
  p.a.resize(static_cast<size_t>((k + 63) / 64 * p.a_stride + 2));
  p.b.resize(static_cast<size_t>(n / 64 * p.b_stride + 2));
  p.acc.resize(static_cast<size_t>(n / 64 * p.acc_stride + 4));
  for (std::vector<uint8_t>* codes : {&p.a, &p.b}) {
    for (size_t i = 0; i + 1 < codes->size(); i += 2) {
      const uint16_t code = RandomCode(values, random);
      std::memcpy(codes->data() + i, &code, sizeof code);
    }
  }
  for (size_t i = 0; i + 3 < p.acc.size(); i += 4) {
    const float value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 7;
    std::memcpy(p.acc.data() + i, &value, sizeof value);
  }
  return p;
}

std::vector<uint8_t> ByDefinition(const Problem& p, bool accumulate) {
  std::vector<uint8_t> acc = p.acc;
  PtMatmulScalar(acc.data(), p.a.data(), p.b.data(), p.m, p.n, p.k, p.a_stride, p.b_stride,
                 p.acc_stride, accumulate);
  return acc;
}

// MATMULs with the same weights as one stack.
class Stacked {
 public:
  Stacked(const PtKernel& kernel, const Problem& first) : kernel_(kernel), first_(first) {
    for (int stick = 0; stick < first.n / 64; ++stick) {
      for (int kk = 0; kk < first.k; kk += kPtPieceSteps)
        weights_.push_back(first.b.data() + stick * first.b_stride + kk * 128);
    }
  }
  void Add(const Problem& p, std::vector<uint8_t>& acc, bool accumulate) {
    for (int i = 0; i < p.m; ++i) {
      rows_.push_back({acc.data() + i * 256, p.acc_stride, accumulate});
      std::vector<float>& values = values_.emplace_back((p.k + 63) / 64 * 64);
      for (int kk = 0; kk < p.k; kk += 64)
        kernel_.widen(p.a.data() + kk / 64 * p.a_stride + i * 128, &values[kk]);
    }
  }
  // In parts, as several threads would do it.
  void Run(const std::vector<PtPart>& parts) {
    std::vector<std::vector<const float*>> a;
    std::vector<PtChunk> chunks;
    for (int kk = 0; kk < first_.k; kk += 64) {
      std::vector<const float*>& pointers = a.emplace_back();
      for (const std::vector<float>& values : values_) pointers.push_back(&values[kk]);
    }
    for (int kk = 0; kk < first_.k; kk += 64) {
      chunks.push_back({a[kk / 64].data(), weights_.data() + kk / kPtPieceSteps,
                        (first_.k + kPtPieceSteps - 1) / kPtPieceSteps,
                        std::min(64, first_.k - kk)});
    }
    const PtStack stack{rows_.data(), chunks.data(), static_cast<int>(chunks.size())};
    for (const PtPart& part : parts) kernel_.multiply(stack, part);
  }

 private:
  const PtKernel& kernel_;
  const Problem& first_;
  std::vector<const uint8_t*> weights_;
  std::vector<PtRow> rows_;
  std::vector<std::vector<float>> values_;
};

std::vector<uint8_t> Multiplied(const PtKernel& kernel, const Problem& p, bool accumulate) {
  std::vector<uint8_t> acc = p.acc;
  Stacked stack(kernel, p);
  stack.Add(p, acc, accumulate);
  stack.Run({{0, p.m, 0, p.n / 64}});
  return acc;
}

// The number of 32-bit words that differ, every NaN counted as the same word.
int Differences(const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
  int count = 0;
  for (size_t i = 0; i + 3 < left.size(); i += 4) {
    float x;
    float y;
    std::memcpy(&x, left.data() + i, sizeof x);
    std::memcpy(&y, right.data() + i, sizeof y);
    const bool same = std::equal(left.data() + i, left.data() + i + 4, right.data() + i) ||
                      (std::isnan(x) && std::isnan(y));
    count += same ? 0 : 1;
  }
  return count;
}

std::string NameOf(const testing::TestParamInfo<Values>& value) {
  const char* names[] = {"AnyBits", "FiniteValues", "WithZerosAndNinf"};
  return names[static_cast<int>(value.param)];
}

class EveryForm : public testing::TestWithParam<Values> {};

TEST_P(EveryForm, EqualsTheScalarFormBitForBit) {
  const int shapes[][3] = {{1, 64, 64},   {1, 128, 200}, {2, 64, 1},    {3, 64, 63},  {4, 128, 65},
                           {5, 64, 128},  {6, 192, 100}, {7, 64, 130},  {8, 64, 64},  {11, 64, 37},
                           {13, 128, 96}, {16, 64, 256}, {19, 64, 300}, {32, 64, 64}, {61, 128, 77},
                           {3, 64, 290},  {30, 128, 600}};
  uint32_t seed = 1;
  for (const auto& [m, n, k] : shapes) {
    const Problem problem = MakeProblem(m, n, k, GetParam(), seed++);
    for (const bool accumulate : {false, true}) {
      const std::vector<uint8_t> expected = ByDefinition(problem, accumulate);
      for (const PtKernel& form : PtKernels()) {
        EXPECT_EQ(Differences(Multiplied(form, problem, accumulate), expected), 0)
            << form.name << " m " << m << " n " << n << " k " << k << " accumulate " << accumulate;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PtMatmul, EveryForm,
                         testing::Values(Values::kAny, Values::kFinite, Values::kWithZerosAndNinf),
                         NameOf);

// Rows of different MATMULs, each with sums and strides of its own, some of which start at zero;
// in four parts, as several threads would do them.
TEST_P(EveryForm, GivesRowsOfManyMatmulsTheBitsThatTheyHaveAlone) {
  const Problem first = MakeProblem(5, 192, 330, GetParam(), 50);
  Problem second = MakeProblem(16, 192, 330, GetParam(), 51);
  second.b = first.b;
  for (const PtKernel& form : PtKernels()) {
    std::vector<uint8_t> first_acc = first.acc, second_acc = second.acc;
    Stacked stack(form, first);
    stack.Add(first, first_acc, true);
    stack.Add(second, second_acc, false);
    stack.Run({{0, 4, 0, 1}, {0, 4, 1, 3}, {4, 21, 1, 3}, {4, 21, 0, 1}});
    EXPECT_EQ(Differences(first_acc, ByDefinition(first, true)), 0) << form.name;
    EXPECT_EQ(Differences(second_acc, ByDefinition(second, false)), 0) << form.name;
  }
}

float At(const std::vector<uint8_t>& acc, size_t index) {
  float value;
  std::memcpy(&value, acc.data() + index * 4, sizeof value);
  return value;
}

void Fill(std::vector<uint8_t>& codes, float value) {
  const uint16_t code = DlfFromFloat(value);
  for (size_t i = 0; i + 1 < codes.size(); i += 2) std::memcpy(codes.data() + i, &code, 2);
}

// 2^24 + 1 is not an fp32 value: whether small terms survive tells the order of additions.
TEST(PtMatmul, AddsWithinChunksOf64StepsThenChunkByChunk) {
  Problem p = MakeProblem(1, 64, 128, Values::kFinite, 3);
  Fill(p.a, 1);
  Fill(p.b, 1);
  const auto set_b = [&](int kk, float value) {
    const uint16_t code = DlfFromFloat(value);
    std::memcpy(p.b.data() + kk * 128, &code, sizeof code);
  };
  set_b(0, 16777216);  // chunk 0: 2^24 + 63 ones, each lost; chunk 1: 64 ones, kept
  for (const PtKernel& form : PtKernels()) {
    EXPECT_EQ(At(Multiplied(form, p, false), 0), 16777216.0F + 64) << form.name;
    EXPECT_EQ(At(Multiplied(form, p, false), 1), 128.0F) << form.name;
  }
  EXPECT_EQ(At(ByDefinition(p, false), 0), 16777216.0F + 64);
  set_b(0, 1);
  set_b(63, 16777216);  // now the 63 ones come first and are kept, rounded to even together
  EXPECT_EQ(At(Multiplied(BestPtKernel(), p, false), 0), 16777216.0F + 64 + 64);
}

TEST(PtMatmul, ReplacesOrAddsToTheAccumulatorAsTold) {
  Problem p = MakeProblem(2, 64, 64, Values::kFinite, 4);
  Fill(p.a, 2);
  Fill(p.b, 3);
  const float before = At(p.acc, 0);
  EXPECT_EQ(At(Multiplied(BestPtKernel(), p, false), 0), 384.0F);
  EXPECT_EQ(At(Multiplied(BestPtKernel(), p, true), 0), before + 384.0F);
}

TEST(PtMatmul, WithNoStepsOnlyZeroesOrKeepsTheAccumulator) {
  Problem p = MakeProblem(3, 64, 64, Values::kFinite, 5);
  p.k = 0;
  for (const PtKernel& form : PtKernels()) {
    EXPECT_EQ(Multiplied(form, p, true), p.acc) << form.name;
    const std::vector<uint8_t> zeroed = Multiplied(form, p, false);
    for (size_t i = 0; i < 3 * 64; ++i) EXPECT_EQ(At(zeroed, i), 0.0F) << form.name;
  }
}

TEST(PtMatmul, OneNinfMakesItsRowOrColumnNinfAndNoOther) {
  Problem p = MakeProblem(7, 64, 64, Values::kFinite, 6);
  const uint16_t ninf = 0x7FFF;
  std::memcpy(p.a.data() + 2 * 128 + 10, &ninf, sizeof ninf);     // row 2
  std::memcpy(p.b.data() + 5 * 128 + 9 * 2, &ninf, sizeof ninf);  // column 9
  for (const PtKernel& form : PtKernels()) {
    const std::vector<uint8_t> acc = Multiplied(form, p, false);
    for (int i = 0; i < 7; ++i) {
      for (int j = 0; j < 64; ++j) {
        const float value = At(acc, static_cast<size_t>(i) * 64 + j);
        EXPECT_EQ(std::isnan(value), i == 2 || j == 9) << form.name << " " << i << "," << j;
        if (std::isnan(value)) {
          EXPECT_EQ(DlfFromFloat(value), kDlfNan);
        }
      }
    }
  }
}

TEST(PtMatmul, GivesTheSameBitsOnSeveralThreadsAtOnce) {
  const Problem problem = MakeProblem(33, 128, 320, Values::kFinite, 8);
  const std::vector<uint8_t> expected = ByDefinition(problem, false);
  std::vector<std::vector<uint8_t>> results(3);
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (auto& result : results) {
    threads.emplace_back([&] { result = Multiplied(BestPtKernel(), problem, false); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace spyre::model::pt_kernel_test
