// SPDX-License-Identifier: Apache-2.0
// MATMULs of many rows at once: rows of one instruction, or of instructions on many cores whose
// weights are the same bytes; and, one behind the other, the chunks of k that add to the same sums.
// Each row has sums of its own and takes its chunks in order, so which rows stand together, and how
// many chunks, changes no bits. The layout of acc and weights is that of kMatmul in
// model/contract/program.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spyre::model {

inline constexpr int kPtChunkSteps = 64;  // k steps that are added to a fresh accumulator, at most
inline constexpr int kPtPieceSteps = 32;  // k steps of a piece of weights, 128 bytes each

struct PtRow {
  uint8_t* acc;  // lane j at acc + (j/64) * acc_nstick_stride + (j%64) * 4
  int64_t acc_nstick_stride;
  bool accumulate;  // false: acc starts at zero
};

struct PtChunk {
  const float* const* a;  // of each row: its kPtChunkSteps values
  // The piece of stick s that begins with step t: weights[s * stick_pieces + t / kPtPieceSteps].
  const uint8_t* const* weights;
  int stick_pieces;
  int steps;
};

struct PtStack {
  const PtRow* rows;
  const PtChunk* chunks;
  int chunk_count;
};

// Which rows and which sticks of columns: [first, last).
struct PtPart {
  int first_row, last_row;
  int first_stick, last_stick;
};

// The arithmetic in one of its forms, which differ in nothing but speed. Any thread.
struct PtKernel {
  const char* name;
  // The kPtChunkSteps SEN169 values of a stick as fp32.
  void (*widen)(const uint8_t* stick, float* values);
  // acc (+)= a * weights for `part` of `stack`. Parts that have no row and stick in common may be
  // done on several threads at once.
  void (*multiply)(const PtStack& stack, const PtPart& part);
};

}  // namespace spyre::model
