// SPDX-License-Identifier: Apache-2.0
// What a replayed register read must give, when the recorded card and the replayed one may differ
// in their times: most registers the same value, counts at least what the host has seen, clocks
// anything. One rule for each register whose value depends on time; any other is compared as it is.
#pragma once

#include <cstdint>
#include <string>

namespace spyre::cosim {

enum class ReadRule {
  kEqual,       // at once
  kEventually,  // the same, now or later
  kAny,         // not compared
  kReaches,     // a free-running count: as far as recorded, or further
  kStatus,      // STATUS: the same; BUSY must end if it had, and may be over already
  kCauses,      // INT_STATUS: every recorded cause; others may have come earlier
  kAnswer,      // recorded ADMIN_BUSY: anything; else the same, now or later
  kBoots,       // 0 until the firmware has booted. Recorded 0: anything; else the same, later
  kState,       // MGMT_STATE: before READY anything; else the same, now or later
};

// The rule for a read of `bar` at `offset`.
ReadRule RuleOf(int bar, uint64_t offset);

// Whether the replayed value is one that the recorded one allows.
bool Allows(ReadRule rule, uint32_t recorded, uint32_t replayed);

// Whether a value that is not allowed may become so when time goes on.
bool MayChange(ReadRule rule);

// "CAPABILITIES (BAR0 0x000c)", "BAR2 0x00001000"
std::string RegisterName(int bar, uint64_t offset);
// "0x00010820 (CORES 32, REGIONS 8, PIPELINED 1)"
std::string RegisterValue(int bar, uint64_t offset, uint32_t value);

}  // namespace spyre::cosim
