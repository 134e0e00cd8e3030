// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/space_of.h"

#include "base/error.h"
#include "cosim/config/effect.h"
#include "cosim/tune/list_space.h"
#include "cosim/tune/operation_space.h"

namespace spyre::cosim {

std::unique_ptr<PlanSpace> SpaceOf(const RunConfig& config, const FixedKeys& fixed,
                                   const ApplyPlan& apply) {
  if (!config.tenants.list.json.empty()) {
    throw BadInput(
        "tune: this configuration runs several workloads at once ([[tenant]]); tune the "
        "configuration of each by itself");
  }
  switch (KindOf(config.workload)) {
    case WorkloadKind::kBundle:
      throw BadInput(
          "tune: the bundle {} is compiled already and leaves no plan to choose; tune the list of "
          "operations that it was made from",
          config.workload.bundle);
    case WorkloadKind::kAttention:
      throw BadInput(
          "tune: fused attention (workload.op = \"attention\") has one plan for each number of "
          "cores; sweep workload.cores, or tune attention as a list of operations");
    case WorkloadKind::kOperation:
      return std::make_unique<OperationSpace>(config, fixed);
    case WorkloadKind::kOneProgram:
    case WorkloadKind::kStreams:
    case WorkloadKind::kTaskGraph:
    case WorkloadKind::kModel:
      break;
  }
  return std::make_unique<ListSpace>(config, fixed, apply);
}

}  // namespace spyre::cosim
