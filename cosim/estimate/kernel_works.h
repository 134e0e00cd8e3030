// SPDX-License-Identifier: Apache-2.0
// What the kernels of a workload have to do, for the closed form of their times
// (model/formula/kernel_time.h), which runs no program. Pure functions, any thread. Errors:
// Error(kBadInput) naming the operation, of which no closed form is known.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cosim/reference/launched_bundle.h"
#include "model/formula/kernel_work.h"
#include "runtime/collectives/collective_call.h"
#include "runtime/compiler/kernels/kernel.h"

namespace spyre::cosim {

// One step of a kernel, which is all of it but for a bundle's and a softmax's.
struct StepWork {
  std::string name;         // the SDSC file of a bundle's step, or what a softmax does in it
  uint64_t executions = 1;  // as loops repeat it
  bool cores_meet = true;   // at a barrier, before each execution
  model::KernelWork work;
};

// Launches of one kernel.
struct KernelLaunches {
  std::string kernel;
  std::string task;       // of a workload of many launches: which one it is
  uint64_t launches = 1;  // one after the other
  std::vector<StepWork> steps;
};

// What the host computes, and the bytes that it reads and writes for that.
struct HostWork {
  std::string op;
  uint64_t bytes = 0;
};

// What is done behind the first `kernels` of a workload: by the host, or by several cards together.
struct WorkBetween {
  size_t kernels = 0;
  std::string result;
  std::variant<HostWork, runtime::CollectiveCall> what;
};

// What a workload launches, in order, what it does besides, and how the first kernel divides its
// work.
struct WorkloadWork {
  std::vector<KernelLaunches> kernels;
  std::vector<WorkBetween> between;
  compiler::KernelPlan plan;
};

// The steps of a kernel of one operation, and the plan by which it was divided.
std::vector<StepWork> WorkOf(const compiler::KernelSpec& spec, compiler::KernelPlan& plan);

// The steps of a bundle's program.
std::vector<StepWork> WorkOf(const LaunchedBundle& launched, uint64_t lx_bytes);

}  // namespace spyre::cosim
