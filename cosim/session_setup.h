// What a session makes of its configuration before it opens the card. Any thread.
#pragma once

#include <cstdint>

#include "cosim/config.h"
#include "driver/physical_function.h"
#include "runtime/flex/runtime_context.h"
#include "traces/recorder.h"

namespace spyre::cosim {

flex::RuntimeOptions RuntimeOptionsOf(const RunConfig& config, trace::Recorder* recorder);

// Gives VF 1 the public pool, as far as memory goes, and shares what is left between the others.
void AssignRegions(driver::PhysicalFunction& physical, uint64_t memory_bytes, uint64_t vfs);

}  // namespace spyre::cosim
