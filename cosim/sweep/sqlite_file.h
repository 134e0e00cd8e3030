// SPDX-License-Identifier: Apache-2.0
// The results of a sweep as an SQLite database. Tables:
//
//   points   a row for each point, columns as in the CSV file: point, the keys, status, reason, the
//            figures, pareto; NULL where a point has no figure
//   figures  name, unit, description, more_is_better of each figure
//   sweep    name, value: config, digest, points, objectives
//
// and the view `done` with the points that ran to their end with right numbers.
#pragma once

#include <string>

#include "cosim/sweep/results.h"

namespace spyre::cosim {

// Replaces `path` when all is written. Throws Error(kBadInput) if it cannot be.
void WriteSqlite(const std::string& path, const SweepResults& results);

}  // namespace spyre::cosim
