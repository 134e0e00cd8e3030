// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/slurm_job.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "cosim/slurm/task_list.h"
#include "cosim/sweep/slurm_script.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

std::string PathOf(const PlannedSweep& planned) { return SlurmDirectory(planned) + "/job.json"; }

std::string TextIn(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

void WriteJob(const PlannedSweep& planned, const SweepJob& job) {
  const Json json = {{"job", job.job.id},
                     {"cluster", job.job.cluster},
                     {"sweep", planned.digest},
                     {"tasks", FormatTasks(job.shards)},
                     {"shards", job.count}};
  WriteFile(PathOf(planned), DumpJson(json, 2) + "\n", "job");
}

std::optional<SweepJob> ReadJob(const PlannedSweep& planned) {
  const std::string path = PathOf(planned);
  if (!std::filesystem::exists(path)) return std::nullopt;
  const Json json = JsonIfAny(ReadFile(path, "job"));
  NoteOwn(path);
  SweepJob job;
  if (json.is_object()) {
    job.job = {TextIn(json, "job"), TextIn(json, "cluster")};
    job.shards = ParseTasks(TextIn(json, "tasks"));
    const auto count = json.find("shards");
    job.count = count != json.end() && count->is_number_unsigned() ? count->get<uint64_t>() : 0;
  }
  if (job.job.id.empty() || job.shards.empty() || job.count < job.shards.back()) {
    throw BadInput(
        "{}: this does not name a job; if no job of this sweep is in the queue (squeue --me), "
        "remove the file",
        path);
  }
  if (TextIn(json, "sweep") != planned.digest) {
    throw BadInput(
        "{}: this is the job of another sweep: its grid or configuration was different; use "
        "another --out, or remove the directory",
        path);
  }
  return job;
}

}  // namespace spyre::cosim
