// Which tiles of a matmul a core keeps in LX. Pure function of the sizes, used by code generation
// only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/compiler/kernel_problem.h"

namespace spyre::compiler {

// A core's share, and how it is shared: m in rows; n, k in sticks. a_sharers: cores that one load
// of a serves. cores: all that take part.
struct MatmulShare {
  int64_t m, n, k, batch;
  int a_sharers, b_sharers, cores;
  bool combines;  // partial results come from another core
};

// The tile of m rows, n and k sticks. Slots: buffers of the fp32 accumulator, of the rounded
// output, and of each operand, whose chunks pass through them for every output tile.
struct MatmulTiling {
  int64_t m = 1, n = 1, k = 1;
  int accumulator_slots = 1, output_slots = 1;
  int operand_slots = 2;

  int64_t a_chunk_bytes() const;  // one tile of a, of b
  int64_t b_chunk_bytes() const;
  int64_t accumulator_bytes() const;
  int64_t output_bytes() const;
  int64_t LxBytes(const MatmulShare& share) const;
  // Rows that are rounded and stored together, and how many times.
  int64_t group_rows() const { return std::max<int64_t>(64, (m + 3) / 4); }
  int64_t row_groups() const { return (m + group_rows() - 1) / group_rows(); }
};

// A tiling that fits: no larger than the one with the least operand traffic, and of these the one
// with the least estimated time. Throws if not even one row by one stick fits.
MatmulTiling ChooseMatmulTiling(const MatmulShare& share, uint64_t lx_bytes);

}  // namespace spyre::compiler
