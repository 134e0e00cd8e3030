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
#include "traces/recording/recorder.h"

namespace spyre::cosim {

flex::RuntimeOptions RuntimeOptionsOf(const RunConfig& config, trace::Recorder* recorder);

struct MemoryRegion {
  uint64_t base = 0, bytes = 0;
};
using MemoryRegions = std::array<MemoryRegion, kRegions>;

// Of every virtual function, VF 1 first: it gets the public pool, as far as memory goes, and the
// others share what is left.
std::vector<MemoryRegions> PlanRegions(uint64_t memory_bytes, uint64_t vfs);
// The same for some functions, each with an equal share and at most the public pool. BadInput if
// there is too little memory for so many.
struct FunctionRegions {
  uint64_t function = 0;
  MemoryRegions regions{};
};
std::vector<FunctionRegions> PlanEqualRegions(uint64_t memory_bytes,
                                              const std::vector<uint64_t>& functions);
// Assigns them on the card.
void AssignRegions(driver::PhysicalFunction& physical, const std::vector<FunctionRegions>& plan);
void AssignRegions(driver::PhysicalFunction& physical, uint64_t memory_bytes, uint64_t vfs);

}  // namespace spyre::cosim
