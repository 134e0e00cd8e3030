// SPDX-License-Identifier: Apache-2.0
// A Slurm cluster as its commands show it: sbatch, squeue, sacct and scontrol of PATH. Slurm 20.11
// and later (https://slurm.schedmd.com/sbatch.html, squeue.html, sacct.html). Call from a process
// with one thread. Whatever asks throws Interruption when this process gets a signal.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spyre::cosim {

struct SlurmJob {
  std::string id;       // digits: of the array as a whole
  std::string cluster;  // where several clusters have one database; else ""
};

// "scancel 4711", with the cluster where there is one.
std::string CancelCommand(const SlurmJob& job);

struct SlurmTask {
  std::string state;   // in Slurm's words: PENDING, RUNNING, COMPLETED, TIMEOUT, ...
  std::string reason;  // why it waits or failed, as squeue says; may be empty
};
using SlurmTasks = std::map<uint64_t, SlurmTask>;  // by the number in the array

// Whether a task in this state will not run again, unless somebody puts it back into the queue. A
// state that is not known has not ended: it is in the queue.
bool HasEnded(const std::string& state);

// What the queue says of a job.
struct QueueAnswer {
  enum class Kind { kTasks, kUnknownJob, kNoAnswer };
  Kind kind = Kind::kNoAnswer;
  SlurmTasks tasks;     // also those that have ended, for as long as the cluster remembers them
  std::string message;  // what squeue said instead
};

// Submits by `sbatch --parsable` and these words. Throws Error(kBadInput) with what sbatch says: it
// is not there, or refuses. A signal does not interrupt it, since its job would be lost.
SlurmJob Submit(const std::vector<std::string>& words);

QueueAnswer AskQueue(const SlurmJob& job);

// States of tasks by the accounting database, which remembers what the queue has forgotten. Empty
// where there is none.
SlurmTasks AskAccounting(const SlurmJob& job);

// The number of the last task that an array may have: MaxArraySize - 1 of the cluster, or of
// Slurm's default if it does not say.
uint64_t LastArrayTask();

}  // namespace spyre::cosim
