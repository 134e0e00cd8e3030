// SPDX-License-Identifier: Apache-2.0
// What the card's units did during each COMPUTE operation, and during each step that its program
// marks, for the report: reads their counters when a job or a step begins and when it has ended.
// Steps go to the trace as well. One per session; kernel thread only.
//
// On pipelined hardware a job of the prepare engine may run beside one of the cores. Each has its
// own core's units alone; of what they share (memory, ring, PCIe) each has all that passed in its
// span. For energy that would count it twice: there it is divided (KernelUsage::activity).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cosim/measure/usage.h"
#include "model/card/card.h"
#include "model/common/path_time.h"
#include "traces/recording/recorder.h"

namespace spyre::cosim {

class KernelLog {
 public:
  // The card, and the recorder if there is one, must outlive the log. step_names: by number of the
  // step; a step without a name is "step N". with_steps: false leaves them out, also of the trace.
  // also: hears of every job, as Card::OnJob says.
  explicit KernelLog(model::Card& card, trace::Recorder* recorder = nullptr,
                     std::vector<std::string> step_names = {}, bool with_steps = true,
                     model::ComputeDispatcher::JobHook also = nullptr);
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  KernelUsages Take() { return std::move(kernels_); }

 private:
  using Units = std::vector<model::UnitStatistics>;
  // All executions of one step.
  struct StepTotal {
    StepUsage usage;
    Units units;
    uint64_t span_ps = 0;
    trace::PathTimes path{};
    model::Activity activity;  // without what `units` have
  };

  // A job that runs.
  struct Running {
    uint64_t begin_ps = 0;
    Units before;
    uint64_t ring_bytes = 0, busy_ps = 0;  // its parts so far of what jobs share
    std::optional<StepExecution> step;     // that runs; its counters are the job's when it began
    Units before_step;
    model::Activity activity_before_step;
    model::PathTime path_before_step;
    std::vector<StepTotal> totals;        // in order of first execution
    std::map<uint32_t, size_t> total_of;  // by step
    std::vector<StepExecution> executions;
  };

  void Note(const model::Job& job, bool ended);
  // Gives every job that runs its part of what they have shared since the last call.
  void Divide(const Units& now);
  // What the job has done so far, without what units have.
  static model::Activity ActivityOf(const model::Job& job, const Running& running);
  void BeginStep(const model::Job& job, uint32_t step, uint64_t iteration);
  // path: of the job, to its end.
  void EndStep(const model::Job& job, Running& running, const model::PathTime& path);
  void Trace(const model::Job& job, const StepExecution& execution);
  std::string NameOf(uint32_t step) const;

  model::Card& card_;
  trace::Recorder* const recorder_;
  const std::vector<std::string> step_names_;
  const model::ComputeDispatcher::JobHook also_;
  std::map<const model::Job*, Running> running_;
  uint64_t divided_ring_bytes_ = 0, divided_ps_ = 0;  // up to where it has been divided
  KernelUsages kernels_;
};

}  // namespace spyre::cosim
