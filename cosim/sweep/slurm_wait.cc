// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/slurm_wait.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

#include "base/interrupt.h"
#include "base/ranges.h"

namespace spyre::cosim {
namespace {

using std::chrono::seconds;

constexpr seconds kFirstPause{1}, kLongestPause{30};
constexpr int kMostFailures = 10;

// Reasons that pass when others have had their turn (squeue(1), JOB REASON CODES), and what Slurm
// says before it has looked.
bool PassesByItself(const std::string& reason) {
  static constexpr std::array<std::string_view, 10> kPassing = {
      "",          "Resources", "Priority",    "JobArrayTaskLimit", "Dependency",
      "BeginTime", "Licenses",  "Reservation", "Cleaning",          "Prolog"};
  return std::find(kPassing.begin(), kPassing.end(), reason) != kPassing.end();
}

// Whether any task is in the queue. Takes over what the queue says of ours.
bool TakeStates(const SlurmTasks& told, SlurmTasks& tasks) {
  bool in_queue = false;
  for (const auto& [number, task] : told) {
    const auto ours = tasks.find(number);
    if (ours == tasks.end()) continue;
    ours->second = task;
    in_queue = in_queue || !HasEnded(task.state);
  }
  return in_queue;
}

}  // namespace

void PauseByClock(seconds time) {
  // Unlike sleep_for, it returns when a signal comes.
  poll(nullptr, 0, static_cast<int>(std::chrono::milliseconds(time).count()));
}

JobEnd WaitForJob(const SlurmJob& job, const std::vector<uint64_t>& tasks,
                  const std::function<void(seconds)>& pause, const std::function<void()>& looked,
                  std::ostream& messages) {
  JobEnd end;
  for (const uint64_t task : tasks) end.tasks[task] = {};
  int failures = 0;
  std::string told_reason;
  for (seconds period = kFirstPause;; period = std::min(period * 2, kLongestPause)) {
    const QueueAnswer answer = AskQueue(job);
    bool in_queue = false;
    switch (answer.kind) {
      case QueueAnswer::Kind::kTasks:
        failures = 0;
        in_queue = TakeStates(answer.tasks, end.tasks);
        break;
      case QueueAnswer::Kind::kUnknownJob:
        break;
      case QueueAnswer::Kind::kNoAnswer:
        in_queue = true;
        if (++failures == 1) {
          messages << fmt::format("squeue does not answer, and is asked again:\n  {}\n",
                                  answer.message);
        }
        if (failures == kMostFailures) {
          end.lost = answer.message;
          return end;
        }
        break;
    }
    for (const auto& [number, task] : answer.tasks) {
      if (task.state != "PENDING" || PassesByItself(task.reason) || task.reason == told_reason)
        continue;
      told_reason = task.reason;
      messages << fmt::format("Slurm job {} waits, task {}: {}\n", job.id, number, task.reason);
    }
    looked();
    if (!in_queue) break;
    pause(period);
    ThrowIfInterrupted();
  }
  const bool all_known =
      AllFit(end.tasks, [](const auto& task) { return HasEnded(task.second.state); });
  if (all_known) return end;
  const SlurmTasks remembered = AskAccounting(job);
  for (auto& [number, task] : end.tasks) {
    if (HasEnded(task.state)) continue;
    const auto found = remembered.find(number);
    task = found != remembered.end() && HasEnded(found->second.state) ? found->second : SlurmTask();
  }
  return end;
}

}  // namespace spyre::cosim
