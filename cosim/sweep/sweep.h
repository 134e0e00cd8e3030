// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim sweep`: runs the points of a grid and keeps what came of them. Call from a process
// with one thread that has made no SystemC object.
//
// OUT/journal.jsonl, or OUT/journal-I-of-N.jsonl of a shard, has a line for each point that has
// ended; OUT/results.csv, results.jsonl, results.sqlite and index.html are made from all journals
// there when no point is missing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cosim/sweep/expand.h"
#include "cosim/sweep/grid.h"
#include "cosim/sweep/results.h"
#include "cosim/sweep/slurm_options.h"
#include "cosim/trials/run_trials.h"

namespace spyre::cosim {

// Shard i of n, counted from 1: points i-1, i-1+n, i-1+2n, ...
struct Shard {
  uint64_t index = 1, count = 1;
};
Shard ParseShard(const std::string& text);  // "3/8"; throws Error(kBadInput)

struct SweepOptions {
  std::string grid;               // file; with `over`, a configuration
  std::vector<std::string> over;  // "KEY=VALUE,VALUE...", values as in TOML
  std::vector<std::string> sets;  // of all points, over the grid's own
  std::string out;                // directory; "": out/ and the grid's name
  uint64_t jobs = 0;              // processes at a time; 0: one for each processor
  Shard shard;
  bool resume = false;   // go on with what is in `out`
  bool collect = false;  // run nothing: make the results of the journals that are there
  bool traces = false;   // as sweep.traces
  // Given: the points are run by a Slurm cluster (slurm_sweep.h), `jobs` of each task at a time, at
  // least one.
  std::optional<SlurmOptions> slurm;
};

// A grid with everything that follows from it.
struct PlannedSweep {
  Grid grid;
  std::vector<std::string> sets;  // of all points, over the grid's own
  std::string out;
  std::vector<GridPoint> points;
  uint64_t unmet = 0, duplicate = 0;
  std::string digest;
};
PlannedSweep PlanSweep(const SweepOptions& options, const ConfigReader& reader);

// Makes planned.out. Throws Error(kBadInput) if that cannot be, or if it has the journals of a
// sweep, others than those of shards beside this one, and this one is not to be resumed.
void PrepareDirectory(const PlannedSweep& planned, const Shard& shard, bool resume);

// The points of the shard that no journal has. A process that died may have been killed for want
// of memory, so its point is tried again.
std::vector<uint64_t> PointsToRun(const PlannedSweep& planned, const Shard& shard);

// Results of all journals in planned.out, whoever wrote them.
SweepResults CollectSweep(const PlannedSweep& planned);

// The whole command. Results and files are named on `out`, progress goes to `messages`. Returns the
// exit status: 0 all points ended (infeasible ones are results); 1 one has wrong numbers or does
// not keep [expect], or points are missing; 3 the card failed in one; 4 a process died. Throws
// Error(kBadInput) for the grid, or if `out` has another sweep, or one that is to be resumed
// without having been asked.
int RunSweep(const SweepOptions& options, const ConfigReader& reader, std::ostream& out,
             std::ostream& messages);

}  // namespace spyre::cosim
