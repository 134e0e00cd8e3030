// SPDX-License-Identifier: Apache-2.0
// One kernel of a workload of many: a list of operations, or a part of one, compiled to a bundle
// and to a program. Any thread. Errors: CompileError of the front end, Error(kBadInput).
#pragma once

#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/bundle_workload.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

struct OpListKernel {
  BundlePlan plan;                                    // compiled
  std::vector<compiler::FrontEndArgument> arguments;  // in launch order
  // Of each output of the list: position in its dims, or NamedTensor::kSparse.
  std::vector<int> output_sticks;
  std::vector<std::string> warnings;
  std::vector<compiler::Decision> decisions;
};

KernelFacts FactsOfKernel(const compiler::FrontEndResult& result, const compiler::Kernel& kernel);

// name: of the bundle, and so of the kernel. plan: of its operations, without cuts.
OpListKernel CompileOpListKernel(const RunConfig& config, const compiler::NamedGraph& graph,
                                 const std::string& name, const compiler::Plan& plan = {});

}  // namespace spyre::cosim
