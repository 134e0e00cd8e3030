// Which tiles of a matmul a core keeps in LX. Pure function of the sizes, used by code generation
// only.
#pragma once

#include <cstdint>

#include "runtime/compiler/kernel_problem.h"

namespace spyre::compiler {

// A core's share, and how it is shared: m in rows; n, k in sticks. a_sharers: cores that one load
// of a serves.
struct MatmulShare {
  int64_t m, n, k, batch;
  int a_sharers, b_sharers;
  bool combines;  // partial results come from another core
};

// The tile of m rows, n and k sticks. A resident operand is loaded once and stays: a while n is
// walked, b while m is. Others pass through two buffers. Slots: buffers of the fp32 accumulator and
// of the rounded output.
struct MatmulTiling {
  int64_t m = 1, n = 1, k = 1;
  bool a_resident = false, b_resident = false;
  int accumulator_slots = 1, output_slots = 1;

  int64_t a_chunk_bytes() const;  // one tile of a, of b
  int64_t b_chunk_bytes() const;
  int64_t accumulator_bytes() const;
  int64_t output_bytes() const;
  int64_t a_slots(const MatmulShare& share) const;
  int64_t b_slots(const MatmulShare& share) const;
  int64_t LxBytes(const MatmulShare& share) const;
};

// The tiling with the least estimated cost that fits. Throws if not even one row by one stick fits.
MatmulTiling ChooseMatmulTiling(const MatmulShare& share, uint64_t lx_bytes);

}  // namespace spyre::compiler
