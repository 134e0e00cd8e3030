// SPDX-License-Identifier: Apache-2.0
#include "cosim/slurm/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/slurm/command.h"
#include "cosim/slurm/task_list.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kDefaultArraySize = 1001;  // slurm.conf(5), MaxArraySize

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// The last lines of what a command complains of: it may repeat an attempt ten times before.
std::string Complaint(const CommandResult& result) {
  constexpr size_t kLines = 4;
  const std::vector<std::string> lines = LinesOf(result.err.empty() ? result.out : result.err);
  if (lines.empty()) return fmt::format("exit status {}", result.status);
  std::string text;
  for (size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i)
    text += (text.empty() ? "" : "\n  ") + lines[i];
  return text;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && AllFit(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> FieldsOf(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '|');) fields.push_back(field);
  return fields;
}

// "CANCELLED by 1000" is CANCELLED, "NODE_FAIL+" NODE_FAIL.
std::string StateWord(const std::string& text) { return text.substr(0, text.find_first_of(" +")); }

std::vector<std::string> OfCluster(std::vector<std::string> words, const SlurmJob& job) {
  if (!job.cluster.empty()) words.push_back("--clusters=" + job.cluster);
  return words;
}

}  // namespace

std::string CancelCommand(const SlurmJob& job) {
  const std::string cluster = job.cluster.empty() ? "" : " --clusters=" + job.cluster;
  return "scancel" + cluster + " " + job.id;
}

bool HasEnded(const std::string& state) {
  static constexpr std::array<std::string_view, 9> kEnded = {
      "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
      "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"};
  return std::find(kEnded.begin(), kEnded.end(), state) != kEnded.end();
}

SlurmJob Submit(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"sbatch", "--parsable"};
  command.insert(command.end(), words.begin(), words.end());
  const CommandResult result = RunCommand(command, false);
  if (!result.is_there) {
    throw BadInput(
        "--slurm: PATH has no sbatch; call this on a machine that submits to the cluster, or "
        "without --slurm to run the sweep here")
        .Subject("--slurm");
  }
  if (result.status != 0) {
    throw BadInput("--slurm: sbatch refuses the job:\n  {}", Complaint(result))
        .Subject("--slurm")
        .Value(result.status);
  }
  // "4711" or "4711;cluster", perhaps behind what the site has to say.
  const std::vector<std::string> lines = LinesOf(result.out);
  const std::string last = lines.empty() ? "" : lines.back();
  const size_t semicolon = std::min(last.find(';'), last.size());
  SlurmJob job = {last.substr(0, semicolon),
                  semicolon == last.size() ? "" : last.substr(semicolon + 1)};
  if (!IsNumber(job.id)) {
    throw BadInput(
        "--slurm: sbatch gave no number of a job:\n  {}\nsqueue says whether it has submitted one",
        Complaint(result))
        .Subject("--slurm");
  }
  return job;
}

QueueAnswer AskQueue(const SlurmJob& job) {
  const CommandResult result =
      RunCommand(OfCluster({"squeue", "--noheader", "--array", "--states=all", "--jobs=" + job.id,
                            "--format=%K|%T|%r"},
                           job),
                 true);
  QueueAnswer answer;
  if (!result.is_there) {
    answer.message = "PATH has no squeue";
    return answer;
  }
  if (result.status != 0) {
    answer.message = Complaint(result);
    if (result.err.find("Invalid job id") != std::string::npos)
      answer.kind = QueueAnswer::Kind::kUnknownJob;
    return answer;
  }
  for (const std::string& line : LinesOf(result.out)) {
    const std::vector<std::string> fields = FieldsOf(line);
    if (fields.size() < 2) continue;  // the name of the cluster
    const std::string reason = fields.size() > 2 ? fields[2] : "";
    for (const uint64_t task : ParseTasks(fields[0]))
      answer.tasks[task] = {StateWord(fields[1]), reason == "None" ? "" : reason};
  }
  answer.kind = answer.tasks.empty() ? QueueAnswer::Kind::kUnknownJob : QueueAnswer::Kind::kTasks;
  return answer;
}

SlurmTasks AskAccounting(const SlurmJob& job) {
  const CommandResult result =
      RunCommand(OfCluster({"sacct", "--noheader", "--parsable2", "--allocations",
                            "--jobs=" + job.id, "--format=JobID,State"},
                           job),
                 true);
  SlurmTasks tasks;
  if (!result.is_there || result.status != 0) return tasks;
  const std::string prefix = job.id + "_";
  for (const std::string& line : LinesOf(result.out)) {
    const std::vector<std::string> fields = FieldsOf(line);
    if (fields.size() < 2 || fields[0].rfind(prefix, 0) != 0) continue;
    for (const uint64_t task : ParseTasks(std::string_view(fields[0]).substr(prefix.size())))
      tasks[task] = {StateWord(fields[1]), ""};
  }
  return tasks;
}

uint64_t LastArrayTask() {
  uint64_t size = kDefaultArraySize;
  const CommandResult result = RunCommand({"scontrol", "show", "config"}, true);
  for (const std::string& line : LinesOf(result.out)) {
    const size_t equals = line.find("= ");
    if (line.rfind("MaxArraySize", 0) != 0 || equals == std::string::npos) continue;
    const std::string value = line.substr(equals + 2);
    std::from_chars(value.data(), value.data() + value.size(), size);
  }
  return std::max<uint64_t>(size, 2) - 1;
}

}  // namespace spyre::cosim
