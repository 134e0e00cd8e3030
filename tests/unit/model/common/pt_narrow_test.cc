// SPDX-License-Identifier: Apache-2.0
#include "model/common/pt_narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "model/contract/op_table.h"

namespace spyre::model::pt_narrow_test {
namespace {

// Element `index` of a row of sticks, by the book.
float Element(DataFormat format, const uint8_t* stick, uint64_t index) {
  switch (format) {
    case DataFormat::kSen143Fp8:
      return Fp8E4M3ToFloat(stick[index]);
    case DataFormat::kSen152Fp8:
      return Fp8E5M2ToFloat(stick[index]);
    case DataFormat::kSenInt8:
      return static_cast<float>(static_cast<int8_t>(stick[index]));
    default: {  // SENINT4, low nibble first
      const int nibble = stick[index / 2] >> (index % 2 * 4) & 15;
      return static_cast<float>(nibble >= 8 ? nibble - 16 : nibble);
    }
  }
}

struct Problem {
  MatmulFn fn;
  DataFormat format;
  bool paired;  // two rows of k in a stick of b
  uint64_t m, n, k;
  uint64_t per_stick, columns, k_sticks, n_sticks, b_plane;
  std::vector<uint8_t> a, b;
  std::vector<float> acc;

  Problem(MatmulFn f, uint64_t rows, uint64_t n_columns, uint64_t depth)
      : fn(f),
        format(OperandFormat(f)),
        paired(f == MatmulFn::kSen143Fp8Wt),
        m(rows),
        n(n_columns),
        k(depth) {
    per_stick = static_cast<uint64_t>(ElementsPerStick(format));
    columns = paired ? 64 : per_stick;
    k_sticks = (k + per_stick - 1) / per_stick;
    n_sticks = n / columns;
    b_plane = (paired ? (k + 1) / 2 : k) * 128;
    a.resize(k_sticks * m * 128);
    b.resize(n_sticks * b_plane);
    acc.assign(n * m, 0);
  }
  void Fill(uint32_t seed) {
    std::mt19937 random(seed);
    for (auto* bytes : {&a, &b}) {
      for (uint8_t& byte : *bytes) {
        do byte = static_cast<uint8_t>(random());
        while (format != DataFormat::kSenInt4 && !std::isfinite(Element(format, &byte, 0)));
      }
    }
    for (float& value : acc) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000);
  }
  float A(uint64_t i, uint64_t kk) const {
    const uint8_t* stick = &a[kk / per_stick * m * 128 + i * 128];
    if (!paired) return Element(format, stick, kk % per_stick);
    // The groups of eight of two wide sticks take turns.
    const uint64_t first_or_second = kk % 128 / 64;
    const uint64_t group = kk % 64 / 8;
    return Element(format, stick, (2 * group + first_or_second) * 8 + kk % 8);
  }
  float B(uint64_t kk, uint64_t j) const {
    if (paired) return Element(format, &b[j / 64 * b_plane + kk / 2 * 128], j % 64 * 2 + kk % 2);
    return Element(format, &b[j / per_stick * b_plane + kk * 128], j % per_stick);
  }
  float& Acc(uint64_t i, uint64_t j) { return acc[j / 64 * m * 64 + i * 64 + j % 64]; }
  void Run(bool accumulate) {
    PtMatmulNarrow(fn, {reinterpret_cast<uint8_t*>(acc.data()), a.data(), b.data(), m, n, k,
                        m * 128, b_plane, m * 256, accumulate});
  }
};

constexpr MatmulFn kFunctions[] = {MatmulFn::kSen143Fp8, MatmulFn::kSen152Fp8, MatmulFn::kSenInt8,
                                   MatmulFn::kSenInt4, MatmulFn::kSen143Fp8Wt};

TEST(PtNarrow, EveryFormatAddsExactProductsInChunksOf64) {
  for (const MatmulFn fn : kFunctions) {
    for (const uint64_t k : {1, 63, 64, 65, 130, 320}) {
      for (const bool accumulate : {false, true}) {
        Problem problem(fn, 3, 512, k);
        problem.Fill(static_cast<uint32_t>(k));
        Problem expected = problem;
        for (uint64_t i = 0; i < problem.m; ++i) {
          for (uint64_t j = 0; j < problem.n; ++j) {
            float total = accumulate ? expected.Acc(i, j) : 0;
            for (uint64_t first = 0; first < k; first += 64) {
              float sum = 0;
              for (uint64_t kk = first; kk < std::min(k, first + 64); ++kk)
                sum += expected.A(i, kk) * expected.B(kk, j);
              total += sum;
            }
            expected.Acc(i, j) = total;
          }
        }
        problem.Run(accumulate);
        ASSERT_EQ(std::memcmp(problem.acc.data(), expected.acc.data(), problem.acc.size() * 4), 0)
            << FnSuffix(FnSet::kFormat, static_cast<uint8_t>(fn)) << ", k = " << k;
      }
    }
  }
}

TEST(PtNarrow, SumsOfIntegersAreExactUpToTheStatedDepth) {
  // The largest products of all: 128 x 128 of SENINT8 1024 times, and 8 x 8 of SENINT4.
  for (const auto& [fn, byte, expected] :
       {std::tuple{MatmulFn::kSenInt8, uint8_t{0x80}, 16777216.0f},
        std::tuple{MatmulFn::kSenInt4, uint8_t{0x88}, 65536.0f}}) {
    Problem problem(fn, 1, 256, 1024);
    std::fill(problem.a.begin(), problem.a.end(), byte);
    std::fill(problem.b.begin(), problem.b.end(), byte);
    problem.Run(false);
    EXPECT_EQ(problem.Acc(0, 17), expected) << FormatName(problem.format);
    problem.a[0] = fn == MatmulFn::kSenInt8 ? 0x7F : 0x87;  // one factor less by 255 or 15
    problem.Run(false);
    EXPECT_EQ(problem.Acc(0, 17), expected - (fn == MatmulFn::kSenInt8 ? 255 * 128 : 15 * 8))
        << FormatName(problem.format);
  }
}

TEST(PtNarrow, WithoutAnyKTheSumsAreZeroOrStay) {
  Problem problem(MatmulFn::kSenInt8, 2, 128, 0);
  std::fill(problem.acc.begin(), problem.acc.end(), 7.0f);
  problem.Run(true);
  EXPECT_EQ(problem.acc, std::vector<float>(256, 7.0f));
  problem.Run(false);
  EXPECT_EQ(problem.acc, std::vector<float>(256, 0.0f));
}

TEST(PtNarrow, ANanSpreadsToItsRowOnly) {
  Problem problem(MatmulFn::kSen143Fp8, 2, 128, 64);
  std::fill(problem.a.begin(), problem.a.end(), uint8_t{0x38});  // 1.0
  std::fill(problem.b.begin(), problem.b.end(), uint8_t{0x38});
  problem.a[128 + 5] = 0x7F;
  problem.Run(false);
  EXPECT_EQ(problem.Acc(0, 3), 64.0f);
  EXPECT_TRUE(std::isnan(problem.Acc(1, 3)));
}

}  // namespace
}  // namespace spyre::model::pt_narrow_test
