// SPDX-License-Identifier: Apache-2.0
// Runs traffic through the address interleave and the channel controllers alone, without ring, DMA
// or SystemC: what memory by itself gives. Used by the memory command and by the memory benchmark.
// Single thread, deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/memory_study/latency_histogram.h"
#include "cosim/memory_study/memory_traffic.h"
#include "model/common/card_config.h"
#include "model/memory/channel_controller.h"

namespace spyre::cosim {

// Requests in flight: each stream has `outstanding` of them, or, with a rate, as many as come. The
// rate is a share of the peak bandwidth; 0: no rate. Accesses with an arrival come then.
struct MemoryLoad {
  uint64_t outstanding = 64;
  double rate = 0;
};

// Latencies: from issue to the last byte of the request (`all`), or of its piece on this channel;
// writes count until they are taken by a write queue. controller_ns is part of them.
struct MemoryUnitResult {
  model::ChannelStatistics statistics;  // of all channels: sums
  LatencyHistogram reads, writes;
};

struct MemoryResult {
  uint64_t elapsed_ps = 0;  // until the last request is done and every write is in its row
  double peak_gbps = 0;     // of all channels
  uint64_t requests = 0;
  MemoryUnitResult all;
  std::vector<MemoryUnitResult> channels;
};

MemoryResult RunMemory(const model::MemoryConfig& config, MemoryTraffic& traffic,
                       const MemoryLoad& load);

}  // namespace spyre::cosim
