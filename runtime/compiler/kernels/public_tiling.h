// SPDX-License-Identifier: Apache-2.0
// The output tile of a matmul that the closed compiler is seen to give a core, and how the corelets
// share it. A core computes its part of the output tile by tile, and streams both operands through
// LX again for each. Found from public measurements of the card (docs/accuracy.md); the budget of
// LX is the public DXP_LX_FRAC_AVAIL. Pure function of the sizes, any thread.
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

}  // namespace spyre::compiler
