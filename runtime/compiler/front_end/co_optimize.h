// SPDX-License-Identifier: Apache-2.0
// Tiling and LX planned together: which neighbours without a hint are put into a loop, along which
// dimensions and in how many tiles, and which results are kept out of LX so that others have room.
// Of all such plans the one that costs least (CoOptimizeCost), if it costs less than no new loops.
//
// Caller: the pass `hints`. Pure, any thread. Source: config.co_optimizing_lx_planning of the
// coarse-tiling RFC, which names an allocator and says no more; the rest is of this project
// (docs/tiles-and-lx.md "Tiling and LX together").
#pragma once

#include <cstdint>

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// Where the search ends. Of shorter lists it finds the cheapest plan there is.
struct CoOptimizeBounds {
  static constexpr size_t kGroup = 8;    // operations in one loop
  static constexpr size_t kRun = 24;     // operations without a loop that are planned together
  static constexpr int64_t kTiles = 64;  // of a group, in all its loops
  static constexpr size_t kResults = 8;  // in LX, of which each may be kept out for others
  static constexpr size_t kRefused = 8;  // candidates of a group that are told of
};

// Adds to `graph`, as `hints` left it, groups and their dim_hints, kept_out and decisions. Groups
// of hints stay; with groups of a plan of the user's own nothing is added. Costs nothing but time
// where no plan can be compiled: the passes behind say why.
void CoOptimize(FrontEndResult& graph, const FrontEndOptions& options);

// The cost of a graph behind the pass `lx`.
int64_t CostOf(const Graph& graph, const LxPlan& lx, const FrontEndOptions& options);

}  // namespace spyre::compiler
