// What the card's units did during each COMPUTE operation, and during each step that its program
// marks, for the report: reads their counters when a job or a step begins and when it has ended.
// Steps go to the trace as well. One per session; kernel thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cosim/usage.h"
#include "model/card/card.h"
#include "traces/recorder.h"

namespace spyre::cosim {

class KernelLog {
 public:
  // The card, and the recorder if there is one, must outlive the log. step_names: by number of the
  // step; a step without a name is "step N".
  explicit KernelLog(model::Card& card, trace::Recorder* recorder = nullptr,
                     std::vector<std::string> step_names = {});
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
  };

  void Note(const model::Job& job, bool ended);
  void BeginStep(const model::Job& job, uint32_t step, uint64_t iteration);
  void EndStep(const model::Job& job);
  void Trace(const model::Job& job, const StepExecution& execution);
  std::string NameOf(uint32_t step) const;

  model::Card& card_;
  trace::Recorder* const recorder_;
  const std::vector<std::string> step_names_;
  uint64_t begin_ps_ = 0;
  Units before_;
  std::optional<StepExecution> step_;  // that runs; its counters are the job's when it began
  Units before_step_;
  std::vector<StepTotal> totals_;          // of the job, in order of first execution
  std::map<uint32_t, size_t> total_of_;    // by step
  std::vector<StepExecution> executions_;  // of the job
  KernelUsages kernels_;
};

}  // namespace spyre::cosim
