// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim calibrate`: runs calibration points on the modelled card, each as a whole session of
// one timing-only operation, and compares the kernel's device time with the reference.
//
// SystemC elaborates once in a process, so every point runs in a child made by fork; the caller
// must not have made a SystemC object, and must have one thread. Results are in the points' order
// and do not depend on `jobs`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cosim/calibrate/calibrate_statistics.h"

namespace spyre::cosim {

struct CalibrateOptions {
  std::vector<std::string> files;
  std::string card;               // preset or file, as card.preset; empty: the default
  std::vector<std::string> sets;  // key=value; not of the workload, which is the point
  std::string family;             // see Select
  uint64_t every = 1;
  uint32_t jobs = 0;  // children at a time; 0: one for each hardware thread
  enum class Format { kText, kJson, kMarkdown } format = Format::kText;
};

// One result for each point; a point that fails has the reason. `progress`, which may be empty, is
// told how many are done. Throws Error(kBadInput), naming the point, if one is not a workload for
// this card, before any is run.
std::vector<PointResult> RunPoints(const RunConfig& base,
                                   const std::vector<CalibrationPoint>& points, int jobs,
                                   const std::function<void(size_t done)>& progress);

// The whole command: the text for standard output, and in `all_ran` whether every point ran.
std::string Calibrate(const CalibrateOptions& options, bool* all_ran);

}  // namespace spyre::cosim
