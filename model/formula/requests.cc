// SPDX-License-Identifier: Apache-2.0
#include "model/formula/requests.h"

#include <algorithm>
#include <cmath>

namespace spyre::model {
namespace {

constexpr double kBurstBytes = 4096;
constexpr double kStickOfRequest = 128;  // of the smallest request, a stick
constexpr double kBurstsOfStream = 4;    // in flight, of the streams that fast.stream was fitted to
constexpr uint64_t kMostCores = 32;      // of a card
constexpr uint64_t kFarthestHops = 16;   // from memory, the shorter way round
constexpr double kPsPerNs = 1000;

double LinkBytesPerNs(const CardParameters& card) {
  return Number(card.ring.bytes_per_cycle * card.ring.link_percent) / 100 *
         Number(card.clock.ring_mhz) / kPsPerNs;
}

// A burst is asked for when it has been translated, one after the other.
double IssueNs(const CardParameters& card, const Rates& rates) {
  return Number(card.mmu.translate_cycles + 1) * rates.cycle_ns;
}

// Part of the time in which memory refreshes its rows, and all requests wait.
double RefreshShare(const MemoryConfig& memory) {
  if (memory.refresh != RefreshKind::kAllBank || memory.t_refi_ps == 0) return 0;
  return std::min(0.9, Number(memory.t_rfc_ab_ps) / Number(memory.t_refi_ps));
}

// Data of a row of memory: granules, together with a burst of check bytes each.
double RowBytes(const MemoryConfig& memory) {
  if (memory.ecc != Ecc::kInline) return Number(memory.page_bytes);
  const double granule = Number(memory.ecc_granule_bytes);
  const double burst = Number(memory.burst_length * memory.channel_bits) / 8;
  return std::max(kStickOfRequest,
                  std::floor(Number(memory.page_bytes) / (granule + burst)) * granule);
}

// From the arrival of a read of a stick at memory, whose row is open, to its data: bursts of data
// and of check bytes come from one bank group.
double ArrayNs(const MemoryConfig& memory) {
  const double burst = Number(memory.burst_length * memory.channel_bits) / 8;
  double bursts = std::ceil(kStickOfRequest / burst);
  if (memory.ecc == Ecc::kInline)
    bursts += std::ceil(kStickOfRequest / Number(memory.ecc_word_bytes));
  return Number(memory.controller_ns) +
         (Number(memory.read_latency_ps) + bursts * Number(memory.t_ccd_l_ps)) / kPsPerNs;
}

// A load of a stick: the way to memory and back.
double StickLatencyNs(const Requests& requests, uint64_t hops, const CardParameters& card,
                      const Rates& rates) {
  const double port_ns =
      kStickOfRequest / Number(card.core.lx_port_bytes_per_cycle) * rates.cycle_ns;
  return (rates.hop_ns * Number(hops) + ArrayNs(card.memory) + requests.row_ns +
          kStickOfRequest / LinkBytesPerNs(card) + port_ns + IssueNs(card, rates)) /
         (1 - RefreshShare(card.memory));
}

// There and back, of the farthest core.
uint64_t UnicastHops(uint64_t cores) { return 2 * std::min(cores, kFarthestHops); }

// Loads that are under way at a time: as many as have the bytes of so many whole bursts.
double InFlight(const Requests& requests, uint64_t bursts) {
  return Number(bursts) * kBurstBytes / std::max(kStickOfRequest, requests.bytes);
}

double StoreLatencyNs(uint64_t cores, const CardParameters& card, const Rates& rates) {
  return rates.hop_ns * Number(UnicastHops(cores)) + Number(card.memory.controller_ns) +
         IssueNs(card, rates);
}

}  // namespace

Requests RequestsFor(double bytes, const MemoryRuns& runs, const CardParameters& card) {
  const double run = runs.bytes == 0 ? bytes : std::min(bytes, Number(runs.bytes));
  if (run == 0) return {};
  Requests requests;
  requests.count = bytes / run * std::ceil(run / kBurstBytes);
  requests.bytes = bytes / requests.count;
  requests.run_bytes = run;
  // Those of one instruction that lie within one window of device memory share their turn.
  const double window = Number(card.ring.request_window_bytes);
  const double reach = std::max(requests.bytes, runs.spacing == 0 ? window : Number(runs.spacing));
  // Sticks that are near share a row. Where they are far, each has one of its own.
  const double row = RowBytes(card.memory);
  const double near = runs.spacing == 0 ? row : std::min(row, Number(runs.spacing));
  requests.row_ns = Number(card.memory.t_rcd_ps) / kPsPerNs * near / row;
  requests.stop_ns =
      Number(card.ring.multicast_request_ps) / kPsPerNs * std::min(1.0, reach / window);
  return requests;
}

// That of a whole burst is what a stream into one core or one group is measured to have in flight,
// divided by its rate.
double LoadLatencyNs(const Requests& requests, const LoadGroup& group, const CardParameters& card,
                     const Rates& rates) {
  // Memory is asked when the last member has, and the data pass all members one way round. Those of
  // one core go the shorter way.
  const uint64_t hops = group.members > 1 ? kFarthestHops + std::max(group.hops, group.members)
                                          : UnicastHops(group.cores);
  const double stick_ns = StickLatencyNs(requests, hops, card, rates);
  const double all_ns = kBurstsOfStream * kBurstBytes / rates.stream;  // of all cores
  const double nearer_ns = rates.hop_ns * Number(kMostCores - std::min(kMostCores, group.members));
  const double whole_ns = std::max(all_ns - nearer_ns, all_ns / 2);
  return stick_ns + std::max(0.0, whole_ns - stick_ns) * (requests.bytes - kStickOfRequest) /
                        (kBurstBytes - kStickOfRequest);
}

double LoadsNs(const Requests& requests, const LoadGroup& group, double latency_ns,
               const CardParameters& card, const Rates& rates) {
  const uint64_t bursts =
      group.members > 1 ? card.core.outstanding_multicasts : card.core.outstanding_loads;
  return requests.count * std::max(latency_ns / InFlight(requests, bursts), IssueNs(card, rates));
}

double LoadsOfBusyMemoryNs(const Requests& requests, double loads_ns, double memory_ns) {
  // The share of the time in which memory is busy decides how many wait, so that the longer of the
  // two takes little more. What a whole burst waits for is in the rates that were measured.
  return std::hypot(loads_ns, memory_ns * (1 - requests.whole()));
}

double StoresNs(const Requests& requests, uint64_t cores, const CardParameters& card,
                const Rates& rates) {
  const double latency_ns =
      StoreLatencyNs(cores, card, rates) + requests.bytes / LinkBytesPerNs(card);
  return requests.count *
         std::max(latency_ns / Number(card.core.outstanding_stores), IssueNs(card, rates));
}

double TileLoadNs(const Requests& requests, uint64_t cores, const CardParameters& card,
                  const Rates& rates) {
  if (requests.count == 0) return 0;
  const double latency_ns = StickLatencyNs(requests, UnicastHops(cores), card, rates);
  const double data_ns = requests.bytes / LinkBytesPerNs(card);
  const double rounds =
      std::max(1.0, requests.count / InFlight(requests, card.core.outstanding_loads));
  return std::max(latency_ns + requests.count * data_ns, rounds * (latency_ns + data_ns));
}

double TileStoreNs(const Requests& requests, uint64_t cores, const CardParameters& card,
                   const Rates& rates) {
  if (requests.count == 0) return 0;
  const double latency_ns = StoreLatencyNs(cores, card, rates);
  const double data_ns = requests.bytes / LinkBytesPerNs(card);
  const double rounds = std::max(1.0, requests.count / Number(card.core.outstanding_stores));
  return std::max(latency_ns + requests.count * data_ns, rounds * (latency_ns + data_ns));
}

double PartialWritesNs(const Requests& requests, const CardParameters& card) {
  const MemoryConfig& memory = card.memory;
  const double block = Number(memory.ecc_granule_bytes);
  if (memory.ecc != Ecc::kInline || memory.ecc_partial_write != EccPartialWrite::kReadFirst ||
      requests.count == 0 || std::fmod(requests.run_bytes, block) == 0)
    return 0;
  // A channel takes so many writes in turn. If one of them is partial, the bus turns to the old
  // check bytes and back, once for all that are.
  const double writes = std::max(1.0, Number(memory.write_high - memory.write_low));
  const double partial = 1 / std::ceil(requests.run_bytes / block);
  const double turns = (1 - std::pow(1 - partial, writes)) / (writes * partial);
  const double turn_ps = Number(memory.read_latency_ps + memory.t_rtw_gap_ps + memory.t_wtr_l_ps +
                                2 * memory.t_ccd_l_ps);
  const double ns = (turns * turn_ps + Number(memory.t_ccd_l_ps)) / kPsPerNs;
  const double runs = requests.count * requests.bytes / requests.run_bytes;
  return runs * ns / Number(memory.channels);
}

}  // namespace spyre::model
