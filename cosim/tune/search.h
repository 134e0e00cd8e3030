// SPDX-License-Identifier: Apache-2.0
// The search of `tune`, whatever is searched and however a plan is tried. Any thread.
//
// First come the plans that the cost model ranks highest, and some that are drawn from those behind
// them, in case the model is wrong. Then what is near the best plan so far is tried, then what is
// near the next best; where all of that was tried, the next plans of the ranking. It ends when the
// budget is used up. Where launches repeat, plans are tried on the fast card before
// (docs/accuracy.md, "Fast launches"), and only the best of those on the timed one.
//
// The plans that are tried depend on the space, the results, the budget and the seed alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cosim/trials/trial.h"
#include "cosim/tune/plan.h"

namespace spyre::cosim {

enum class Stage : uint8_t { kGiven, kFast, kProposed, kDrawn, kNearby };
const char* Name(Stage stage);  // "given", "fast", "proposed", "drawn", "nearby"

struct TuneTrial {
  Stage stage = Stage::kGiven;
  Plan plan;
  TrialResult result;
};

struct SearchOptions {
  uint64_t budget = 1;  // trials of the timed model that end, the given plan's among them
  uint64_t seed = 1;
  // Whether the fast card is worth asking, by the result of the given plan.
  std::function<bool(const TrialResult& given)> may_be_fast;
  // What is made small; infinite of a trial that did not end.
  std::function<double(const TrialResult& result)> score;
};

// Results in the order of the plans.
using TryPlans =
    std::function<std::vector<TrialResult>(Stage stage, const std::vector<Plan>& plans)>;

struct SearchResult {
  std::vector<TuneTrial> trials;  // in the order of their proposal; the first is as given
  std::vector<size_t>
      best;            // timed trials that ended, the best first; of equals that with fewest keys
  uint64_t plans = 0;  // that the space has
  std::map<std::string, uint64_t> refused;  // by the compiler, by its reason: Ranking::refused
};

// If the given plan does not end, it is the only trial.
SearchResult Search(const PlanSpace& space, const SearchOptions& options, const TryPlans& attempt);

}  // namespace spyre::cosim
