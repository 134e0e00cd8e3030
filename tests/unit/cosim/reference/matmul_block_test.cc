// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/matmul_block.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cosim/reference/matmul_block_forms.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim::matmul_block_test {
namespace {

// One element, in the documented order: chunks of 64 inside a slice, slices one after the other,
// every operation rounded by itself.
template <class Real>
Real Element(const Real* a, const Real* panel, int64_t column,
             const std::vector<int64_t>& slice_ends) {
  volatile Real total = 0;
  int64_t begin = 0;
  for (const int64_t end : slice_ends) {
    volatile Real sum = 0;
    for (int64_t first = begin; first < end; first += 64) {
      volatile Real chunk = 0;
      for (int64_t kk = first; kk < std::min(end, first + 64); ++kk) {
        volatile Real product = a[kk] * panel[kk * kMatmulPanel + column];
        chunk = chunk + product;
      }
      sum = sum + chunk;
    }
    total = begin == 0 ? sum : total + sum;
    begin = end;
  }
  return total;
}

template <class Real, class Value>
void ExpectFormsAgree(const std::vector<MatmulBlockForm<Real>>& forms, Value value) {
  const std::vector<std::vector<int64_t>> slices = {
      {1}, {63}, {64}, {128}, {129}, {200}, {512}, {100, 200, 300}, {256, 320}, {64, 65, 257}};
  for (const std::vector<int64_t>& slice_ends : slices) {
    const int64_t k = slice_ends.back();
    std::vector<Real> a(static_cast<size_t>(kMatmulRows * k));
    std::vector<Real> panel(static_cast<size_t>(k * kMatmulPanel));
    for (Real& x : a) x = value();
    for (Real& x : panel) x = value();
    for (const MatmulBlockForm<Real>& form : forms) {
      Real results[kMatmulRows * kMatmulPanel];
      form.run(a.data(), panel.data(), k, slice_ends, results);
      for (int64_t r = 0; r < kMatmulRows; ++r) {
        for (int64_t j = 0; j < kMatmulPanel; ++j) {
          const Real expected =
              Element(&a[static_cast<size_t>(r * k)], panel.data(), j, slice_ends);
          const Real result = results[r * kMatmulPanel + j];
          ASSERT_TRUE(std::memcmp(&result, &expected, sizeof result) == 0 ||
                      (std::isnan(result) && std::isnan(expected)))
              << form.name << ", k " << k << ", row " << r << ", column " << j << ": " << result
              << ", not " << expected;
        }
      }
    }
  }
}

TEST(MatmulBlock, EveryFormForFloatHasTheBitsOfSeparateOperationsOnDeviceNumbers) {
  std::mt19937 random(1);
  ExpectFormsAgree(FloatMatmulBlocks(), [&] {
    return static_cast<float>(SenValue(static_cast<uint16_t>(random())));  // any code
  });
  ExpectFormsAgree(FloatMatmulBlocks(), [&] {
    // Near one, so that every bit of a sum matters.
    return static_cast<float>(
        SenValue(static_cast<uint16_t>((random() & 0x81FF) | (28 + random() % 6) << 9)));
  });
}

TEST(MatmulBlock, EveryFormForDoubleHasTheBitsOfSeparateOperationsOnAnyNumbers) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> number(-1, 1);  // products of 106 bits
  ExpectFormsAgree(DoubleMatmulBlocks(), [&] { return number(random); });
}

}  // namespace
}  // namespace spyre::cosim::matmul_block_test
