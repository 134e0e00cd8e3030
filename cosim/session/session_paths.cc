// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session_paths.h"

#include <unordered_map>
#include <utility>

#include "base/ranges.h"

namespace spyre::cosim {

trace::RunResults FollowPaths(RunResult& result,
                              const std::vector<flex::CompletedOperation>& completed,
                              const std::vector<HostWait>& waits) {
  std::unordered_map<uint64_t, trace::PathTimes> kernels;
  for (const auto& [correlation, kernel] : result.kernel_usages)
    kernels[correlation] = kernel.usage.path;
  const model::CardConfig& card = result.config.card;
  const RunPathCosts costs{card.control.dispatch_ns * 1000, card.pcie.one_way_ns * 1000,
                           card.pcie.host_memory_ns * 1000};
  result.path = PathOfRun({completed, kernels, waits, costs}, result.begin_ps);
  result.launch_path = PathOfRun({result.launches, kernels, waits, costs}, result.launch_begin_ps);
  result.launch_shares =
      SharesOfWindow(result.launches, waits, result.launch_begin_ps, result.launch_end_ps);

  std::vector<const flex::CompletedOperation*> computes;
  for (const flex::CompletedOperation& operation : completed) {
    if (operation.opcode == Opcode::COMPUTE && operation.executed) computes.push_back(&operation);
  }
  StableSort(computes, [](const auto* a, const auto* b) { return a->started_ps < b->started_ps; });
  for (size_t i = 0; i < computes.size(); ++i) result.kernel_numbers[computes[i]->correlation] = i;

  trace::RunResults results;
  results.launch_begin_ps = result.launch_begin_ps;
  results.launch_end_ps = result.launch_end_ps;
  results.card_ps = result.launch_shares.card_ps;
  results.host_ps = result.launch_shares.host_ps;
  results.idle_ps = result.launch_shares.idle_ps;
  results.path = result.launch_path;
  results.kernels.insert(kernels.begin(), kernels.end());
  for (const flex::CompletedOperation& operation : result.launches) {
    if (operation.macs > 0) results.macs[operation.correlation] = operation.macs;
    if (operation.opcode == Opcode::COMPUTE && !operation.label.empty())
      results.labels[operation.correlation] = operation.label;
    if (result.IsKernel(operation) && result.lx.count(operation.name) != 0)
      results.programs[operation.correlation] = operation.name;
  }
  results.lx_bytes = card.core.lx_bytes;
  for (const auto& [name, lx] : result.lx) {
    trace::LxProgram program{name, lx.steps, {}};
    for (const compiler::LxUse& use : lx.uses) {
      program.buffers.push_back({use.name, use.address, use.bytes,
                                 static_cast<uint64_t>(use.first_step),
                                 static_cast<uint64_t>(use.last_step), use.cores});
    }
    results.lx.push_back(std::move(program));
  }
  return results;
}

}  // namespace spyre::cosim
