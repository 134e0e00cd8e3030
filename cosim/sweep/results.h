// SPDX-License-Identifier: Apache-2.0
// The results of a sweep as a table: a row for each point, whatever came of it. Plain data and pure
// functions, any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cosim/trials/trial.h"

namespace spyre::cosim {

// One objective of the Pareto front: a figure, or a key of the grid or of the configuration.
struct Objective {
  std::string name;
  bool more_is_better = false;
};

struct SweepRow {
  uint64_t point = 0;
  std::vector<nlohmann::ordered_json> values;  // one for each key
  TrialResult result;
  bool on_front = false;  // of the Pareto front over the objectives
};

struct SweepResults {
  std::string name;  // of the grid
  std::string config;
  std::string digest;
  std::vector<std::string> keys;
  std::vector<Objective> objectives;
  std::vector<SweepRow> rows;  // by point; without those that have not been run
  uint64_t points = 0;         // of the sweep
};

// Sets on_front of every row that is done; of one objective, that is the best. Rows without a
// number for an objective are on no front.
void MarkFront(SweepResults& results);

// RFC 4180, with a header: point, the keys, status, reason, figures, pareto.
std::string ToCsv(const SweepResults& results);
// One object a line: point, set {key: value}, status, reason, figures, pareto.
std::string ToJsonLines(const SweepResults& results);

}  // namespace spyre::cosim
