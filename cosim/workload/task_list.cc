// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/task_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cosim/host_operations/host_operation.h"
#include "model/contract/formats.h"
#include "runtime/compiler/list/collectives.h"

namespace spyre::cosim {

bool IsChangedLater(const TaskListPlan& plan, size_t index, int tensor) {
  return std::any_of(plan.tasks.begin() + static_cast<ptrdiff_t>(index) + 1, plan.tasks.end(),
                     [tensor](const Task& task) {
                       return task.collective && task.tensors == std::vector<int>{tensor};
                     });
}

runtime::CollectiveCall CollectiveCallOf(const compiler::NamedOp& op, const StickLayout& layout,
                                         runtime::CollectiveAlgorithm algorithm) {
  const std::string name = op.op == "gather_to" ? "gather" : op.op;
  const std::vector<std::string>& names = runtime::CollectiveNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw InternalError("'{}' is no collective", op.op);
  runtime::CollectiveCall call;
  call.collective = static_cast<runtime::Collective>(found - names.begin());
  call.algorithm = algorithm;
  call.bytes = static_cast<uint64_t>(layout.DeviceBytes());
  call.type = FormatName(layout.format);
  call.root = compiler::CardOf(op, "root");
  call.peer = compiler::CardOf(op, "peer");
  return call;
}

void CheckPartsLieBehindEachOther(const std::string& result, const std::string& dim_name,
                                  const StickLayout& whole, const StickLayout& part, int dim) {
  bool is_outermost = true;
  for (size_t i = 0; is_outermost && i < whole.device_size.size(); ++i) {
    if (whole.host_dim[i] == dim) break;
    is_outermost = whole.device_size[i] == 1;
  }
  const bool in_sticks = whole.stick_dim() == dim;
  const int64_t size = part.host_size[static_cast<size_t>(dim)];
  const bool whole_sticks = !in_sticks || size % ElementsPerStick(part.format) == 0;
  if (is_outermost && whole_sticks) return;
  throw BadInput(
      "'{}': the parts of the cards along {} must lie one behind the other in device memory, {}",
      result, dim_name,
      whole_sticks ? fmt::format("where it is not the outermost dimension; put it inside the "
                                 "sticks of a tensor of two dimensions (`restickify`)")
                   : fmt::format("but {} elements are no whole sticks of {}", size,
                                 ElementsPerStick(part.format)));
}

WorkloadWork WorkOf(const TaskListPlan& plan) {
  if (plan.issue.mode == IssueMode::kTaskGraph) {
    throw BadInput(
        "workload.issue.mode = \"task_graph\": there is no closed form of a task graph's waits; "
        "card.fidelity = \"timed\" simulates them");
  }
  std::vector<std::vector<StepWork>> kernels;
  WorkloadWork work;
  for (const BundlePlan& kernel : plan.kernels) {
    kernels.push_back(WorkOf(kernel.launched, kernel.options.lx_bytes));
    for (const compiler::SuperDsc& dsc : kernel.launched.bundle.dscs)
      work.plan.cores_used = std::max(work.plan.cores_used, static_cast<int>(dsc.cores.size()));
  }
  for (const Task& task : plan.tasks) {
    if (task.collective) {
      work.between.push_back({work.kernels.size(), task.name, *task.collective});
    } else if (task.host_op) {
      const compiler::NamedGraph& graph = *plan.operations;
      const compiler::NamedOp& op = graph.ops[*task.host_op];
      work.between.push_back(
          {work.kernels.size(), task.name, HostWork{op.op, HostOperationBytes(graph, op)}});
    } else {
      work.kernels.push_back(
          {plan.kernels[task.kernel].launched.bundle.name, task.name, 1, kernels[task.kernel]});
    }
  }
  return work;
}

}  // namespace spyre::cosim
