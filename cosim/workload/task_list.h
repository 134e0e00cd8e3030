// SPDX-License-Identifier: Apache-2.0
// A list of operations of which every one is a kernel of its own: the kernels, and the tasks that
// launch them. Plain data and a pure function.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/bundle_workload.h"
#include "runtime/collectives/collective_call.h"

namespace spyre::cosim {

// One operation of the list, or several that are one kernel.
struct Task {
  std::string name;   // of its result
  size_t kernel = 0;  // position in TaskListPlan::kernels
  // Of an operation that the host computes, instead of a kernel: its position in
  // TaskListPlan::operations. `tensors` are then its operands without numbers, and its result.
  std::optional<size_t> host_op = std::nullopt;
  // Of what several cards do together, instead of a kernel; `tensors` are then its operand and its
  // result, or one where the result takes the operand's place.
  std::optional<runtime::CollectiveCall> collective = std::nullopt;
  // Positions in the list's, in the kernel's launch order. The kernel may see one in another layout
  // of as many bytes.
  std::vector<int> tensors;
  std::optional<uint32_t> stream;  // of the context (flex/scheduler.h); empty: dealt out
  int32_t priority = 0;            // higher goes first, where the ready policy asks for it
  std::vector<size_t> after;       // positions of earlier tasks that it waits for besides
};

struct TaskListPlan {
  std::string description;
  std::vector<WorkloadTensor> tensors;
  std::vector<BundlePlan> kernels;  // bundles of one operation; equal operations share one
  std::vector<Task> tasks;          // in order of the list, which is an order that they may run in
  IssueConfig issue;
  // Inputs that are on the card before the launch, and whether the run copies them there or finds
  // them.
  std::vector<int> resident;
  bool loads_resident = true;
  bool is_cut = false;  // by its plan or by what the host computes: tasks are parts of the list
  std::vector<std::string> warnings;
  std::vector<compiler::Decision> decisions;  // of each kernel, once
  std::shared_ptr<const compiler::NamedGraph> operations;
};

// Whether what task `index` writes to tensor `tensor` is what a collective behind it changes.
bool IsChangedLater(const TaskListPlan& plan, size_t index, int tensor);

// What the collective `op` of a list asks for, with its operand in this layout.
runtime::CollectiveCall CollectiveCallOf(const compiler::NamedOp& op, const StickLayout& layout,
                                         runtime::CollectiveAlgorithm algorithm);
// Throws BadInput unless the parts of all cards lie one behind the other in a whole tensor of this
// layout, of which `part` is that of a part. dim: of the host, along which it is divided.
void CheckPartsLieBehindEachOther(const std::string& result, const std::string& dim_name,
                                  const StickLayout& whole, const StickLayout& part, int dim);

// What it launches, for a closed form of the times. Throws BadInput for a task graph, whose waits
// have none.
WorkloadWork WorkOf(const TaskListPlan& plan);

}  // namespace spyre::cosim
