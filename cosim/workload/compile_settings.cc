// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/compile_settings.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

// `cores`, or what the variable says if that is smaller.
int LimitCores(int cores, const char* sencores) {
  if (sencores == nullptr) return cores;
  int limit = 0;
  const char* end = sencores + std::strlen(sencores);
  const auto [stop, error] = std::from_chars(sencores, end, limit);
  if (error != std::errc() || stop != end || limit < 1 || limit > kMaxCores) {
    throw BadInput("environment variable SENCORES = \"{}\" must be a whole number from 1 to {}",
                   sencores, kMaxCores);
  }
  return std::min(cores, limit);
}

}  // namespace

int MaxCores(const RunConfig& config, const char* sencores) {
  const auto wanted = static_cast<int>(config.workload.cores);
  const auto present = static_cast<int>(config.card.cores);
  if (wanted > present) {
    throw BadInput("workload.cores = {}: the card has {} (card.cores)", wanted, present);
  }
  // What the workload says goes before the environment.
  return wanted != 0 ? wanted : LimitCores(present, sencores);
}

compiler::MatmulTiming MatmulTimingOf(const model::CardConfig& card) {
  // The public figures are of the public card, and include what it loses to refresh, turnaround and
  // check bytes: a card with other rates is faster or slower in proportion.
  const model::CardConfig calibrated;
  const auto macs = [](const model::CardConfig& c) {
    return static_cast<double>(c.core.corelets * c.core.pt_macs_per_cycle * c.clock.core_mhz);
  };
  const auto bytes = [](const model::CardConfig& c) {
    return static_cast<double>(c.memory.channels * c.memory.channel_bits * c.memory.transfer_mts);
  };
  compiler::MatmulTiming timing;
  timing.macs_per_core_ns *= macs(card) / macs(calibrated);
  timing.memory_bytes_per_ns *= bytes(card) / bytes(calibrated);
  timing.cohort = static_cast<double>(card.ring.multicast_cohort);
  // The compiler's figure stands for the public card, whatever the links of this model need for it.
  timing.cohort_exponent += (static_cast<double>(card.ring.multicast_exponent_percent) -
                             static_cast<double>(calibrated.ring.multicast_exponent_percent)) /
                            100;
  return timing;
}

}  // namespace spyre::cosim
