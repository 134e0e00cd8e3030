// SPDX-License-Identifier: Apache-2.0
// How much of what a card of fidelity "fast" says was simulated. Plain data.
#pragma once

#include <cstdint>

namespace spyre::model {

// Of the launches of times only, for reports. Times in ps of simulated time, of the cores at work.
struct FastStatistics {
  uint64_t whole = 0, whole_ps = 0;        // simulated to their end
  uint64_t partly = 0, partly_ps = 0;      // stopped; the time is the whole launch's
  uint64_t simulated_ps = 0;               // of partly_ps, what was simulated
  uint64_t repeated = 0, repeated_ps = 0;  // not simulated
  // Among the simulated launches of one program, the largest difference of two, in parts of the
  // smaller; 0 if no program was simulated twice.
  double spread = 0;
};

}  // namespace spyre::model
