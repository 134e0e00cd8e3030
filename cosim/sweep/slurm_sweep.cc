// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/slurm_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/ranges.h"
#include "cosim/slurm/cluster.h"
#include "cosim/slurm/task_list.h"
#include "cosim/sweep/slurm_job.h"
#include "cosim/sweep/slurm_script.h"
#include "cosim/sweep/slurm_wait.h"
#include "cosim/trials/progress.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTasksUnlessTold = 100;  // a task has the start of a program as its cost
constexpr size_t kTasksNamed = 3;

std::string Count(size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// Shards that the sweep is dealt to.
uint64_t ShardsOf(const PlannedSweep& planned, const SlurmOptions& slurm,
                  const std::optional<SweepJob>& before, std::ostream& messages) {
  uint64_t count = slurm.tasks;
  if (count == 0) count = before ? before->count : kTasksUnlessTold;
  count = std::min<uint64_t>(count, planned.points.size());
  const uint64_t most = LastArrayTask();
  if (count <= most) return count;
  messages << fmt::format("{} tasks instead of {}: an array of this cluster has no more\n", most,
                          count);
  return most;
}

bool IsInQueue(const SweepJob& job) {
  const QueueAnswer answer = AskQueue(job.job);
  if (answer.kind == QueueAnswer::Kind::kNoAnswer) {
    throw BadInput(
        "--slurm: Slurm job {} of this sweep may still be in the queue, and squeue does not "
        "answer:\n  {}\nCome back when it does; --collect makes the results of the points that are "
        "there",
        job.job.id, answer.message)
        .Subject("--slurm");
  }
  return AnyFits(answer.tasks, [](const auto& task) { return !HasEnded(task.second.state); });
}

// Nothing if no point is missing.
std::optional<SweepJob> SubmitMissing(const PlannedSweep& planned, const SweepOptions& options,
                                      const std::optional<SweepJob>& before,
                                      std::ostream& messages) {
  const std::vector<uint64_t> points = PointsToRun(planned, Shard());
  if (points.empty()) return std::nullopt;
  SweepJob job;
  job.count = ShardsOf(planned, *options.slurm, before, messages);
  std::set<uint64_t> shards;
  for (const uint64_t point : points) shards.insert(point % job.count + 1);
  job.shards.assign(shards.begin(), shards.end());

  std::vector<std::string> words = SbatchWords(planned, options, job.shards);
  const std::string program = options.slurm->program.empty()
                                  ? fs::read_symlink("/proc/self/exe").string()
                                  : options.slurm->program;
  const std::string directory = SlurmDirectory(planned);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw BadInput("{}: cannot make it: {}", directory, error.message());
  const std::string script = directory + "/job.sh";
  WriteFile(script,
            JobScript(planned, options, job.count, program, fs::current_path().string(), words),
            "job script");
  words.push_back(script);
  job.job = Submit(words);
  WriteJob(planned, job);
  messages << fmt::format("Slurm job {}: {} for {}; logs: {}/slurm/{}-*.log\n", job.job.id,
                          Count(job.shards.size(), "task"), Count(points.size(), "point"),
                          planned.out, job.job.id);
  return job;
}

// How to come back to a job, and how to be rid of it.
std::string ComeBackText(const SweepOptions& options, const SlurmJob& job) {
  return fmt::format("  wait for it:    {}\n  what is there:  {}\n  cancel it:      {}\n",
                     SlurmResumeLine(options), SweepCommandLine(options, {"--collect"}),
                     CancelCommand(job));
}

JobEnd Wait(const PlannedSweep& planned, const SweepOptions& options, const SweepJob& job,
            std::ostream& messages) {
  size_t missing = PointsToRun(planned, Shard()).size();
  TrialProgress progress("sweep", missing, messages);
  const auto looked = [&] {
    const size_t left = PointsToRun(planned, Shard()).size();
    for (; missing > left; --missing) progress.Ended();
  };
  try {
    return WaitForJob(job.job, job.shards,
                      options.slurm->pause ? options.slurm->pause : PauseByClock, looked, messages);
  } catch (const Interruption&) {
    messages << fmt::format("\nSlurm job {} goes on without this command.\n{}", job.job.id,
                            ComeBackText(options, job.job));
    throw;
  }
}

// The last line that a task has printed; "" if it has not printed any.
std::string LastLine(const std::string& log) {
  std::error_code error;
  if (!fs::is_regular_file(log, error)) return "";
  std::ifstream in(log, std::ios::binary);
  constexpr std::streamoff kTail = 4096;
  in.seekg(0, std::ios::end);
  in.seekg(std::max<std::streamoff>(static_cast<std::streamoff>(in.tellg()) - kTail, 0));
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

std::string TasksText(const PlannedSweep& planned, const SweepJob& job, const JobEnd& end) {
  std::map<std::string, size_t> counts;
  std::string named;
  size_t not_completed = 0;
  for (const auto& [number, task] : end.tasks) {
    const std::string state = task.state.empty() ? "no longer known" : task.state;
    ++counts[state];
    if (state == "COMPLETED" || !end.lost.empty() || ++not_completed > kTasksNamed) continue;
    const std::string log = fmt::format("{}/slurm/{}-{}.log", planned.out, job.job.id, number);
    const std::string line = LastLine(log);
    named += fmt::format("  task {} {}{}\n", number, state,
                         line.empty() ? "" : fmt::format(": {} ({})", line, log));
  }
  if (not_completed > kTasksNamed)
    named += fmt::format("  ... {} more\n", not_completed - kTasksNamed);
  std::string text = fmt::format("\nSlurm job {}, {}", job.job.id, Count(end.tasks.size(), "task"));
  const char* separator = ": ";
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", separator, count, state);
    separator = ", ";
  }
  return text + "\n" + named;
}

std::string EndText(const PlannedSweep& planned, const SweepOptions& options, const SweepJob& job,
                    const JobEnd& end) {
  const size_t missing = PointsToRun(planned, Shard()).size();
  const bool all_completed =
      AllFit(end.tasks, [](const auto& task) { return task.second.state == "COMPLETED"; });
  if (all_completed && missing == 0) return "";
  std::string text = TasksText(planned, job, end);
  if (!end.lost.empty()) {
    return text +
           fmt::format("squeue has not answered ten times; the job may be running:\n  {}\n{}",
                       end.lost, ComeBackText(options, job.job));
  }
  if (missing > 0) {
    text += fmt::format("{} {} not run to an end. To go on with what is missing:\n  {}\n",
                        Count(missing, "point"), missing == 1 ? "was" : "were",
                        SlurmResumeLine(options));
  }
  return text;
}

}  // namespace

std::optional<std::string> RunOnSlurm(const PlannedSweep& planned, const SweepOptions& options,
                                      std::ostream& out, std::ostream& messages) {
  std::optional<SweepJob> job = ReadJob(planned);
  if (job && !options.resume) {
    throw BadInput(
        "{} has the results of a sweep, Slurm job {}; --resume goes on with it, --out DIR puts "
        "this one elsewhere",
        planned.out, job->job.id);
  }
  PrepareDirectory(planned, {}, options.resume);
  if (job && IsInQueue(*job)) {
    messages << fmt::format(
        "Slurm job {} of this sweep is still in the queue; nothing is "
        "submitted\n",
        job->job.id);
  } else {
    job = SubmitMissing(planned, options, job, messages);
    if (!job) {
      messages << "No point is missing; nothing is submitted\n";
      return "";
    }
  }
  if (!options.slurm->wait) {
    out << fmt::format("Slurm job {}\n{}", job->job.id, ComeBackText(options, job->job));
    return std::nullopt;
  }
  const JobEnd end = Wait(planned, options, *job, messages);
  return EndText(planned, options, *job, end);
}

}  // namespace spyre::cosim
