// SPDX-License-Identifier: Apache-2.0
// `what-if --kernels`: which kernel of a program to work on first, and what that would bring.
// Kernels are ranked by an estimate (cosim/report/kernel_ranking.h); for the first five it is
// simulated. Half as much of a need (trace::Needs) is simulated by making the resources that serve
// it twice as fast, and looking at the time of one kernel alone. Where the compiler can divide the
// work by another rule, that is simulated too. Call from a process with one thread that has made no
// SystemC object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cosim/trials/run_trials.h"
#include "cosim/what_if/what_if.h"

namespace spyre::cosim {

// What was changed, and what the kernel gained by it.
struct KernelChange {
  std::string what;               // "half the data to move", "workload.division = cost"
  std::vector<std::string> sets;  // as of --set
  TrialStatus status = TrialStatus::kDone;
  std::string reason;  // why it did not run
  double gain = 0;     // share of the program's window that it takes off
};

struct KernelAnswer {
  TrialKernel kernel;
  double share = 0;                   // of the program's window
  std::vector<KernelChange> changes;  // simulated, the largest gain first; empty: none was
  std::string not_simulated;          // why; "": it was, or others come first

  // The best simulated change, or else the estimate.
  double Gain() const;
};

struct KernelsAnswer {
  std::string config;
  double factor = 2;
  double window_ns = 0;               // of the program
  bool overlap = false;               // kernels run beside each other: gains are at most those
  std::vector<KernelAnswer> kernels;  // those simulated first, then by gain
};

// options.factor: half of a need for 2. options.config: as CONFIG of `run`, or the directory that
// an `exec` has left, of which the kept bundles are simulated. options.parameters, figure and pairs
// do not count. Throws as AskWhatIf.
KernelsAnswer AskKernels(const WhatIfOptions& options, const ConfigReader& reader,
                         std::ostream& messages);

nlohmann::ordered_json ToJson(const KernelsAnswer& answer);
std::string ToText(const KernelsAnswer& answer, size_t width);

}  // namespace spyre::cosim
