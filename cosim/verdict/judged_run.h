// SPDX-License-Identifier: Apache-2.0
// A run and its verdict: whether it did what its configuration says. Every command that runs a
// configuration, and the Python package, ask here, so that all of them agree. Call from a process
// with one thread that has made no SystemC object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/report/expectations.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session.h"
#include "cosim/verdict/exit_status.h"

namespace spyre::cosim {

struct JudgedRun {
  RunResult result;
  std::optional<RunDigest> reference;     // the run that output.compare asks for
  std::string difference;                 // the first thing in which the two differ, or ""
  std::vector<Expectation> expectations;  // [expect], and what came of it

  const RunDigest* other() const { return reference ? &*reference : nullptr; }
  // Whether the results are right; empty: nobody compared them.
  std::optional<bool> Verified() const;
  // "expect.max_launch_ns: launches took ..." for each that is not met.
  std::vector<std::string> Unmet() const;
  // kDone or kWrong. Throws the error of the first tenant or card that did not come to its end, and
  // Error(kBadInput) if a file of the run could not be written; the run has a report all the same.
  ExitStatus Status() const;
};

// Runs `config`, and before it the run that output.compare asks for. Throws what RunSession does;
// of an interrupted run an Interruption that says what there is. A run that a declared fault has
// ended (FaultedRun) leaves its report.json.
JudgedRun RunAndJudge(const RunConfig& config, const std::string& out_dir,
                      const SessionOptions& options = {});

// Writes report.json of the run to its directory and returns the text.
std::string WriteReport(const JudgedRun& run);

}  // namespace spyre::cosim
