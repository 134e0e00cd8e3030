// SPDX-License-Identifier: Apache-2.0
// Calibration points as comma-separated values (RFC 4180, without line breaks in cells): the first
// line names the columns, which are the keys of a point of a JSON file, in any order; each line
// behind it is a point. Empty cells, empty lines and lines that begin with # say nothing. Pure
// functions, any thread. Errors: Error(kBadInput) naming file and line.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spyre::cosim {

struct CsvPoint {
  size_t line = 0;         // from 1
  nlohmann::json members;  // numbers where the cell is one, else texts
};

// Whether the name is that of such a file.
bool IsCsv(const std::string& name);

// At least one point. `name`: of the file, for messages.
std::vector<CsvPoint> PointsOfCsv(const std::string& text, const std::string& name);

}  // namespace spyre::cosim
