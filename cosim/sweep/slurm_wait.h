// SPDX-License-Identifier: Apache-2.0
// Waiting for a job of a Slurm cluster by asking its queue, a second at first and half a minute
// later between two questions.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cosim/slurm/cluster.h"

namespace spyre::cosim {

struct JobEnd {
  // Of every task, its last state; "" if it has left the queue and its end is not on record.
  SlurmTasks tasks;
  // Not empty: the queue has not answered for so long that it was given up, and said this. Tasks
  // may be running.
  std::string lost;
};

// Returns when no task of the job is in the queue, or when the queue has not answered ten times.
// looked: called after each question. pause: passes time, throws nothing. Messages get a line when
// the queue does not answer, and when a task waits for something that does not come by itself.
// Throws Interruption when this process gets a signal; the job is left as it is.
JobEnd WaitForJob(const SlurmJob& job, const std::vector<uint64_t>& tasks,
                  const std::function<void(std::chrono::seconds)>& pause,
                  const std::function<void()>& looked, std::ostream& messages);

// A pause by the clock, which a signal ends.
void PauseByClock(std::chrono::seconds time);

}  // namespace spyre::cosim
