// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/resolve.h"

#include "base/error.h"
#include "cosim/config/effect.h"
#include "cosim/workload/attention_workload.h"
#include "cosim/workload/bundle_workload.h"
#include "cosim/workload/model_workload.h"
#include "cosim/workload/op_list_workload.h"
#include "cosim/workload/operation_workload.h"
#include "cosim/workload/task_list_workload.h"

namespace spyre::cosim {
namespace {

std::unique_ptr<Workload> Resolve(const RunConfig& config) {
  RefuseKeysWithoutEffect(config);
  switch (KindOf(config.workload)) {
    case WorkloadKind::kOperation:
      return ResolveOperation(config);
    case WorkloadKind::kAttention:
      return ResolveAttention(config);
    case WorkloadKind::kBundle:
      return IsGraphBetweenPasses(config.workload.bundle) ? ResolveGraph(config)
                                                          : ResolveBundle(config);
    case WorkloadKind::kModel:
      return ResolveModel(config);
    case WorkloadKind::kOneProgram:
      if (auto list = ResolveOpList(config)) return list;
      return ResolveTaskList(config);  // as its plan cuts it
    case WorkloadKind::kStreams:
    case WorkloadKind::kTaskGraph:
      break;
  }
  return ResolveTaskList(config);
}

}  // namespace

std::unique_ptr<Workload> ResolveWorkload(const RunConfig& config) {
  try {
    return Resolve(config);
  } catch (const compiler::CompileError&) {
    throw;  // it names the operation
  } catch (const Error& error) {
    if (config.source.empty()) throw;
    throw error.Within(config.source);
  }
}

}  // namespace spyre::cosim
