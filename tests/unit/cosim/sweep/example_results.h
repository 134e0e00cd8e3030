// SPDX-License-Identifier: Apache-2.0
// Results of a small sweep, as tests of its outputs want them.
#pragma once

#include <string>
#include <utility>

#include "cosim/sweep/results.h"

namespace spyre::test {

using cosim::NumberFigure;
using cosim::NumberFigures;
using cosim::SweepResults;
using cosim::TrialResult;
using cosim::TrialStatus;

inline TrialResult ResultWith(double launch_ns) {
  TrialResult result;
  result.status = TrialStatus::kDone;
  result.numbers.assign(NumberFigures().size(), 0);
  result.numbers[NumberFigure("launch_ns")] = launch_ns;
  result.texts = {"memory", "rows 4 x cols 1"};
  result.wall_s = 0.25;
  return result;
}

// Three points that ended and one that did not.
inline SweepResults ExampleResults() {
  SweepResults results;
  results.name = "example";
  results.config = "add.toml";
  results.digest = "0123456789abcdef";
  results.keys = {"card.cores", "workload.op"};
  results.objectives = {{"launch_ns", false}, {"card.cores", false}};
  results.points = 4;
  results.rows = {{0, {4, "add"}, ResultWith(100), false},
                  {1, {8, "add"}, ResultWith(90), false},
                  {2, {8, "mul"}, ResultWith(95), false}};
  TrialResult refused;
  refused.status = TrialStatus::kInfeasible;
  refused.reason = "no, it cannot";
  results.rows.push_back({3, {16, "a \"b\", c"}, refused, false});
  return results;
}

}  // namespace spyre::test
