// SPDX-License-Identifier: Apache-2.0
// GRID.toml: which configurations a sweep runs (docs/sweeps.md).
//
//   [sweep]
//   config = "../tiled_matmul.toml"      # what all points have in common; relative to this file
//   method = "grid"                      # or "random", "latin_hypercube" with points and seed
//   where = ["workload.tile.m >= 512"]   # conditions that every point meets
//   objectives = ["launch_ns"]           # figures or keys, for the Pareto front
//   [fixed]
//   workload.division = "cost"
//   [axes]
//   workload.tile.m = [512, 1024, 2048]
//   card.core.outstanding_loads = { from = 1, to = 16, factor = 2 }
//   [[together]]                         # keys that change together, as one axis
//   keys = ["workload.split.m", "workload.split.n"]
//   values = [[4, 8], [8, 4]]
//
// Plain data. Reading throws Error(kBadInput) with file, line, column, key and value.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cosim/sweep/condition.h"

namespace spyre::cosim {

// Whole numbers from `from` to `to`, drawn evenly, or evenly in their logarithm.
struct DrawnRange {
  uint64_t from = 0, to = 0;
  bool logarithmic = false;
};

// One dimension of the grid.
struct Axis {
  using Values = std::vector<nlohmann::ordered_json>;  // one for each key

  std::vector<std::string> keys;
  std::vector<Values> values;  // in order; empty: only `range` says what there is
  DrawnRange range;            // of an axis without values, which has one key
};

enum class SweepMethod : uint8_t { kGrid, kRandom, kLatinHypercube };

struct Grid {
  std::string path;                // of the file
  std::string config;              // "": the defaults
  std::vector<std::string> fixed;  // as of --set
  SweepMethod method = SweepMethod::kGrid;
  uint64_t points = 0;  // of the methods that draw
  uint64_t seed = 1;
  std::vector<Condition> where;
  std::vector<std::string> objectives;  // at least one
  bool traces = false, verify = false;
  std::vector<Axis> axes;  // in the order of the file

  std::vector<std::string> Keys() const;  // of all axes, in order
};

Grid LoadGrid(const std::string& path);
// `name` is what messages call it; its directory is what relative paths are relative to.
Grid ParseGrid(const std::string& text, const std::string& name);

}  // namespace spyre::cosim
