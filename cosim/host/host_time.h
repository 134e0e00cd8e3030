// SPDX-License-Identifier: Apache-2.0
// How the host has spent simulated time. Plain data, any thread; picoseconds.
#pragma once

#include <cstdint>

namespace spyre::cosim {

// All of the time between two places of a run is one or the other: it moves only while the host
// works or waits.
struct HostTime {
  uint64_t busy_ps = 0;    // register accesses, interrupts, work that it is charged, polling
  uint64_t waited_ps = 0;  // asleep, until an interrupt arrives

  HostTime Since(const HostTime& before) const {
    return {busy_ps - before.busy_ps, waited_ps - before.waited_ps};
  }
};

// A time in which the host slept, up to the interrupt that woke it.
struct HostWait {
  uint64_t begin_ps;
  uint64_t end_ps;
};

}  // namespace spyre::cosim
