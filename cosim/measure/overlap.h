// SPDX-License-Identifier: Apache-2.0
// How much of a run the engines of the card worked at the same time: from the start and finish of
// completed operations. Pure functions, any thread; times in ps of device time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/flex/control_block_request.h"

namespace spyre::cosim {

enum class Engine : uint8_t { kDmaIn, kDmaOut, kCompute, kPrepare };
inline constexpr size_t kEngines = 4;

struct EngineSpan {
  Engine engine = Engine::kCompute;
  uint64_t begin_ps = 0, end_ps = 0;
};

struct OverlapSummary {
  uint64_t busy_ps[kEngines] = {};  // of each engine, spans of one engine that meet counted once
  uint64_t any_ps = 0;              // at least one engine was at work
  uint64_t overlap_ps = 0;          // at least two were

  uint64_t busy(Engine engine) const { return busy_ps[static_cast<size_t>(engine)]; }
};

OverlapSummary SummarizeOverlap(const std::vector<EngineSpan>& spans);

}  // namespace spyre::cosim
