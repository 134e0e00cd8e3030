// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/matmul_block.h"

#include <algorithm>

#include "base/parallel.h"
#include "cosim/reference/matmul_block_forms.h"

namespace spyre::cosim {
namespace {

// Operands in double may be any numbers, whose products are rounded: nothing is fused here.
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
SPYRE_MATMUL_BLOCK(Avx512, __attribute__((target("avx512f"))), double, 64, 2, 1)
SPYRE_MATMUL_BLOCK(Avx2, __attribute__((target("avx2"))), double, 32, 2, 1)
#endif
SPYRE_MATMUL_BLOCK(Portable, , double, 16, 2, 1)

constexpr int64_t kColumns = 8 * kMatmulPanel;  // that use rows once they are gathered

int64_t Count(const std::vector<int64_t>& places) { return static_cast<int64_t>(places.size()); }

// Lines first, first + 1, ... of a batch go to `to`, where they are line_step apart and their terms
// term_step.
void Gather(const ContractionLines& operand, int64_t batch, int64_t first, int64_t count,
            int64_t line_step, int64_t term_step, double* to) {
  for (int64_t line = 0; line < count; ++line) {
    const double* from = operand.data + operand.batches[batch] + operand.lines[first + line];
    double* at = to + line * line_step;
    for (const int64_t term : operand.terms) {
      *at = from[term];
      at += term_step;
    }
  }
}

}  // namespace

std::vector<MatmulBlockForm<double>> DoubleMatmulBlocks() {
  std::vector<MatmulBlockForm<double>> forms;
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
  if (__builtin_cpu_supports("avx512f")) forms.push_back({"avx512", Avx512});
  if (__builtin_cpu_supports("avx2")) forms.push_back({"avx2", Avx2});
#endif
  forms.push_back({"portable", Portable});
  return forms;
}

void MatmulBlock(const float* a, const float* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, float* results) {
  static const auto block = FloatMatmulBlocks().front().run;
  block(a, panel, k, slice_ends, results);
}

void MatmulBlock(const double* a, const double* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, double* results) {
  static const auto block = DoubleMatmulBlocks().front().run;
  block(a, panel, k, slice_ends, results);
}

void Contract(const ContractionLines& a, const ContractionLines& b, const ContractionResult& result,
              const std::function<double(double)>& finish) {
  const int64_t depth = Count(a.terms), rows = Count(a.lines), columns = Count(b.lines);
  const int64_t groups = (columns + kColumns - 1) / kColumns;
  ParallelFor(Count(a.batches) * groups, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> panels(static_cast<size_t>(depth * kColumns));
    std::vector<double> left(static_cast<size_t>(depth * kMatmulRows));
    double values[kMatmulRows * kMatmulPanel];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t batch = task / groups;
      const int64_t first = task % groups * kColumns;
      const int64_t width = std::min(kColumns, columns - first);
      // Columns and rows that are not there give results that nobody takes.
      for (int64_t c = 0; c < width; c += kMatmulPanel)
        Gather(b, batch, first + c, std::min(kMatmulPanel, width - c), 1, kMatmulPanel,
               panels.data() + c * depth);
      for (int64_t row = 0; row < rows; row += kMatmulRows) {
        const int64_t height = std::min(kMatmulRows, rows - row);
        Gather(a, batch, row, height, depth, 1, left.data());
        for (int64_t c = 0; c < width; ++c) {
          if (c % kMatmulPanel == 0)
            MatmulBlock(left.data(), panels.data() + c * depth, depth, {depth}, values);
          const int64_t at = result.batches[batch] + result.columns[first + c];
          for (int64_t r = 0; r < height; ++r)
            result.data[at + result.rows[row + r]] =
                finish(values[r * kMatmulPanel + c % kMatmulPanel]);
        }
      }
    }
  });
}

}  // namespace spyre::cosim
