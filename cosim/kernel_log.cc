#include "cosim/kernel_log.h"

#include <fmt/format.h>

#include "model/card/transfer.h"

namespace spyre::cosim {

KernelLog::KernelLog(model::Card& card, trace::Recorder* recorder,
                     std::vector<std::string> step_names)
    : card_(card), recorder_(recorder), step_names_(std::move(step_names)) {
  card_.OnJob([this](const model::Job& job, bool ended) { Note(job, ended); });
  card_.OnStep([this](const model::Job& job, uint32_t step, uint64_t iteration) {
    BeginStep(job, step, iteration);
  });
}

KernelLog::~KernelLog() {
  card_.OnJob(nullptr);
  card_.OnStep(nullptr);
}

void KernelLog::Note(const model::Job& job, bool ended) {
  if (!ended) {
    begin_ps_ = model::NowPs();
    before_ = card_.Statistics();
    totals_.clear();
    total_of_.clear();
    executions_.clear();
    return;
  }
  EndStep(job);
  Units units = card_.Statistics();
  for (size_t i = 0; i < units.size(); ++i) units[i] = units[i].Since(before_[i]);
  const uint64_t end_ps = model::NowPs();
  KernelUsage& kernel = kernels_[job.flow];
  kernel.core_mask = job.program == nullptr ? 0 : job.program->core_mask;
  kernel.usage = SummarizeUsage(units, kernel.core_mask, end_ps - begin_ps_);
  kernel.launch_ps = (job.units_start_ps == 0 ? end_ps : job.units_start_ps) - begin_ps_;
  for (StepTotal& total : totals_) {
    total.usage.usage = SummarizeUsage(total.units, kernel.core_mask, total.span_ps);
    kernel.steps.push_back(std::move(total.usage));
  }
  kernel.executions = std::move(executions_);
}

void KernelLog::BeginStep(const model::Job& job, uint32_t step, uint64_t iteration) {
  EndStep(job);
  step_ = {step, iteration, model::NowPs(), 0, job.macs, job.bytes_read, job.bytes_written, {}};
  before_step_ = card_.Statistics();
}

void KernelLog::EndStep(const model::Job& job) {
  if (!step_) return;
  StepExecution execution = *step_;
  step_.reset();
  execution.end_ps = model::NowPs();
  execution.macs = job.macs - execution.macs;
  execution.bytes_read = job.bytes_read - execution.bytes_read;
  execution.bytes_written = job.bytes_written - execution.bytes_written;

  const auto [found, is_new] = total_of_.emplace(execution.step, totals_.size());
  if (is_new) {
    totals_.emplace_back();
    totals_.back().usage.step = execution.step;
    totals_.back().usage.name = NameOf(execution.step);
  }
  StepTotal& total = totals_[found->second];
  Units units = card_.Statistics();
  for (size_t i = 0; i < units.size(); ++i) units[i] = units[i].Since(before_step_[i]);
  if (executions_.size() < kMaxStepExecutions) {
    const uint32_t core_mask = job.program == nullptr ? 0 : job.program->core_mask;
    executions_.push_back(execution);
    executions_.back().usage =
        SummarizeUsage(units, core_mask, execution.end_ps - execution.start_ps);
  }
  if (is_new) {
    total.units = std::move(units);
  } else {
    for (size_t i = 0; i < units.size(); ++i) total.units[i].Add(units[i]);
  }
  total.span_ps += execution.end_ps - execution.start_ps;
  ++total.usage.executions;
  total.usage.macs += execution.macs;
  total.usage.bytes_read += execution.bytes_read;
  total.usage.bytes_written += execution.bytes_written;
  Trace(job, execution);
}

void KernelLog::Trace(const model::Job& job, const StepExecution& execution) {
  if (recorder_ == nullptr || !recorder_->Wants(trace::kStep)) return;
  recorder_->Slice(trace::kStep, recorder_->AddTrack("card", fmt::format("stream {}", job.stream)),
                   recorder_->Intern(NameOf(execution.step)), execution.start_ps, execution.end_ps,
                   job.flow, execution.bytes_read + execution.bytes_written,
                   static_cast<uint32_t>(execution.iteration));
}

std::string KernelLog::NameOf(uint32_t step) const {
  return step < step_names_.size() ? step_names_[step] : fmt::format("step {}", step);
}

}  // namespace spyre::cosim
