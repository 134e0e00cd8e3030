// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/kernel_estimate.h"

namespace spyre::cosim {
namespace {

using model::VectorWork;

constexpr double kOperationsOfSoftmax = 5;  // that card.fast.tile_pass_ns is of

// Whether a step goes on with what the one before it has left in LX.
bool IsFused(const StepWork& before, const StepWork& step) {
  const auto* const work = std::get_if<VectorWork>(&step.work);
  return work != nullptr && work->reads_lx && std::holds_alternative<VectorWork>(before.work) &&
         before.executions == step.executions;
}

model::KernelTime TimeOf(const std::vector<StepWork>& steps, size_t begin, size_t end,
                         const model::CardParameters& card) {
  if (end - begin == 1) return model::TimeOf(steps[begin].work, card);
  std::vector<VectorWork> works;
  for (size_t i = begin; i < end; ++i) works.push_back(std::get<VectorWork>(steps[i].work));
  return model::TimeOfFused(works, card);
}

}  // namespace

KernelEstimate Estimate(const KernelLaunches& kernel, const model::CardParameters& card) {
  KernelEstimate estimate;
  const std::vector<StepWork>& steps = kernel.steps;
  uint64_t executions = 0;
  for (const StepWork& step : steps) executions += step.executions;
  // Between steps all cores meet.
  const double meeting_ns =
      executions > 1 ? static_cast<double>(card.fast.tile_pass_ns) / kOperationsOfSoftmax : 0;
  double longest_ns = -1;
  for (size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    end = begin + 1;
    while (end < steps.size() && IsFused(steps[end - 1], steps[end])) ++end;
    const model::KernelTime time = TimeOf(steps, begin, end, card);
    const uint64_t count = steps[begin].executions;
    const double ns = static_cast<double>(count) *
                      (time.ns - time.start_ns + static_cast<double>(end - begin) * meeting_ns);
    estimate.ns += ns;
    estimate.macs += count * time.macs;
    estimate.bytes_read += count * time.bytes_read;
    estimate.bytes_written += count * time.bytes_written;
    if (ns <= longest_ns) continue;
    longest_ns = ns;
    estimate.bound = time.bound;
  }
  estimate.ns += static_cast<double>(card.fast.start_ns);
  return estimate;
}

}  // namespace spyre::cosim
