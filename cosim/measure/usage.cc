// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/usage.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/ranges.h"
#include "base/time_units.h"

namespace spyre::cosim {
namespace {

using model::Loss;
using model::UnitStatistics;

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// What a unit that did nothing did not lose either.
void AddLost(Usage& usage, const UnitStatistics& unit, const char* cause, uint64_t ps) {
  usage.AddLost(cause, ps, unit.busy_ps > 0 || unit.requests > 0 || ps > 0);
}

void AddLost(Usage& usage, const UnitStatistics& unit, const char* cause, Loss loss) {
  AddLost(usage, unit, cause, unit.lost(loss));
}

void AddCoreUnit(Usage& usage, std::string_view part, const UnitStatistics& unit) {
  if (part == "load") {
    usage.load_ps.Add(unit.busy_ps);
    AddLost(usage, unit, "token_wait_load", Loss::kTokenWait);
    AddLost(usage, unit, "partner_wait", Loss::kPartnerWait);
    usage.loads.partners_ps += unit.lost(Loss::kLoadPartners);
    usage.loads.memory_ps += unit.lost(Loss::kLoadMemory);
    usage.loads.ring_ps += unit.lost(Loss::kLoadRing);
    usage.loads.lx_ps += unit.lost(Loss::kLoadLx);
  } else if (part == "store") {
    AddLost(usage, unit, "token_wait_store", Loss::kTokenWait);
  } else if (part == "pt") {
    usage.pt_ps.Add(unit.busy_ps);
    AddLost(usage, unit, "token_wait_pt", Loss::kTokenWait);
    AddLost(usage, unit, "weight_load", Loss::kWeightLoad);
    AddLost(usage, unit, "fill_drain", Loss::kFillDrain);
  } else if (part == "vector") {
    usage.vector_ps.Add(unit.busy_ps);
    usage.vector_bytes += unit.bytes;
    AddLost(usage, unit, "token_wait_vector", Loss::kTokenWait);
  } else if (part == "ring") {
    AddLost(usage, unit, "token_wait_ring", Loss::kTokenWait);
    AddLost(usage, unit, "barrier_wait", Loss::kBarrierWait);
  } else if (part == "lx_port") {
    usage.lx_bytes += unit.bytes;
    AddLost(usage, unit, "lx_port_wait", Loss::kQueue);
  }
}

void AddUnit(Usage& usage, CoreSet cores, const UnitStatistics& unit) {
  std::string_view name = unit.name;
  if (TakePrefix(name, "memory.channel")) {
    usage.channel_bytes.Add(unit.bytes);
    usage.channel_busy_ps += unit.busy_ps;
    AddLost(usage, unit, "row_miss", Loss::kRowMiss);
    AddLost(usage, unit, "turnaround", Loss::kTurnaround);
    AddLost(usage, unit, "refresh", Loss::kRefresh);
    AddLost(usage, unit, "bank_group", Loss::kBankGroup);
    AddLost(usage, unit, "ecc_check", Loss::kEccCheck);
  } else if (TakePrefix(name, "ring.")) {
    usage.ring_bytes += unit.bytes;
    AddLost(usage, unit, "ring_wait", Loss::kQueue);
  } else if (TakePrefix(name, "pcie.")) {
    (name == "upstream" ? usage.pcie_upstream_bytes : usage.pcie_downstream_bytes) += unit.bytes;
    AddLost(usage, unit, "pcie_wait", Loss::kQueue);
  } else if (TakePrefix(name, "service_core.")) {
    if (cores.service) AddCoreUnit(usage, name, unit);
  } else if (TakePrefix(name, "core")) {
    unsigned core = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), core);
    if (error != std::errc{} || core >= 32 || (cores.mask >> core & 1) == 0) return;
    name.remove_prefix(static_cast<size_t>(end - name.data()));
    if (TakePrefix(name, ".")) AddCoreUnit(usage, name, unit);
  }
}

}  // namespace

void Balance::Add(uint64_t value) {
  min = units == 0 ? value : std::min(min, value);
  max = std::max(max, value);
  sum += value;
  ++units;
}

double Balance::Mean() const {
  return units == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(units);
}

std::optional<double> Balance::Imbalance() const {
  if (sum == 0) return std::nullopt;
  return static_cast<double>(max) / Mean();
}

void Usage::AddLost(const char* cause, uint64_t ps, bool took_part) {
  auto entry = FindIf(lost, [cause](const LostTime& time) { return time.cause == cause; });
  if (entry == lost.end()) entry = lost.insert(lost.end(), {cause, 0, 0});
  if (took_part) ++entry->units;
  entry->ps += ps;
}

uint64_t CoreSet::Count() const {
  uint64_t count = service ? 1 : 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) ++count;
  return count;
}

Usage SummarizeUsage(const std::vector<UnitStatistics>& units, CoreSet cores, uint64_t span_ps) {
  Usage usage;
  usage.span_ps = span_ps;
  usage.cores = cores.Count();
  for (const UnitStatistics& unit : units) AddUnit(usage, cores, unit);
  return usage;
}

Peaks PeaksOf(const model::CardConfig& card, uint64_t cores) {
  const double core_macs = static_cast<double>(card.core.corelets * card.core.pt_macs_per_cycle) *
                           static_cast<double>(card.clock.core_mhz) * 1e6;
  const double memory = static_cast<double>(card.memory.channels * card.memory.channel_bits *
                                            card.memory.transfer_mts) /
                        8 * 1e6;
  const double pcie =  // each way; 128 of 130 bits are data
      static_cast<double>(card.pcie.lanes * card.pcie.rate_mts) / 8 * 128 / 130 * 1e6;
  return {static_cast<double>(cores) * core_macs, memory, pcie};
}

Roofline RooflineOf(const Peaks& peaks, const Usage& usage, uint64_t macs, uint64_t memory_bytes) {
  const double seconds = static_cast<double>(usage.span_ps) / kPsPerSecond;
  const auto rate = [seconds](uint64_t amount) {
    return seconds == 0 ? 0 : static_cast<double>(amount) / seconds;
  };
  Roofline roofline{};
  roofline.peaks = peaks;
  roofline.macs_per_s = rate(macs);
  roofline.memory_bytes_per_s = rate(memory_bytes);
  roofline.pcie_upstream_bytes_per_s = rate(usage.pcie_upstream_bytes);
  roofline.pcie_downstream_bytes_per_s = rate(usage.pcie_downstream_bytes);
  if (memory_bytes > 0) {
    roofline.mac_per_byte = static_cast<double>(macs) / static_cast<double>(memory_bytes);
  }
  roofline.compute_share = peaks.macs_per_s == 0 ? 0 : roofline.macs_per_s / peaks.macs_per_s;
  roofline.vector_share =
      usage.span_ps == 0 ? 0 : usage.vector_ps.Mean() / static_cast<double>(usage.span_ps);
  roofline.memory_share = roofline.memory_bytes_per_s / peaks.memory_bytes_per_s;
  roofline.pcie_upstream_share = roofline.pcie_upstream_bytes_per_s / peaks.pcie_bytes_per_s;
  roofline.pcie_downstream_share = roofline.pcie_downstream_bytes_per_s / peaks.pcie_bytes_per_s;

  roofline.bound = trace::BoundOf(usage.path);
  return roofline;
}

}  // namespace spyre::cosim
