// SPDX-License-Identifier: Apache-2.0
// What `sweep --slurm` is told. Plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace spyre::cosim {

struct SlurmOptions {
  uint64_t tasks = 0;    // of the array at most; 0: those of the last time, or one for each point
  uint64_t running = 0;  // at a time; 0: no limit of ours
  // Passed to sbatch as they are; "" leaves the choice to the cluster.
  std::string partition, account, time;
  std::vector<std::string> arguments;  // further ones of sbatch, a word each
  bool wait = true;                    // false: submit only

  std::string program;  // that a task runs; "": this one
  // Passes the time between two questions to the queue; empty: a sleep, which a signal ends.
  std::function<void(std::chrono::seconds)> pause;
};

}  // namespace spyre::cosim
