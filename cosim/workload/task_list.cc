// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/task_list.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace spyre::cosim {

WorkloadWork WorkOf(const TaskListPlan& plan) {
  if (plan.issue.mode == IssueMode::kTaskGraph) {
    throw BadInput(
        "workload.issue.mode = \"task_graph\": there is no closed form of a task graph's waits; "
        "card.fidelity = \"timed\" simulates them");
  }
  for (const Task& task : plan.tasks) {
    if (!task.host_op) continue;
    throw BadInput(
        "'{}' is computed by the host, for which there is no closed form; card.fidelity = "
        "\"timed\" simulates the list",
        task.name);
  }
  std::vector<std::vector<StepWork>> kernels;
  WorkloadWork work;
  for (const BundlePlan& kernel : plan.kernels) {
    kernels.push_back(WorkOf(kernel.launched, kernel.options.lx_bytes));
    for (const compiler::SuperDsc& dsc : kernel.launched.bundle.dscs)
      work.plan.cores_used = std::max(work.plan.cores_used, static_cast<int>(dsc.cores.size()));
  }
  for (const Task& task : plan.tasks) {
    work.kernels.push_back(
        {plan.kernels[task.kernel].launched.bundle.name, task.name, 1, kernels[task.kernel]});
  }
  return work;
}

}  // namespace spyre::cosim
