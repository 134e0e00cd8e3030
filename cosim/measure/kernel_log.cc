// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/kernel_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/common/transfer.h"

namespace spyre::cosim {

namespace {

std::vector<model::UnitStatistics> Since(std::vector<model::UnitStatistics> units,
                                         const std::vector<model::UnitStatistics>& before) {
  for (size_t i = 0; i < units.size(); ++i) units[i] = units[i].Since(before[i]);
  return units;
}

trace::PathTimes TimesOf(const model::PathTime& path) {
  trace::PathTimes times{};
  std::copy(path.spent.begin(), path.spent.end(), times.begin());
  return times;
}

CoreSet CoresOf(const model::Job& job) {
  if (job.program == nullptr) return {};
  return {job.prepare ? 0 : job.cores, job.prepare};
}

}  // namespace

KernelLog::KernelLog(model::Card& card, trace::Recorder* recorder,
                     std::vector<std::string> step_names, bool with_steps)
    : card_(card), recorder_(recorder), step_names_(std::move(step_names)) {
  card_.OnJob([this](const model::Job& job, bool ended) { Note(job, ended); });
  if (!with_steps) return;
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
    Running& running = running_[&job];
    running.begin_ps = model::NowPs();
    running.before = card_.Statistics();
    return;
  }
  const auto found = running_.find(&job);
  if (found == running_.end()) return;  // it was running when the log began
  Running& running = found->second;
  EndStep(job, running, job.end_path);
  const Units units = Since(card_.Statistics(), running.before);
  const uint64_t end_ps = model::NowPs();
  KernelUsage& kernel = kernels_[job.flow];
  kernel.cores = CoresOf(job);
  kernel.usage = SummarizeUsage(units, kernel.cores, end_ps - running.begin_ps);
  kernel.usage.path = TimesOf(job.end_path);
  kernel.launch_ps = (job.units_start_ps == 0 ? end_ps : job.units_start_ps) - running.begin_ps;
  for (uint32_t core = 0; core < job.core_end_ps.size(); ++core) {
    if (job.core_end_ps[core] > 0) kernel.core_ends.push_back({core, job.core_end_ps[core]});
  }
  for (StepTotal& total : running.totals) {
    total.usage.usage = SummarizeUsage(total.units, kernel.cores, total.span_ps);
    total.usage.usage.path = total.path;
    kernel.steps.push_back(std::move(total.usage));
  }
  kernel.executions = std::move(running.executions);
  running_.erase(found);
}

void KernelLog::BeginStep(const model::Job& job, uint32_t step, uint64_t iteration) {
  const auto found = running_.find(&job);
  if (found == running_.end()) return;
  Running& running = found->second;
  EndStep(job, running, job.step_path);
  running.path_before_step = job.step_path;
  running.step = {step,     iteration,      model::NowPs(),    0,
                  job.macs, job.bytes_read, job.bytes_written, {}};
  running.before_step = card_.Statistics();
}

void KernelLog::EndStep(const model::Job& job, Running& running, const model::PathTime& path) {
  if (!running.step) return;
  StepExecution execution = *running.step;
  running.step.reset();
  execution.end_ps = model::NowPs();
  execution.macs = job.macs - execution.macs;
  execution.bytes_read = job.bytes_read - execution.bytes_read;
  execution.bytes_written = job.bytes_written - execution.bytes_written;

  const auto [found, is_new] = running.total_of.emplace(execution.step, running.totals.size());
  if (is_new) {
    running.totals.emplace_back();
    running.totals.back().usage.step = execution.step;
    running.totals.back().usage.name = NameOf(execution.step);
  }
  StepTotal& total = running.totals[found->second];
  const trace::PathTimes times = TimesOf(path.Since(running.path_before_step));
  for (size_t i = 0; i < times.size(); ++i) total.path[i] += times[i];
  Units units = Since(card_.Statistics(), running.before_step);
  if (running.executions.size() < kMaxStepExecutions) {
    running.executions.push_back(execution);
    running.executions.back().usage =
        SummarizeUsage(units, CoresOf(job), execution.end_ps - execution.start_ps);
    running.executions.back().usage.path = times;
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
  recorder_->Slice(trace::kStep, recorder_->StreamTrack("card", job.stream, job.function),
                   recorder_->Intern(NameOf(execution.step)), execution.start_ps, execution.end_ps,
                   job.flow, execution.bytes_read + execution.bytes_written,
                   static_cast<uint32_t>(execution.iteration));
}

std::string KernelLog::NameOf(uint32_t step) const {
  return step < step_names_.size() ? step_names_[step] : fmt::format("step {}", step);
}

}  // namespace spyre::cosim
