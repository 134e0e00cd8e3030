// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim calibrate`: runs calibration points on the modelled card, each as a whole session of
// one timing-only operation, and compares the kernel's device time with the reference.
//
// Every point runs in a process of its own (cosim/trials): call from a process with one thread that
// has made no SystemC object. Results are in the points' order and do not depend on `jobs`.
#pragma once

#include <cstdint>
#include <iosfwd>
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
  bool both = false;    // on a card of fidelity "fast", the timed times beside it
  std::string times;    // what --json has written, instead of simulating; empty: simulate
  std::string fit;      // the card's TOML that a fit is written to; empty: compare only
  uint32_t jobs = 0;    // children at a time; 0: one for each hardware thread
  uint64_t worst = 10;  // of a family, in the table kWorst
  enum class Format { kText, kJson, kMarkdown, kWorst, kSvg } format = Format::kText;
};

// One result for each point; a point that fails has the reason. Progress goes to `messages`. Throws
// Error(kBadInput), naming the point, if one is no workload for this card, before any is run.
std::vector<PointResult> RunPoints(const RunConfig& base,
                                   const std::vector<CalibrationPoint>& points, uint64_t jobs,
                                   std::ostream& messages);

// The whole command: the text for standard output, and in `all_ran` whether every point ran.
std::string Calibrate(const CalibrateOptions& options, std::ostream& messages, bool* all_ran);

}  // namespace spyre::cosim
