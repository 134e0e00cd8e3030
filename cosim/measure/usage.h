// SPDX-License-Identifier: Apache-2.0
// What the units of the card did in a span of device time, set against what they could have done:
// balance between like units, time lost by cause, and the roofline. docs/report-time.md explains
// every figure. Pure functions, any thread; times in ps, sizes in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/resource.h"
#include "model/power/energy.h"
#include "traces/path_causes.h"

namespace spyre::cosim {

// The same figure of several like units.
struct Balance {
  uint64_t units = 0;
  uint64_t min = 0;
  uint64_t max = 0;
  uint64_t sum = 0;

  void Add(uint64_t value);
  double Mean() const;
  std::optional<double> Imbalance() const;  // max / mean; empty if nothing was done
};

// Summed over the `units` units that took part, so it may exceed the span.
struct LostTime {
  std::string cause;
  uint64_t units = 0;
  uint64_t ps = 0;
};

// From asking for a burst of a load to its data in LX, summed over all bursts of the load units;
// they overlap.
struct LoadTimes {
  uint64_t partners_ps = 0;  // members of a multicast that had not asked yet
  uint64_t memory_ps = 0;
  uint64_t ring_ps = 0;
  uint64_t lx_ps = 0;  // the port

  uint64_t TotalPs() const { return partners_ps + memory_ps + ring_ps + lx_ps; }
};

struct Usage {
  uint64_t span_ps = 0;
  uint64_t cores = 0;                                           // cores that took part
  Balance load_ps, pt_ps, vector_ps;                            // busy, of their units
  Balance channel_bytes;                                        // device memory
  uint64_t channel_busy_ps = 0;                                 // of its data buses, summed
  uint64_t pcie_upstream_bytes = 0, pcie_downstream_bytes = 0;  // payload
  uint64_t lx_bytes = 0, vector_bytes = 0;                      // of their units
  uint64_t ring_bytes = 0;  // of all links: a byte counts on each that it passes
  LoadTimes loads;
  std::vector<LostTime> lost;  // every cause, in a fixed order
  trace::PathTimes path{};     // of the critical path; all zero: not known

  // took_part: of a unit that could lose time; else only the cause is listed.
  void AddLost(const char* cause, uint64_t ps, bool took_part = true);
};

// Cores whose units count.
struct CoreSet {
  uint32_t mask = 0;
  bool service = false;  // the service core of pipelined hardware

  uint64_t Count() const;
};

// units: what was done in the span, as Card::Statistics names them. Units of other cores are left
// out.
Usage SummarizeUsage(const std::vector<model::UnitStatistics>& units, CoreSet cores,
                     uint64_t span_ps);

// One step of a program that marks its steps, all its executions together.
struct StepUsage {
  uint32_t step = 0;
  std::string name;
  uint64_t executions = 0;
  uint64_t macs = 0, bytes_read = 0, bytes_written = 0;  // of device memory
  Usage usage;
  model::Activity activity;
};

// From one mark to the next, or to the end of the program.
struct StepExecution {
  uint32_t step = 0;
  uint64_t iteration = 0;
  uint64_t start_ps = 0, end_ps = 0;
  uint64_t macs = 0, bytes_read = 0, bytes_written = 0;
  Usage usage;
};
inline constexpr size_t kMaxStepExecutions = 4096;  // listed of one kernel; all are in StepUsage

// When the last unit of a core was done with an operation.
struct CoreEnd {
  uint32_t core = 0;  // the service core is 0
  uint64_t end_ps = 0;
};

// One COMPUTE operation; by correlation.
struct KernelUsage {
  Usage usage;
  CoreSet cores;
  // Its own, for what it costs in energy. Of links of the ring and of the time in which something
  // ran, operations that run at once have equal parts, so that all together are what there was.
  model::Activity activity;
  uint64_t launch_ps = 0;                 // of its device time, until the units started
  std::vector<CoreEnd> core_ends;         // of each core that took part
  std::vector<StepUsage> steps;           // in order of their first execution; empty: no marks
  std::vector<StepExecution> executions;  // the first kMaxStepExecutions
};
using KernelUsages = std::unordered_map<uint64_t, KernelUsage>;

struct Peaks {
  double macs_per_s;
  double memory_bytes_per_s;
  double pcie_bytes_per_s;  // each way

  double RidgeMacPerByte() const { return macs_per_s / memory_bytes_per_s; }
};
Peaks PeaksOf(const model::CardConfig& card, uint64_t cores);

struct Roofline {
  Peaks peaks;
  double macs_per_s;
  double memory_bytes_per_s;
  double pcie_upstream_bytes_per_s, pcie_downstream_bytes_per_s;
  std::optional<double> mac_per_byte;  // operational intensity; empty without memory traffic
  double compute_share;                // of the PT arrays' peak
  double vector_share;                 // mean busy time of the vector units
  double memory_share, pcie_upstream_share, pcie_downstream_share;
  trace::Bound bound;  // what the critical path says
};
Roofline RooflineOf(const Peaks& peaks, const Usage& usage, uint64_t macs, uint64_t memory_bytes);

}  // namespace spyre::cosim
