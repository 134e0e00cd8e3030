// SPDX-License-Identifier: Apache-2.0
// What the host computes of a list of operations between two kernels: what the card has no
// instruction for, and integers (NamedOp::on_host). The reference works the same out by code of its
// own (cosim/reference/graph_reference.h).
//
// Called while a list runs (cosim/workload/task_list_run.h). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/tensors/host_data.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

// The result of one operation, in the type of its output, each element rounded once from float64.
// inputs: of each operand the elements in C order; empty for a number. float16 is taken as the card
// holds it, also where it has never been there. Error(kBadInput): an index or a divisor that does
// not fit, a result beyond int32, naming the output.
HostData ComputeOnHost(const compiler::NamedGraph& graph, const compiler::NamedOp& op,
                       const std::vector<const HostData*>& inputs);

// What it reads and writes of the host's memory.
uint64_t HostOperationBytes(const compiler::NamedGraph& graph, const compiler::NamedOp& op);

}  // namespace spyre::cosim
