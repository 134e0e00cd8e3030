// SPDX-License-Identifier: Apache-2.0
// The job of a sweep on a Slurm cluster as text: the script that a task runs, and how sbatch is
// told of it. The words of sbatch do not stand in the script, since its #SBATCH lines have rules of
// quoting of their own.
#pragma once

#include <string>
#include <vector>

#include "cosim/sweep/sweep.h"

namespace spyre::cosim {

// Where the job's files are: OUT/slurm.
std::string SlurmDirectory(const PlannedSweep& planned);

// What sbatch is told, up to the script. shards: of `count`, those that have points to run. Throws
// Error(kBadInput) for an argument in options.slurm->arguments that is not an option, or that says
// what the sweep has to say itself.
std::vector<std::string> SbatchWords(const PlannedSweep& planned, const SweepOptions& options,
                                     const std::vector<uint64_t>& shards);

// The script. program: an absolute path; directory: the working directory of this process.
std::string JobScript(const PlannedSweep& planned, const SweepOptions& options, uint64_t count,
                      const std::string& program, const std::string& directory,
                      const std::vector<std::string>& sbatch_words);

// "spyre-cosim sweep GRID ..." of the same sweep, with `more` behind it, for people to type.
std::string SweepCommandLine(const SweepOptions& options, const std::vector<std::string>& more);
// The same with the options of --slurm.
std::string SlurmResumeLine(const SweepOptions& options);

}  // namespace spyre::cosim
