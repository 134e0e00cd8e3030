// SPDX-License-Identifier: Apache-2.0
// Whether a unit takes the operands of a tensor instruction: counts and strides in range, addresses
// aligned, LX large enough, the other core there. For those who look at programs without running
// them. The units check as they execute, and name the fault; a test holds the two to each other.
// Pure function, any thread.
#pragma once

#include <cstdint>

#include "model/contract/program.h"
#include "model/core/sequencer.h"

namespace spyre::model {

struct CoreLimits {
  uint64_t lx_bytes = kLxBytes;
  uint64_t lx_usable_bytes = kLxUsableBytes;
};

// A box of device memory, with rows and planes that follow each other on both sides made one.
struct DeviceBox {
  uint64_t address = 0;
  uint64_t row_bytes = 0, rows = 0, row_stride = 0, planes = 0, plane_stride = 0;
  uint32_t group = 0;         // of a multicast: its members; else 0
  uint64_t extent_bytes = 0;  // from the first byte to behind the last; 0: nothing is moved
};

// False: its unit on this core would fault, or might. `box` becomes that of a LOAD or STORE;
// whether its memory may be touched is not looked at.
bool TakesOperands(const Sequencer& sequencer, const Instruction& in, unsigned core,
                   uint32_t program_cores, const CoreLimits& limits, DeviceBox& box);

}  // namespace spyre::model
