// SPDX-License-Identifier: Apache-2.0
// A MATMUL of many rows with one set of weights: rows of one instruction, or of instructions on
// many cores whose weights are the same bytes. Each row has sums of its own, so which rows stand
// together changes no bits. Layouts of a and acc are those of kMatmul in model/contract/program.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spyre::model {

struct PtRow {
  uint8_t* acc;      // lane j at acc + (j/64) * acc_nstick_stride + (j%64) * 4
  const uint8_t* a;  // element kk at a + (kk/64) * a_kstick_stride + (kk%64) * 2
  int64_t a_kstick_stride;
  int64_t acc_nstick_stride;
  bool accumulate;  // false: acc starts at zero
};

inline constexpr int kPtPieceSteps = 32;  // k steps of one piece of weights, 128 bytes each

struct PtStack {
  const PtRow* rows;
  // Pieces of weights: [n / 64][ceil(k / kPtPieceSteps)], each with its steps side by side.
  const uint8_t* const* weights;
  int n;
  int k;
};

// Which rows and which sticks of columns: [first, last).
struct PtPart {
  int first_row, last_row;
  int first_stick, last_stick;
};

// acc (+)= a * weights for `part` of `stack`. Parts that have no row and stick in common may be
// done on several threads at once.
using PtStackFn = void (*)(const PtStack& stack, const PtPart& part);

}  // namespace spyre::model
