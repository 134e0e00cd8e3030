// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/kernel_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

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

// Links of the ring, as Card::Statistics names them.
uint64_t RingBytes(const std::vector<model::UnitStatistics>& units) {
  constexpr std::string_view kLinks = "ring.";
  uint64_t bytes = 0;
  for (const model::UnitStatistics& unit : units)
    if (unit.name.compare(0, kLinks.size(), kLinks) == 0) bytes += unit.bytes;
  return bytes;
}

// Adds to the activity what the units of the cores have counted.
model::Activity WithUnits(model::Activity activity, const Usage& usage) {
  activity.lx_bytes = usage.lx_bytes;
  activity.vector_bytes = usage.vector_bytes;
  return activity;
}

CoreSet CoresOf(const model::Job& job) {
  if (job.program == nullptr) return {};
  return {job.prepare ? 0 : job.cores, job.prepare};
}

}  // namespace

KernelLog::KernelLog(model::Card& card, trace::Recorder* recorder,
                     std::vector<std::string> step_names, bool with_steps,
                     model::ComputeDispatcher::JobHook also)
    : card_(card), recorder_(recorder), step_names_(std::move(step_names)), also_(std::move(also)) {
  card_.OnJob([this](const model::Job& job, bool ended) {
    Note(job, ended);
    if (also_) also_(job, ended);
  });
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
    Units before = card_.Statistics();
    Divide(before);
    Running& running = running_[&job];
    running.begin_ps = model::NowPs();
    running.before = std::move(before);
    return;
  }
  const auto found = running_.find(&job);
  if (found == running_.end()) return;  // it was running when the log began
  Running& running = found->second;
  EndStep(job, running, job.end_path);
  Units now = card_.Statistics();
  Divide(now);
  const Units units = Since(std::move(now), running.before);
  const uint64_t end_ps = model::NowPs();
  KernelUsage& kernel = kernels_[job.flow];
  kernel.cores = CoresOf(job);
  kernel.usage = SummarizeUsage(units, kernel.cores, end_ps - running.begin_ps);
  kernel.usage.path = TimesOf(job.end_path);
  kernel.activity = WithUnits(ActivityOf(job, running), kernel.usage);
  kernel.launch_ps = (job.units_start_ps == 0 ? end_ps : job.units_start_ps) - running.begin_ps;
  for (uint32_t core = 0; core < job.core_end_ps.size(); ++core) {
    if (job.core_end_ps[core] > 0) kernel.core_ends.push_back({core, job.core_end_ps[core]});
  }
  for (StepTotal& total : running.totals) {
    total.usage.usage = SummarizeUsage(total.units, kernel.cores, total.span_ps);
    total.usage.usage.path = total.path;
    total.usage.activity = WithUnits(total.activity, total.usage.usage);
    kernel.steps.push_back(std::move(total.usage));
  }
  kernel.executions = std::move(running.executions);
  running_.erase(found);
}

// What does not divide without a rest waits for the next time.
void KernelLog::Divide(const Units& now) {
  const uint64_t jobs = running_.size();
  const uint64_t ring_bytes = RingBytes(now), ps = model::NowPs();
  if (jobs == 0) {
    divided_ring_bytes_ = ring_bytes;
    divided_ps_ = ps;
    return;
  }
  const uint64_t bytes_each = (ring_bytes - divided_ring_bytes_) / jobs;
  const uint64_t ps_each = (ps - divided_ps_) / jobs;
  for (auto& [job, running] : running_) {
    running.ring_bytes += bytes_each;
    running.busy_ps += ps_each;
  }
  divided_ring_bytes_ += bytes_each * jobs;
  divided_ps_ += ps_each * jobs;
}

model::Activity KernelLog::ActivityOf(const model::Job& job, const Running& running) {
  model::Activity activity;
  activity.fp16_macs = job.fp16_macs;
  activity.memory_bytes = job.bytes_read + job.bytes_written;
  activity.ring_bytes = running.ring_bytes;
  activity.busy_ps = running.busy_ps;
  return activity;
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
  Divide(running.before_step);
  running.activity_before_step = ActivityOf(job, running);
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
  Units now = card_.Statistics();
  Divide(now);
  Units units = Since(std::move(now), running.before_step);
  total.activity = total.activity + (ActivityOf(job, running) - running.activity_before_step);
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
