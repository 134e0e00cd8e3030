// SPDX-License-Identifier: Apache-2.0
// The part of the report that says what the launches cost in energy, by the parameters card.power.*
// and what the card's counters say that it did: the figures of the sensors over the same time
// (docs/energy.md). Pure functions, any thread; joules inside, microjoules in the report.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cosim/session/run_result.h"
#include "model/power/energy.h"

namespace spyre::cosim {

// Of the time from the first launch operation queued to the last one finished. Several cards: of
// each card's own such time, added up.
struct LaunchEnergy {
  model::Energy energy;
  model::Activity activity;
  double power_w = 0;   // mean; of several cards the sum of theirs
  uint64_t macs = 0;    // as many as there were, whatever their format
  uint64_t tokens = 0;  // that the launches made; 0: the workload does not say

  double TotalUj() const;
  std::optional<double> PjPerMac() const;    // of all the energy; empty without MACs
  std::optional<double> UjPerToken() const;  // likewise
};
// Empty: nothing was launched, or the card was in another process and its counters with it.
std::optional<LaunchEnergy> EnergyOfLaunches(const RunResult& result);

// null where EnergyOfLaunches is empty.
nlohmann::ordered_json EnergyJson(const RunResult& result);
// Of one of several cards, likewise.
nlohmann::ordered_json CardEnergyJson(const RunResult& result, const CardResult& card);
// Of the summary, one line of any width; "" where EnergyOfLaunches is empty.
std::string EnergyText(const RunResult& result);

}  // namespace spyre::cosim
