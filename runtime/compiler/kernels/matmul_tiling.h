// SPDX-License-Identifier: Apache-2.0
// Which tiles of a matmul a core keeps in LX. Pure function of the sizes, used by code generation
// only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/kernels/public_tiling.h"

namespace spyre::compiler {

// A core's share, and how it is shared: m in rows; n, k in sticks. a_sharers: cores that one load
// of a serves. cores: all that take part.
struct MatmulShare {
  int64_t m, n, k, batch;
  int a_sharers, b_sharers, cores;
  bool combines;                   // partial results come from another core
  bool resident = false;           // the accumulators of all tiles are in LX at once
  int64_t m_tile = 0, n_tile = 0;  // that must be used; 0: chosen
  // Chunks of an operand pass through a second set of buffers, from which they are transposed; of
  // a, tiles have whole sticks of rows then.
  bool a_transposed = false, b_transposed = false;

  int64_t tiles(int64_t m_tile_size, int64_t n_tile_size) const;  // of the output
  int64_t m_unit() const {
    return a_transposed ? kStickElements : 1;
  }  // a multiple of it are tiles
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
  bool whole_stores = false;  // a tile is rounded and stored when all of it is complete
  int64_t sum_pieces = 1;     // in which partial sums go to the next core
  uint8_t fn_flag = 0;        // of the MATMULs, who of the corelets does what (kMatmulCorelets)
  // Rows that are rounded and stored together, and how many times.
  int64_t group_rows() const { return whole_stores ? m : std::max<int64_t>(64, (m + 3) / 4); }
  int64_t row_groups() const { return (m + group_rows() - 1) / group_rows(); }
  // How many times the array says that an output tile, or a part of it, is complete.
  int64_t SumTokens(const MatmulShare& share) const { return share.combines ? 1 : row_groups(); }
};

// A tiling that fits: no larger than the one with the least operand traffic, and of these the one
// with the least estimated time. Throws if not even one row by one stick fits.
MatmulTiling ChooseMatmulTiling(const MatmulShare& share, uint64_t lx_bytes);

// The tiling of Schedule::kPublic (public_tiling.h). Where the rest of LX is too small for its
// buffers, as in bundles whose tensors stay there, it takes shorter chunks and then smaller tiles.
MatmulTiling PublicMatmulTiling(const MatmulShare& share, const PublicDivision& division,
                                int64_t whole_lx_bytes, uint64_t lx_bytes);

}  // namespace spyre::compiler
