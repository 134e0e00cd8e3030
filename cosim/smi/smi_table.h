// SPDX-License-Identifier: Apache-2.0
// The lines of `spyre-cosim smi`: the columns and groups of the card's public monitor, aiu-smi
// (docs/telemetry.md), as text or as comma-separated values. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "cosim/smi/reading.h"

namespace spyre::cosim {

struct SmiFormat {
  // Letters of the public tool: D data rates, R requests, M reserved memory, U used memory, P PT
  // arrays, S reserved memory by segment, A all.
  std::string groups = "D";
  bool csv = false;
  uint64_t interval_ps = 0;  // how fine the times are to be
};

// Throws Error(kBadInput) for a letter that is not a group.
void CheckGroups(const std::string& groups);

// The lines above the first reading, with their ends.
std::string SmiHeader(const SmiFormat& format);
// What happened from `before` to `now`, one line with its end.
std::string SmiLine(const SmiFormat& format, const SmiReading& before, const SmiReading& now);

// Whether the card did anything.
bool DidWork(const SmiReading& before, const SmiReading& now);

// "100us", "1ms", "2" (seconds): picoseconds. Throws Error(kBadInput) naming `option`.
uint64_t ParseInterval(const std::string& text, const char* option);

}  // namespace spyre::cosim
