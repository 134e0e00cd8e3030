// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim what-if`: what would a run gain if a part of the card were faster? Each parameter is
// made faster and slower by a factor, one at a time, and the run is simulated again; then the ones
// that help most are made faster in pairs. Call from a process with one thread that has made no
// SystemC object.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cosim/trials/run_trials.h"
#include "cosim/what_if/parameters.h"

namespace spyre::cosim {

struct WhatIfOptions {
  std::string config;  // as CONFIG of `run`
  std::vector<std::string> sets;
  std::vector<std::string> parameters;  // keys or tables; empty: all
  std::string figure = "program_ns";    // of NumberFigures(): what is to become better
  double factor = 2;                    // above 1
  uint64_t jobs = 0;
  uint64_t pairs = 4;  // of so many parameters that help most, every pair is asked; 0: none
};

// The parameter at another value.
struct Change {
  uint64_t value = 0;
  TrialResult result;
};
struct Answer {
  Parameter parameter;
  // For a threshold these stand for larger and smaller. Empty if the value cannot change that way.
  std::optional<Change> faster, slower;
};
struct PairAnswer {
  size_t first = 0, second = 0;  // of WhatIf::answers
  TrialResult result;            // both at BetterOf
};

struct WhatIf {
  std::string config;
  Figure figure;  // that answers are about
  double factor = 2;
  TrialResult base;
  std::vector<Answer> answers;    // those with the best figure first, then by the other direction
  std::vector<PairAnswer> pairs;  // those that help most beyond their parts first
  std::vector<LeftOut> left_out;
};

// Relative change of the figure, -0.5 for half of it; 0 of a change that did not run.
double ChangeOf(const WhatIf& what_if, const TrialResult& result);
// The same, negative for what is better: of a figure of which more is better, the other sign.
double CostOf(const WhatIf& what_if, const TrialResult& result);
// What a pair would gain if its parts were independent: (1 + a)(1 + b) - 1.
double ExpectedOf(const WhatIf& what_if, const PairAnswer& pair);
// The faster value; of a threshold the one with the better figure. Null: it did not run.
const Change* BetterOf(const WhatIf& what_if, const Answer& answer);

// Throws Error(kBadInput) if the configuration itself does not run, for an unknown parameter or
// figure, and for a figure that is 0 in this run.
WhatIf AskWhatIf(const WhatIfOptions& options, const ConfigReader& reader, std::ostream& messages);

nlohmann::ordered_json ToJson(const WhatIf& what_if);
// Tables that fit the width.
std::string ToText(const WhatIf& what_if, size_t width);

}  // namespace spyre::cosim
