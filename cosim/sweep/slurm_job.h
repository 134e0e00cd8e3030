// SPDX-License-Identifier: Apache-2.0
// The job that a sweep has submitted last, as OUT/slurm/job.json keeps it for whoever comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cosim/slurm/cluster.h"
#include "cosim/sweep/sweep.h"

namespace spyre::cosim {

struct SweepJob {
  SlurmJob job;
  std::vector<uint64_t> shards;  // the numbers of its tasks
  uint64_t count = 1;            // shards of the sweep
};

void WriteJob(const PlannedSweep& planned, const SweepJob& job);

// Nothing if no job has been submitted. Throws Error(kBadInput) if the file is damaged, or is that
// of another sweep.
std::optional<SweepJob> ReadJob(const PlannedSweep& planned);

}  // namespace spyre::cosim
