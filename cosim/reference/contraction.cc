// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/contraction.h"

#include <algorithm>

#include "base/parallel.h"
#include "cosim/reference/matmul_block.h"

namespace spyre::cosim {
namespace {

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
