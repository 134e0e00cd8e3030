// SPDX-License-Identifier: Apache-2.0
// How much a program does, counted without running it on a card: its sequencers are stepped through
// and tensor instructions are only added up, as the units add them up (Job::bytes_read and so on).
// Pure function, any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "model/contract/program.h"

namespace spyre::model {

struct ProgramWork {
  uint64_t bytes_read = 0;  // from device memory; a multicast counts once, for its lowest member
  uint64_t bytes_written = 0;
  uint64_t macs = 0;
  uint64_t instructions = 0;  // executed, of all units

  bool operator==(const ProgramWork& other) const {
    return bytes_read == other.bytes_read && bytes_written == other.bytes_written &&
           macs == other.macs && instructions == other.instructions;
  }
};

// Empty: more than max_instructions, or one that a unit would refuse.
std::optional<ProgramWork> CountWork(const Program& program, uint64_t max_instructions);

}  // namespace spyre::model
