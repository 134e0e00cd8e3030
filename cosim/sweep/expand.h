// SPDX-License-Identifier: Apache-2.0
// The points of a grid. Whoever expands the same grid gets the same points in the same order, on
// any machine: shards and resumed sweeps rely on it. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/sweep/grid.h"

namespace spyre::cosim {

struct GridPoint {
  std::vector<nlohmann::ordered_json> values;  // one for each of Grid::Keys()
};

struct Expansion {
  std::vector<GridPoint> points;
  uint64_t unmet = 0;      // points left out because a condition does not hold
  uint64_t duplicate = 0;  // drawn points left out because they are there already
};

// base: what conditions read keys from that are not swept, with the fixed keys in it.
//
// A grid: all combinations, the first axis slowest. Random: each axis drawn by itself, until there
// are Grid::points different ones that meet the conditions. Latin hypercube: the values of each
// axis are cut into Grid::points equal strata and each is met once; points that do not meet the
// conditions are left out.
//
// Throws Error(kBadInput): no point meets the conditions, not enough different ones are found, more
// than a million points, a condition that cannot be judged.
Expansion Expand(const Grid& grid, const RunConfig& base);

// As of --set: the fixed keys, then those of the point.
std::vector<std::string> SetsOf(const Grid& grid, const GridPoint& point);

// What the sweep is: equal if and only if the same points of the same configuration are run. 16 hex
// digits.
std::string DigestOf(const Grid& grid, const RunConfig& base, const Expansion& expansion);

}  // namespace spyre::cosim
