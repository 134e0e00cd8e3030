// SPDX-License-Identifier: Apache-2.0
// A sweep on a Slurm cluster: an array of tasks, each of which runs a shard. A task writes the
// journal of its shard (journal.h), so what ended is known however the task ends, and a task that
// runs again goes on. Output directory, program and working directory must be there on the nodes
// under the same names.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cosim/sweep/sweep.h"

namespace spyre::cosim {

// Submits the points that no journal has, and waits until no task is in the queue. If the sweep's
// last job is still there, nothing is submitted, and that one is waited for: no point is run
// twice.
//
// Returns what is to be said behind the results: tasks that did not complete, and how to go on with
// the points that are missing. Nothing: the job was submitted only, which `out` has been told.
// Throws Error(kBadInput) if the cluster cannot be asked or refuses, and for a directory that has a
// sweep already (PrepareDirectory); Interruption when this process gets a signal, after saying on
// `messages` that the job goes on, and how to come back to it or to cancel it.
std::optional<std::string> RunOnSlurm(const PlannedSweep& planned, const SweepOptions& options,
                                      std::ostream& out, std::ostream& messages);

}  // namespace spyre::cosim
