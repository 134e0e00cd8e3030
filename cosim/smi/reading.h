// SPDX-License-Identifier: Apache-2.0
// What a monitor knows of a card at one moment, and who takes such readings of a run. Plain data,
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "driver/telemetry.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {

struct SmiReading {
  driver::PerformanceReading card;
  driver::SensorReading sensors;
  uint64_t cores = 0;           // of the card
  uint64_t core_clock_mhz = 0;  // at full speed
  // Memory that is set aside: by segment, of all functions. Empty: not known.
  std::vector<uint64_t> segment_bytes;
  // What the runtime has allocated of it. Empty: the runtime is elsewhere.
  std::optional<uint64_t> active_bytes, peak_bytes;
  // Of the simulated host: time in which it worked, and memory that the card may reach. Empty: the
  // host is elsewhere.
  std::optional<uint64_t> host_busy_ps;
};

class SmiMonitor {
 public:
  virtual ~SmiMonitor() = default;
  virtual uint64_t interval_ps() const = 0;  // of simulated time, more than 0
  // At time 0 of the card's life, at each multiple of the interval, and at the end.
  virtual void Take(const SmiReading& reading) = 0;
};

}  // namespace spyre::cosim
