// SPDX-License-Identifier: Apache-2.0
// The requests that loads and stores are made of, and how fast a core gets through them. A request
// is a burst at most, and less where what follows each other in device memory is less. Each waits
// for the way to memory and back, and few are under way at a time: short ones carry less for that.
//
// Pure functions, any thread. Times in ns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/formula/kernel_work.h"
#include "model/formula/rates.h"

namespace spyre::model {

struct Requests {
  double count = 0;      // of one core
  double bytes = 0;      // of each
  double run_bytes = 0;  // of those that follow each other in device memory
  double row_ns = 0;     // that each waits for a row of memory to be opened
  double stop_ns = 0;    // that each keeps the memory stop of the ring busy, if it is a multicast

  // How far they are like those of long runs, which lose nothing from 1 KiB on: 0 for sticks.
  double whole() const { return std::clamp((bytes - 128) / (1024 - 128), 0.0, 1.0); }
};

// Those that bring or take so many bytes of a core.
Requests RequestsFor(double bytes, const MemoryRuns& runs, const CardParameters& card);

// Who a load is for: the members of a multicast group, which ends so many stops of the ring from
// memory, or one of so many cores.
struct LoadGroup {
  uint64_t members = 1, hops = 0;
  uint64_t cores = 1;  // that the kernel works on
};
// Of one load, from its request to its data, where nobody else asks.
double LoadLatencyNs(const Requests& requests, const LoadGroup& group, const CardParameters& card,
                     const Rates& rates);
// What they take if nothing but that latency limits them.
double LoadsNs(const Requests& requests, const LoadGroup& group, double latency_ns,
               const CardParameters& card, const Rates& rates);
// The same where memory is busy for so long with them and with others: short requests come at any
// time, and wait for those before them.
double LoadsOfBusyMemoryNs(const Requests& requests, double loads_ns, double memory_ns);
double StoresNs(const Requests& requests, uint64_t cores, const CardParameters& card,
                const Rates& rates);

// From the first request of a tile to the end of the last one, where nobody else asks.
double TileLoadNs(const Requests& requests, uint64_t cores, const CardParameters& card,
                  const Rates& rates);
double TileStoreNs(const Requests& requests, uint64_t cores, const CardParameters& card,
                   const Rates& rates);

// What memory takes for results beyond their bytes: of blocks that share check bytes, those that
// are written in part have the old ones read first.
double PartialWritesNs(const Requests& requests, const CardParameters& card);

}  // namespace spyre::model
