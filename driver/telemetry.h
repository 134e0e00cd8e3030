// SPDX-License-Identifier: Apache-2.0
// What a card tells of itself: performance counters, sensors, counts of errors. Reading them takes
// register accesses only, no ring and no interrupt, so that a monitor can do it beside whoever uses
// the card. docs/telemetry.md says where each figure comes from.
//
// Callers: monitors, PhysicalFunction, tests. Threads: calls are serialised by the caller; a
// reading is a latch and then reads, so two readers of one function take turns. Errors:
// Error(kDeviceFault) if the card does not answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "driver/transport.h"

namespace spyre::driver {

// All of one moment. Of a function since it has had its present user, of the card since its reset.
struct PerformanceReading {
  uint64_t time_ps = 0;  // of the moment
  uint64_t device_read_bytes = 0, device_written_bytes = 0;
  uint64_t pcie_received_bytes = 0, pcie_sent_bytes = 0;  // that the card has read and written
  uint64_t peer_read_bytes = 0, peer_written_bytes = 0;   // of these, to and from other cards
  uint64_t device_reads = 0, device_writes = 0;           // requests
  uint64_t pcie_reads = 0, pcie_writes = 0;
  uint64_t peer_reads = 0, peer_writes = 0;
  uint64_t operations = 0;        // DMA and COMPUTE, begun
  uint64_t busy_ps = 0;           // in which at least one of them ran
  uint64_t pt_active_cycles = 0;  // of the core clock, at full rate, all cores added
  uint64_t macs = 0;
  uint64_t memory_bytes = 0;  // that may be used now
  uint64_t memory_peak_bytes = 0;
};

struct SensorReading {
  uint64_t time_ps = 0;
  double power_w = 0;  // mean since the reading before
  double temperature_c = 0;
  uint32_t core_clock_mhz = 0, ring_clock_mhz = 0;
  uint32_t percent = 100;  // of full speed, at which cores run
  bool limited_by_power = false, limited_by_temperature = false, limited_from_outside = false;
  double power_limit_w = 0, temperature_limit_c = 0;
  double energy_j = 0;        // since power-on
  uint64_t throttled_ps = 0;  // since power-on
};

struct ErrorReading {
  uint32_t corrected = 0, uncorrected = 0;  // words of device memory
  struct Channel {
    uint32_t corrected = 0, uncorrected = 0;
  };
  std::vector<Channel> channels;
  uint32_t lx_parity = 0, ring_retries = 0, ring_dead = 0, pcie_retrains = 0;
};

// value: of a counter, by its place among the registers.
PerformanceReading ReadingOf(const std::function<uint64_t(size_t)>& value);

// Of a function, by itself: what it may know.
PerformanceReading ReadCounters(Transport& card, FunctionId function);

// The rest is the physical function's.
PerformanceReading ReadCountersOf(Transport& card, FunctionId function);
PerformanceReading ReadCardCounters(Transport& card);
SensorReading ReadSensors(Transport& card);
// channels: how many are asked for.
ErrorReading ReadErrors(Transport& card, unsigned channels);
// Lengths of the eight regions of a function; zeros of the physical one.
std::vector<uint64_t> ReadRegions(Transport& card, FunctionId function);

}  // namespace spyre::driver
