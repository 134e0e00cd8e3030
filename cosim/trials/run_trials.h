// SPDX-License-Identifier: Apache-2.0
// Runs trials in processes of their own, so that one that crashes or is refused leaves the others
// alone: each that is simulated in one, and many by the closed form together. Call from a process
// with one thread that has made no SystemC object.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/trials/trial.h"

namespace spyre::cosim {

// What the command line takes as CONFIG, with --set: a configuration, a list of operations or a
// bundle. Throws Error(kBadInput).
using ConfigReader =
    std::function<RunConfig(const std::string& path, const std::vector<std::string>& sets)>;

// Makes the configuration of one trial. Called in the child, and again in another one if the first
// leaves the trial to it; what it throws is the trial's reason.
using TrialConfig = std::function<RunConfig(size_t number)>;

struct TrialOptions {
  uint64_t jobs = 0;  // processes at a time; 0: one for each processor
  // Files of trial N go to DIRECTORY/N and stay there; "": a scratch directory, gone at the end.
  std::string directory;
  std::function<std::string(size_t number)> name_of;  // of its directory instead of N; may be empty
  bool traces = false;  // else a trial records one only where it is judged by it
  // Data move and are verified as the configuration says; else the times alone are simulated, which
  // are the same.
  bool verify = false;
  bool kernels = false;  // TrialResult::kernels are wanted
  bool judge = false;    // by what the configuration expects ([expect])
};

// Runs trials 0 .. count-1 and tells `ended` each result as soon as it is there, in the order in
// which they end. Throws Interruption when the command was interrupted: trials under way are lost.
void RunTrials(size_t count, const TrialConfig& config, const TrialOptions& options,
               const std::function<void(size_t number, TrialResult result)>& ended);

// The same for configurations; results in their order. `progress`, which may be empty, is told how
// many have ended.
std::vector<TrialResult> RunTrials(const std::vector<RunConfig>& configs,
                                   const TrialOptions& options,
                                   const std::function<void(size_t done)>& progress = {});

}  // namespace spyre::cosim
