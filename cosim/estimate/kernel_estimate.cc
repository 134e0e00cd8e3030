// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/kernel_estimate.h"

namespace spyre::cosim {
KernelEstimate Estimate(const KernelLaunches& kernel, const model::CardParameters& card) {
  KernelEstimate estimate;
  const bool several = kernel.steps.size() > 1 || kernel.steps.front().executions > 1;
  double longest_ns = -1;
  for (const StepWork& step : kernel.steps) {
    const model::KernelTime time = model::TimeOf(step.work, card);
    const auto count = static_cast<double>(step.executions);
    const double start_ns = several ? model::StepStartNs(time, step.cores_meet, card) : 0;
    const double ns = count * (time.ns - time.start_ns + start_ns);
    estimate.ns += ns;
    estimate.macs += step.executions * time.macs;
    estimate.bytes_read += step.executions * time.bytes_read;
    estimate.bytes_written += step.executions * time.bytes_written;
    if (ns <= longest_ns) continue;
    longest_ns = ns;
    estimate.bound = time.bound;
  }
  estimate.ns += static_cast<double>(card.fast.start_ns);
  return estimate;
}

}  // namespace spyre::cosim
