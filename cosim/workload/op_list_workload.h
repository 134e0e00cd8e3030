// SPDX-License-Identifier: Apache-2.0
// Lists of operations as workloads: from the configuration's keys, or a file of their own, to a
// bundle that the front end made. Reads files; any thread. Errors: Error(kBadInput) naming the key
// or file, CompileError of the front end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cosim/arguments/argument_shapes.h"
#include "cosim/config/config.h"
#include "cosim/workload/workload.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

// The list of operations: what workload.graph names, with the workload's own dims, tensors, ops,
// hints and outputs before the file's. Files of inputs are relative to the file that names them.
compiler::NamedGraph ReadOpList(const WorkloadConfig& workload);

// What an operation of a list says about how it is issued: the keys `stream`, `priority` and
// `after`.
struct OpTaskKeys {
  std::optional<uint32_t> stream;  // of the context
  int32_t priority = 0;
  std::vector<size_t> after;  // positions of earlier operations
};
// A list with what else is said about it.
struct OpList {
  compiler::NamedGraph graph;
  std::vector<OpTaskKeys> keys;  // one for each operation
  // What the list's key `plan` says; the file of workload.plan goes before it, and the other keys
  // of workload.plan before both.
  compiler::Plan plan;
};
OpList ReadWholeOpList(const WorkloadConfig& workload);

compiler::FrontEndOptions FrontEndOptionsOf(const RunConfig& config, compiler::Plan plan = {});

// What the cards have of an input of a list.
CardShare ShareOf(const compiler::NamedTensor& tensor);

// Of the arguments of what was compiled, in their order.
std::vector<ArgumentShape> ShapesOf(const compiler::NamedGraph& graph,
                                    const compiler::FrontEndResult& result);

// A list of operations, compiled, with the tensors and constants that its bundle takes. Null: its
// plan, or what the host computes, cuts it into several kernels.
std::unique_ptr<Workload> ResolveOpList(const RunConfig& config);

// A JSON file with the key `passes`: what `opt` and `compile --emit PASS --json` write.
bool IsGraphBetweenPasses(const std::string& path);
// Such a graph as workload.bundle: the passes that have not run follow with the options that it
// has, and it is verified against its list.
std::unique_ptr<Workload> ResolveGraph(const RunConfig& config);

}  // namespace spyre::cosim
