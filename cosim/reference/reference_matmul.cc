// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/reference_matmul.h"

#include <algorithm>

#include "base/parallel.h"
#include "cosim/reference/matmul_block.h"
#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kPanel = kMatmulPanel;
constexpr int64_t kRows = kMatmulRows;

class MatmulReference : public Reference {
 public:
  explicit MatmulReference(const ReferenceProblem& problem)
      : p_(problem),
        tiles_(ReducedTiles(problem, problem.k)),
        panels_((problem.n + kPanel - 1) / kPanel),
        a_rows_((problem.m + kRows - 1) / kRows * kRows) {
    // Inputs as the device holds them, padded with zero rows and columns to whole blocks.
    a_.resize(p_.batch * a_rows_ * p_.k);
    b_.resize(p_.batch * panels_ * p_.k * kPanel);
    std::vector<float> value(1 << 16);
    for (int code = 0; code < 1 << 16; ++code)
      value[code] = static_cast<float>(SenValue(SenOfHalf(static_cast<uint16_t>(code))));
    ParallelFor(p_.batch * p_.m, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t padded = row / p_.m * a_rows_ + row % p_.m;
        for (int64_t kk = 0; kk < p_.k; ++kk) a_[padded * p_.k + kk] = value[p_.a[row * p_.k + kk]];
      }
    });
    ParallelFor(p_.batch * p_.k, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t j = 0; j < p_.n; ++j)
          b_[BIndex(row / p_.k, row % p_.k, j)] = value[p_.b[row * p_.n + j]];
      }
    });
  }

  int64_t elements() const override { return p_.batch * p_.m * p_.n; }
  int64_t ideal_cost() const override { return p_.k; }

  void Compute(int64_t begin, int64_t end, uint16_t* results) const override {
    const int64_t first_row = begin / p_.n;
    const int64_t last_row = (end + p_.n - 1) / p_.n;  // one past
    // A short run does not need every column.
    const bool one_row = last_row - first_row == 1;
    const int64_t first_panel = one_row ? begin % p_.n / kPanel : 0;
    const int64_t last_panel = one_row ? (end - 1) % p_.n / kPanel + 1 : panels_;
    float values[kRows * kPanel];
    for (int64_t row = first_row; row < last_row;) {
      const int64_t matrix = row / p_.m;
      const int64_t in_matrix = row % p_.m;
      const int64_t rows = std::min({last_row - row, p_.m - in_matrix, kRowGroup});
      for (int64_t panel = first_panel; panel < last_panel; ++panel) {
        // The group's first row is a multiple of kRows in the padded matrix, so blocks stay inside.
        const int64_t start = in_matrix / kRows * kRows;
        for (int64_t r = start; r < in_matrix + rows; r += kRows) {
          Block(matrix, r, panel, values);
          Round(values, matrix * p_.m, r, panel, begin, end, results);
        }
      }
      row += rows;
    }
  }

  double Ideal(int64_t element) const override {
    const int64_t row = element / p_.n;
    const int64_t matrix = row / p_.m;
    const float* a = &a_[(matrix * a_rows_ + row % p_.m) * p_.k];
    const float* b = &b_[BIndex(matrix, 0, element % p_.n)];
    double sum = 0;
    for (int64_t kk = 0; kk < p_.k; ++kk) sum += static_cast<double>(a[kk]) * b[kk * kPanel];
    return sum;
  }

  double Rounding(int64_t element) const override {
    const int64_t row = element / p_.n;
    const int64_t matrix = row / p_.m;
    const float* a = &a_[(matrix * a_rows_ + row % p_.m) * p_.k];
    const float* b = &b_[BIndex(matrix, 0, element % p_.n)];
    SumRounding sum(tiles_);
    for (int64_t kk = 0; kk < p_.k; ++kk) sum.Add(static_cast<double>(a[kk]) * b[kk * kPanel]);
    return sum.Take();
  }

 private:
  static constexpr int64_t kRowGroup = 64;  // rows that use a panel while it is in the cache

  int64_t BIndex(int64_t matrix, int64_t row, int64_t column) const {
    return ((matrix * panels_ + column / kPanel) * p_.k + row) * kPanel + column % kPanel;
  }

  static float Rounded(float value) {
    return static_cast<float>(SenValue(NearestSen(double{value})));
  }

  // The fp32 values of one block before its last rounding.
  void Block(int64_t matrix, int64_t row, int64_t panel, float* values) const {
    const float* a = &a_[(matrix * a_rows_ + row) * p_.k];
    for (const ReducedTile& tile : tiles_) {
      const float* b = &b_[BIndex(matrix, tile.begin, panel * kPanel)];
      if (tiles_.size() == 1) {
        MatmulBlock(a, b, p_.k, tile.slice_ends, values);
        return;
      }
      float partial[kRows * kPanel];
      MatmulBlock(a + tile.begin, b, p_.k, tile.slice_ends, partial);
      for (int64_t i = 0; i < kRows * kPanel; ++i)
        values[i] =
            tile.begin == 0 ? Rounded(partial[i]) : Rounded(values[i] + Rounded(partial[i]));
    }
  }

  // Results of one block: those inside the matrix and inside [begin, end).
  void Round(const float* values, int64_t matrix_row, int64_t row, int64_t panel, int64_t begin,
             int64_t end, uint16_t* results) const {
    for (int64_t r = 0; r < kRows && row + r < p_.m; ++r) {
      for (int64_t j = 0; j < kPanel && panel * kPanel + j < p_.n; ++j) {
        const int64_t element = (matrix_row + row + r) * p_.n + panel * kPanel + j;
        if (element >= begin && element < end)
          results[element - begin] = HalfOfSen(NearestSen(double{values[r * kPanel + j]}));
      }
    }
  }

  ReferenceProblem p_;
  std::vector<ReducedTile> tiles_;  // of k
  int64_t panels_, a_rows_;
  std::vector<float> a_;  // [batch][a_rows_][k]
  std::vector<float> b_;  // [batch][panels][k][kPanel]
};

}  // namespace

std::unique_ptr<Reference> MakeMatmulReference(const ReferenceProblem& problem) {
  return std::make_unique<MatmulReference>(problem);
}

}  // namespace spyre::cosim
