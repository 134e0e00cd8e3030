// SPDX-License-Identifier: Apache-2.0
// The next steps that a verdict proposes, simulated where that costs little: a process that is made
// before the run waits for the questions that the run's critical path leaves.
#pragma once

#include <optional>

#include "cosim/cli/run_command.h"
#include "cosim/host/child_process.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

class SimulatedSteps {
 public:
  // args: must outlive the object. Call from a process with one thread that has made no SystemC
  // object.
  explicit SimulatedSteps(const RunArguments& args);

  // Fills RunResult::simulated_changes, unless estimates were asked for, the run was long
  // (IsCheapToSimulate) or its card was elsewhere. A change that cannot run, and an interruption,
  // leave an estimate.
  void AddTo(RunResult& result);

 private:
  std::optional<WaitingChild> child_;
};

}  // namespace spyre::cosim
