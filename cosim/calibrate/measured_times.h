// SPDX-License-Identifier: Apache-2.0
// Public records of times that were measured on real cards, as calibration points. The file is an
// object with the lists `sources`, `methods` and `records`; a record has what was measured
// (`what`), `op`, `shape`, `division`, `cores`, `value`, `unit` and `source`, which is a position
// in the list.
//
// Kernel times whose operation and division are told become points. Other records cannot be set
// against a kernel of this card; how many there are, and why, is in MeasuredTimes::left_out.
// Pure functions, any thread. Errors: Error(kBadInput) naming file, record and key.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "cosim/calibrate/calibrate_points.h"

namespace spyre::cosim {

struct MeasuredTimes {
  std::vector<CalibrationPoint> points;
  std::map<std::string, size_t> left_out;  // by reason
};

// document: of which `records` is a key. name: what messages call it.
MeasuredTimes ReadMeasuredTimes(const JsonReader& document, const std::string& name);

}  // namespace spyre::cosim
