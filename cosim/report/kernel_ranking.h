// SPDX-License-Identifier: Apache-2.0
// The kernels of a program: what each took, over all its launches, and which of them it would help
// most to work on. A kernel is thought to need half as much of something (trace::Needs): data to
// move, arithmetic, or waiting. Half of the time that its critical path spends on these resources
// is the estimate of what that brings; `what-if --kernels` simulates it. Pure functions, any
// thread; picoseconds and bytes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cosim/session/run_result.h"
#include "traces/path_causes.h"

namespace spyre::cosim {

// All launches of one name; of a program that marks its steps, all executions of one operation with
// one shape.
struct KernelTotal {
  std::string name;
  std::vector<std::string> parts;  // what it does in the program: results, or files of its steps
  uint64_t launches = 0;
  uint64_t device_ps = 0;
  uint64_t first_ps = 0;  // of its first launch, which a kept bundle repeats
  uint64_t macs = 0;
  uint64_t read = 0, written = 0;  // of device memory
  trace::PathTimes path{};         // the critical paths of all its launches; all zero: not known

  std::string PartsText() const;  // "sdsc_0.json and 7 more"; "": none
};
// By the names of their launches, in order of the first one; operations that did not execute count
// nowhere.
std::vector<KernelTotal> LaunchedKernels(const RunResult& result);
// The same, but a program that marks its steps is its steps: of a list of operations or a bundle
// that is launched as one.
std::vector<KernelTotal> KernelsOfProgram(const RunResult& result);

struct RankedKernel {
  KernelTotal total;
  double share = 0;                   // of the launch window; of several cards the mean
  std::string bound_by;               // a resource, or a word of the closed form; "": not known
  const trace::Need* need = nullptr;  // of which half as much would gain most; null: not known
  double gain = 0;  // share of the launch window that it would take off, estimated
};
// Those of KernelsOfProgram, the largest gain first. window_ps: what shares are of.
std::vector<RankedKernel> RankedKernels(const RunResult& result, uint64_t window_ps);

// `kernel_ranking` of report.json.
nlohmann::ordered_json KernelRankingJson(const RunResult& result, uint64_t window_ps);

}  // namespace spyre::cosim
