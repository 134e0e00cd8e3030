// SPDX-License-Identifier: Apache-2.0
// What the card's work costs in energy, by the parameters card.power.*: so much for each byte and
// each multiply-accumulate, and so much for each moment. A model with assumed figures, not a
// measurement (docs/telemetry.md). Plain functions, any thread; joules and picoseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/resource.h"

namespace spyre::model {

// What was done in some span of time.
struct Activity {
  uint64_t fp16_macs = 0;     // multiply-accumulates, of narrow formats at the rate of fp16
  uint64_t vector_bytes = 0;  // operands and results of vector units
  uint64_t lx_bytes = 0;      // through the ports of LX
  uint64_t ring_bytes = 0;    // over links of the ring: a byte counts on each link that it passes
  uint64_t memory_bytes = 0;  // data of device memory, read and written
  uint64_t pcie_bytes = 0;    // data over the PCIe link, both ways
  uint64_t busy_ps = 0;       // in which an operation ran
};
// Since an earlier reading.
Activity operator-(const Activity& now, const Activity& before);
Activity operator+(const Activity& a, const Activity& b);

// From the counters of the card's units (Card::Statistics); what they do not tell, fp16_macs and
// busy_ps, is the caller's to add.
Activity ActivityOf(const std::vector<UnitStatistics>& units);

struct Energy {
  double idle = 0, busy = 0;  // of the time that passes, and of that in which something runs
  double macs = 0, vector = 0, lx = 0, ring = 0, memory = 0, pcie = 0;

  double Total() const { return idle + busy + macs + vector + lx + ring + memory + pcie; }
};
Energy operator+(const Energy& a, const Energy& b);
// The energy of a span of `span_ps` in which `activity` was done.
Energy EnergyOf(const PowerConfig& power, const Activity& activity, uint64_t span_ps);

}  // namespace spyre::model
