// SPDX-License-Identifier: Apache-2.0
// Random options of the front end, and what came of them in a compiled list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>

#include "base/ranges.h"
#include "runtime/compiler/front_end/compiler_preset.h"
#include "runtime/compiler/front_end/front_end.h"

namespace spyre::fuzz {

inline compiler::FrontEndOptions RandomOptions(std::mt19937& random) {
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  const uint32_t preset = below(3) == 0 ? below(3) : 0;
  compiler::FrontEndOptions options = OptionsOf(static_cast<compiler::CompilerPreset>(preset));
  options.tiling = below(8) != 0;
  options.division.agree = below(4) != 0;
  if (below(4) == 0) options.lowering.host_order = !options.lowering.host_order;
  constexpr int kCores[] = {1, 2, 3, 4, 7, 8, 16, 32, 32};
  options.division.max_cores = kCores[below(std::size(kCores))];
  if (below(4) == 0) options.division.rule = static_cast<compiler::SplitRule>(below(3));
  if (below(6) == 0) options.chunk_bytes = int64_t{4096} << below(5);
  options.lx_planning = below(4) != 0;
  options.lx.all_operations = below(4) != 0;
  options.lx.solver = static_cast<compiler::LxSolver>(below(3));
  options.lx.cores = options.division.max_cores;
  options.lx.capacity = below(6) == 0 ? 16 << 10 : 1 << 20;
  if (below(2) == 0) {
    options.co_optimize = {below(2) == 0 ? 0 : below(4096), below(4096)};
    options.lx.capacity = int64_t{128} << below(8);
  }
  options.tiled_reductions = below(2) == 0;
  return options;
}

// At most, of one reduction; 1: none is done in tiles.
inline int64_t TilesOfReductions(const compiler::Graph& graph) {
  int64_t most = 1;
  for (const compiler::GraphOp& op : graph.ops) {
    int64_t tiles = 1;
    for (size_t level = 0; op.partial && op.loop && level < op.loop->count.size(); ++level)
      tiles *= op.loop->count[level].number();
    most = std::max(most, tiles);
  }
  return most;
}

// Whether operations were put into loops without a hint.
inline bool IsCoOptimized(const compiler::FrontEndResult& result) {
  return AnyFits(result.decisions, [](const compiler::Decision& decision) {
    return decision.because.rfind("co-optimization finds", 0) == 0;
  });
}

}  // namespace spyre::fuzz
