// SPDX-License-Identifier: Apache-2.0
// What a session makes of its configuration before it opens the card. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cosim/config/config.h"
#include "driver/physical_function.h"
#include "model/contract/memory_map.h"
#include "runtime/flex/runtime_context.h"
#include "traces/recorder.h"

namespace spyre::cosim {

flex::RuntimeOptions RuntimeOptionsOf(const RunConfig& config, trace::Recorder* recorder);

struct MemoryRegion {
  uint64_t base = 0, bytes = 0;
};
using MemoryRegions = std::array<MemoryRegion, kRegions>;

// Of every virtual function, VF 1 first: it gets the public pool, as far as memory goes, and the
// others share what is left.
std::vector<MemoryRegions> PlanRegions(uint64_t memory_bytes, uint64_t vfs);
// Assigns them on the card.
void AssignRegions(driver::PhysicalFunction& physical, uint64_t memory_bytes, uint64_t vfs);

}  // namespace spyre::cosim
