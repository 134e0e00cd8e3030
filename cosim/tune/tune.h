// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim tune`: looks for the plan of a workload with which a figure is best: the cost model
// of the compiler proposes (plan.h), the model of the card decides (search.h), and what is called
// the best has been run with data and verified.
//
// Writes best.toml, history.csv, history.jsonl and index.html to a directory; they do not depend on
// the number of processes. Call from a process with one thread that has made no SystemC object.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cosim/trials/run_trials.h"
#include "cosim/tune/search.h"

namespace spyre::cosim {

struct TuneOptions {
  std::string config;             // as CONFIG of `run`
  std::vector<std::string> sets;  // these keys stay as they are
  std::string out;                // directory; "": out/tune- and the configuration's name
  uint64_t budget = 100;          // SearchOptions::budget
  uint64_t seed = 1;
  uint64_t jobs = 0;  // processes at a time; 0: one for each processor
  // One of NumberFigures(), or time, energy, edp for launch_ns, energy_uj, energy_delay_uj_us.
  std::string objective = "time";
};

// A plan that was run with data.
struct VerifiedPlan {
  size_t trial = 0;  // of SearchResult::trials
  TrialResult result;
};

struct TuneResult {
  std::string config;
  size_t objective = 0;  // of NumberFigures()
  uint64_t budget = 0, seed = 0;
  bool functional = true;  // else plans are not verified: the configuration moves no data
  SearchResult search;
  std::vector<VerifiedPlan> verified;  // in the order of SearchResult::best; all but the last wrong
  size_t best = 0;                     // of SearchResult::trials
  TrialResult judged;                  // the best plan's last run, with data where it has them
  bool is_right() const { return judged.right(); }
  std::string plan_path, csv_path, lines_path, page_path;

  const TuneTrial& given() const { return search.trials.front(); }
  const TuneTrial& best_trial() const { return search.trials[best]; }
};

// Throws Error(kBadInput) for an unknown objective, a directory that cannot be written, a
// configuration that has no plan to choose (space_of.h) or that is refused as it is, before
// anything is searched; Error(kDeviceFault) if the card fails in the configuration as it is.
TuneResult Tune(const TuneOptions& options, const ConfigReader& reader, std::ostream& messages);

nlohmann::ordered_json ToJson(const TuneResult& result);
// Lines and a table that fit the width. program: how the user called this program.
std::string ToText(const TuneResult& result, const std::string& program, size_t width);

}  // namespace spyre::cosim
