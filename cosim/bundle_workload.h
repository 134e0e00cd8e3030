// Bundles as workloads: which tensors and values a launch needs, and what they are.
// Reads files; any thread. Errors: Error(kBadInput) naming the bundle, the argument, what it has
// and what would be right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cosim/argument_shapes.h"
#include "cosim/workload.h"

namespace spyre::cosim {

// The workload that the configuration's keys of a bundle describe. workload.bundle is an SDSC
// directory, or OpSpec source (a .py or .txt file), which is emitted as a bundle with symbolic
// arguments.
Workload ResolveBundle(const RunConfig& config);

// The same for a bundle that is in memory; binds its segments. shapes: one for each tensor
// argument, in order; empty: unknown, which is an error that says where they may come from.
Workload MakeBundleWorkload(const RunConfig& config, compiler::Bundle bundle,
                            std::optional<std::vector<ArgumentShape>> shapes);

// What code generation is told about the tensors.
std::vector<compiler::KernelArgument> KernelArguments(const Workload& workload);

}  // namespace spyre::cosim
