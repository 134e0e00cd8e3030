// SPDX-License-Identifier: Apache-2.0
// The closed form of the time of a collective: the plan that the cards would carry out
// (runtime/collectives/plan.h), step by step, with a clock for the host of each card and one for
// each port of the switch. Each term stands for a mechanism of docs/multi-card.md; packets are not
// followed. Pure functions, any thread. Times in ns.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "parameters/card_parameters.h"
#include "runtime/collectives/collective_rank.h"
#include "runtime/collectives/plan.h"

namespace spyre::cosim {

// What the host of a card pays around an operation of its card.
struct HostTerms {
  double register_write_ns = 0;  // the doorbell
  double submit_ns = 0;          // of a queue entry
  double come_back_ns = 0;       // from a response to the caller going on
  double launch_ns = 0;          // of a launch: the front end, and a buffer for the correction
};

struct CollectiveTerms {
  model::CardParameters card;
  model::SwitchConfig pcie_switch;
  HostTerms host;
  std::function<double(uint64_t bytes)> addition_ns;  // the kernel that adds so many bytes
};

// Of one rank, from when all ranks have come.
struct RankTime {
  double end_ns = 0;
  double send_ns = 0, wait_ns = 0, compute_ns = 0;  // as runtime::CollectiveTimes
};

std::vector<RankTime> TimesOf(const runtime::CollectivePlan& plan, const CollectiveTerms& terms);

}  // namespace spyre::cosim
