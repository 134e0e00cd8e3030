// SPDX-License-Identifier: Apache-2.0
// The tiles that the closed compiler is seen to give a core, for code generation and for the closed
// form of kernel times. The output tile of a matmul, and how the corelets share it: a core computes
// its part of the output tile by tile, and streams both operands through LX again for each. Found
// from public measurements of the card (docs/accuracy.md); the budget of LX is the public
// DXP_LX_FRAC_AVAIL. Pure functions of the sizes, any thread.
#pragma once

#include <cstdint>

namespace spyre::compiler {

// Part of the usable LX that the closed compiler takes for itself, in percent.
inline constexpr int64_t kPublicLxPercent = 20;

// A matmul m x k x n, and into how many parts each dimension is divided. Sizes in elements, all at
// least 1; where parts differ, the longest counts.
struct PublicDivision {
  int64_t m = 1, n = 1;
  int m_parts = 1, n_parts = 1, k_parts = 1;
};

// Who of the two corelets works: only one, both on rows of their own with the same weights, or both
// on columns of their own, which need different weights.
enum class CoreletSplit : uint8_t { kOne, kRows, kColumns };

struct PublicTile {
  CoreletSplit corelets = CoreletSplit::kOne;
  int64_t m = 1, n = 1;  // rows and columns of a core's tile; columns are whole sticks
};

// lx_bytes: that a program may use on a core, of which the tile gets kPublicLxPercent.
PublicTile ChoosePublicTile(const PublicDivision& division, int64_t lx_bytes);

// Units of work per LX buffer for kernels that only stream. Loads and stores of a core alternate as
// finely as the traffic of a stream does, the first load and the last store cost little, and small
// kernels do not load everything before they store. Tiles are of one size, which decides how often
// memory turns from reads to writes and back: kernels of all sizes of the card are measured to
// reach the same 105 GB/s, and more where an operand is broadcast or the result is small. Small
// kernels are no faster, so that a core has many tiles of them too: where it loads and stores as
// much, both take turns in them as they do in large ones.
struct PublicStreamTile {
  int64_t bytes, least_tiles;
};
inline constexpr PublicStreamTile kPublicTile = {8 << 10, 4};
inline constexpr PublicStreamTile kPublicThroughTile = {8 << 10, 32};  // from memory and to memory
inline constexpr PublicStreamTile kPublicWideTile = {16 << 10, 4};

// Whether the rows of a softmax that are a core's stay in its LX from the load to the store; bytes:
// of all of them, rows padded to whole sticks. Others pass through device memory between
// operations.
bool KeepsSoftmaxRows(uint64_t bytes);

// Sticks of such a tile, of the `sticks` that a core has; most_sticks of them fit in LX.
int64_t PublicStreamSticks(int64_t sticks, PublicStreamTile tile, int64_t most_sticks);

}  // namespace spyre::compiler
