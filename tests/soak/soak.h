// SPDX-License-Identifier: Apache-2.0
// A card in use for hours or days: random work of several virtual functions at once, with pauses,
// resets and changes of owners, and in each hour a look at all that must not grow, drift or be
// lost. Times only: no data move. What is idle takes no host time, so a day is over in a minute or
// so.
//
// A card may have declared faults: an error is then a finding only if no fault that was detected
// explains it.
//
// Equal plans on equal cards do the same. Single thread, that of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cosim/host/inprocess_transport.h"
#include "runtime/flex/runtime_context.h"
#include "tests/soak/soak_checks.h"

namespace spyre::cosim {

struct SoakPlan {
  double hours = 24;                // of simulated time
  uint64_t seed = 1;                // of everything random
  uint64_t bursts_per_hour = 4000;  // a burst: some operations on some streams of a function
  uint64_t functions = 2;           // virtual functions that work, at most 8 and the card's num_vfs
  uint64_t checks_per_hour = 1;
  // One burst in so many is followed by a reset of its function with work under way, a change of
  // the function's owner, and a reset of the card.
  uint64_t bursts_per_reset = 500, bursts_per_owner = 2000, bursts_per_card_reset = 20000;
};

struct SoakCounts {
  uint64_t bursts = 0, copies = 0, fills = 0, launches = 0, events = 0, copied_bytes = 0;
  uint64_t resets = 0, owners = 0, card_resets = 0;
  uint64_t dropped = 0;  // operations, by resets
  uint64_t errors = 0;   // operations that have failed otherwise
  // Declared faults that have struck; of these, those that somebody has detected, whose operations
  // may have failed, and those that were corrected.
  uint64_t faults = 0, detected = 0, corrected = 0;
  std::string last_error;
};

struct SoakResult {
  SoakCounts counts;
  std::vector<SoakSample> samples;
  std::vector<std::string> findings;  // of JudgeSoak; and errors, if no faults are to be expected
};

// progress: called with parts of a thousand; may be empty. Throws Error(kBadInput) for a plan that
// the card cannot follow, Error(kDeviceFault) if the card is lost.
SoakResult Soak(InProcessTransport& transport, const flex::RuntimeOptions& options,
                const SoakPlan& plan, const std::function<void(uint64_t)>& progress);

}  // namespace spyre::cosim
