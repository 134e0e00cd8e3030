// SPDX-License-Identifier: Apache-2.0
// What a program does, found without running it on a card: its sequencers are stepped through, and
// tensor instructions are only added up and looked at. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/contract/program.h"
#include "model/core/operand_check.h"

namespace spyre::model {

// Counted as the units count (Job::bytes_read and so on).
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

// Device memory that loads, or stores, reach: from the lowest byte to behind the highest, whatever
// lies between. Distances from a device address in the address table, modulo 2^64.
struct MemoryReach {
  static constexpr uint32_t kNoEntry = UINT32_MAX;  // addresses that come from no entry
  uint32_t entry = kNoEntry;
  bool write = false;
  int64_t begin = INT64_MAX, end = INT64_MIN;
};

struct ProgramSurvey {
  ProgramWork work;
  // Every instruction is one that its unit takes, and members of multicasts ask for the same bytes;
  // so that only memory that may not be touched can make the program fault. If false, the other
  // members are of the instructions before.
  bool sound = true;
  // A device address of the table is used as a number: all of this is true for this table only.
  // Else it is true for all tables that differ in device addresses by multiples of a stick.
  bool needs_table = false;
  std::vector<MemoryReach> reaches;
};

// Empty: more than max_instructions.
std::optional<ProgramSurvey> SurveyProgram(const Program& program, const CoreLimits& limits,
                                           uint64_t max_instructions);

// Every reach, with the addresses of `table`, is memory that `allows`.
bool ReachesOnly(const ProgramSurvey& survey, const std::vector<uint64_t>& table,
                 const std::function<bool(uint64_t address, uint64_t bytes, bool write)>& allows);

}  // namespace spyre::model
