// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "cosim/slurm/shell_quote.h"
#include "cosim/slurm/task_list.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

// Processes of one task.
uint64_t JobsOfTask(const SweepOptions& options) { return std::max<uint64_t>(options.jobs, 1); }

// A path in the pattern of a log's name. Slurm applies the pattern to the whole path, also of a
// relative name, and a backslash anywhere makes it take the rest literally.
std::string PatternOf(const std::string& path) {
  if (path.find('\\') != std::string::npos) {
    throw BadInput("{}: Slurm writes no logs below a path with a backslash; use another --out",
                   path)
        .Subject("--out")
        .Value(path);
  }
  std::string pattern;
  for (const char c : path) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern;
}

void CheckArgument(const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') {
    throw BadInput(
        "--slurm-arg {}: must be an option of sbatch in one word, for example --slurm-arg=--mem=4G",
        argument)
        .Subject("--slurm-arg")
        .Value(argument);
  }
  static constexpr std::array<std::string_view, 10> kOurs = {
      "--array", "-a", "--chdir", "-D", "--output", "-o", "--wrap", "--wait", "-W", "--parsable"};
  const bool is_long = argument[1] == '-';
  const std::string name = is_long ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
  if (std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end()) {
    throw BadInput("--slurm-arg {}: the sweep gives {} to sbatch itself", argument, name)
        .Subject("--slurm-arg")
        .Value(argument)
        .Remedy("leave it out");
  }
}

}  // namespace

std::string SlurmDirectory(const PlannedSweep& planned) {
  return (fs::absolute(planned.out) / "slurm").string();
}

std::vector<std::string> SbatchWords(const PlannedSweep& planned, const SweepOptions& options,
                                     const std::vector<uint64_t>& shards) {
  const SlurmOptions& slurm = *options.slurm;
  std::string array = "--array=" + FormatTasks(shards);
  if (slurm.running > 0) array += fmt::format("%{}", slurm.running);
  std::vector<std::string> words = {
      array,
      "--job-name=spyre-sweep",
      "--chdir=" + SlurmDirectory(planned),
      "--output=" + PatternOf(SlurmDirectory(planned)) + "/%A-%a.log",
      "--open-mode=append",
      "--requeue",
      "--ntasks=1",
      fmt::format("--cpus-per-task={}", JobsOfTask(options)),
  };
  if (!slurm.partition.empty()) words.push_back("--partition=" + slurm.partition);
  if (!slurm.account.empty()) words.push_back("--account=" + slurm.account);
  if (!slurm.time.empty()) words.push_back("--time=" + slurm.time);
  for (const std::string& argument : slurm.arguments) {
    CheckArgument(argument);
    words.push_back(argument);
  }
  return words;
}

std::string JobScript(const PlannedSweep& planned, const SweepOptions& options, uint64_t count,
                      const std::string& program, const std::string& directory,
                      const std::vector<std::string>& sbatch_words) {
  std::string command =
      fmt::format("exec {} sweep {} \\\n", ShellQuote(program), ShellQuote(options.grid));
  for (const std::string& set : options.sets)
    command += fmt::format("  --set {} \\\n", ShellQuote(set));
  if (options.traces) command += "  --traces \\\n";
  command += fmt::format("  --out {} --resume --jobs {} \\\n",
                         ShellQuote(fs::absolute(planned.out).string()), JobsOfTask(options));
  command += fmt::format("  --shard \"$SLURM_ARRAY_TASK_ID/{}\"\n", count);
  std::vector<std::string> submit = sbatch_words;
  submit.insert(submit.begin(), "sbatch");
  submit.push_back(SlurmDirectory(planned) + "/job.sh");
  return fmt::format(
      "#!/bin/bash\n"
      "# One task of a sweep on a Slurm cluster: the points of one shard that no journal has yet.\n"
      "# A task that is put back into the queue goes on where it was.\n"
      "# Written by `spyre-cosim sweep --slurm`, which has submitted it by\n"
      "#   {}\n"
      "set -eu\n"
      "cd -- {}\n"
      "{}",
      ShellLine(submit), ShellQuote(directory), command);
}

std::string SweepCommandLine(const SweepOptions& options, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"spyre-cosim", "sweep", options.grid};
  for (const std::string& set : options.sets) {
    words.emplace_back("--set");
    words.push_back(set);
  }
  if (!options.out.empty()) {
    words.emplace_back("--out");
    words.push_back(options.out);
  }
  if (options.traces) words.emplace_back("--traces");
  words.insert(words.end(), more.begin(), more.end());
  return ShellLine(words);
}

std::string SlurmResumeLine(const SweepOptions& options) {
  const SlurmOptions& slurm = *options.slurm;
  std::vector<std::string> more = {"--slurm", "--resume"};
  const auto add = [&more](const std::string& name, const std::string& value) {
    more.push_back(name);
    more.push_back(value);
  };
  if (options.jobs > 0) add("--jobs", std::to_string(options.jobs));
  if (slurm.tasks > 0) add("--slurm-tasks", std::to_string(slurm.tasks));
  if (slurm.running > 0) add("--slurm-running", std::to_string(slurm.running));
  if (!slurm.partition.empty()) add("--slurm-partition", slurm.partition);
  if (!slurm.account.empty()) add("--slurm-account", slurm.account);
  if (!slurm.time.empty()) add("--slurm-time", slurm.time);
  for (const std::string& argument : slurm.arguments) more.push_back("--slurm-arg=" + argument);
  return SweepCommandLine(options, more);
}

}  // namespace spyre::cosim
