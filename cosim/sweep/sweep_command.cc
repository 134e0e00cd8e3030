// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/sweep_command.h"

#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/sweep/sweep.h"

namespace spyre::cosim {
namespace {

struct SlurmArguments {
  SlurmOptions options;
  bool is_given = false, no_wait = false;
};

// Returns --slurm.
command_line::Option& AddSlurmOptions(command_line::Command& command, SlurmArguments& a) {
  constexpr const char* kGroup = "On a Slurm cluster";
  SlurmOptions& options = a.options;
  command_line::Option& slurm =
      command.Add("--slurm", a.is_given, "run the points by an array of jobs, and wait for them")
          .Group(kGroup);
  command.Add("--no-wait", a.no_wait, "with --slurm: submit only").Group(kGroup);
  command
      .Add("--slurm-tasks", options.tasks,
           "tasks of the array at most; 0: one for each point, up to 100", 0, 4'000'000)
      .Placeholder("N")
      .Group(kGroup);
  command.Add("--slurm-running", options.running, "tasks at a time; 0: no limit", 0, 4'000'000)
      .Placeholder("N")
      .Group(kGroup);
  command.Add("--slurm-partition", options.partition, "partition of the cluster")
      .Placeholder("NAME")
      .Group(kGroup);
  command.Add("--slurm-account", options.account, "account that the job is charged to")
      .Placeholder("NAME")
      .Group(kGroup);
  command.Add("--slurm-time", options.time, "limit of a task's time, as sbatch --time takes it")
      .Placeholder("TIME")
      .Group(kGroup);
  command
      .Add("--slurm-arg", options.arguments,
           "a further option of sbatch in one word, as in --slurm-arg=--mem=4G; may be repeated")
      .Placeholder("WORD")
      .Group(kGroup);
  return slurm;
}

std::optional<SlurmOptions> OptionsOf(const SlurmArguments& a) {
  SlurmOptions options = a.options;
  options.wait = !a.no_wait;
  if (a.is_given) return options;
  const bool has_others = a.no_wait || options.tasks > 0 || options.running > 0 ||
                          !options.partition.empty() || !options.account.empty() ||
                          !options.time.empty() || !options.arguments.empty();
  if (has_others)
    throw BadInput(
        "--no-wait and --slurm-... have an effect with --slurm only; add it, or leave them out")
        .Subject("--slurm");
  return std::nullopt;
}

}  // namespace

void AddSweepCommand(
    command_line::Command& root, ConfigReader reader,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("sweep", "Run many configurations, which a grid of keys and values makes");
  command.Footer(
      "Exit status: 0 every point ended, infeasible ones are results; 1 a point has wrong numbers "
      "or does not keep what [expect] says, "
      "or points are missing; 2 bad input; 3 the card failed in a point; 4 a process died. The "
      "form "
      "of GRID and the results are in docs/sweeps.md.");
  struct Arguments {
    SweepOptions options;
    std::string shard;
    SlurmArguments slurm;
  };
  const auto a = std::make_shared<Arguments>();
  command
      .Add("GRID", a->options.grid,
           "TOML file with the keys to sweep and their values; with --over, CONFIG of `run`")
      .Required()
      .Completes(Words::kFiles);
  add_sets(command, a->options.sets);
  command_line::Option& over =
      command
          .Add(
              "--over", a->options.over,
              "instead of a grid: every combination of such keys, as card.memory.channels=8,16,32; "
              "the front is what a cheaper card costs in time; may be repeated")
          .Placeholder("KEY=VALUE,...");
  command
      .Add("--out", a->options.out, "directory of journal and results (out/ and the grid's name)")
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command
      .Add("--jobs", a->options.jobs,
           "processes at a time; 0: one for each processor, and with --slurm one in a task", 0,
           1024)
      .Placeholder("N");
  command_line::Option& resume =
      command.Add("--resume", a->options.resume, "go on with the sweep whose journal is in --out");
  command_line::Option& collect =
      command
          .Add("--collect", a->options.collect,
               "run nothing; make the results of the points that the journals in --out have")
          .Excludes(resume);
  command_line::Option& shard =
      command.Add("--shard", a->shard, "only every Nth point from the Ith on, as one of N commands")
          .Placeholder("I/N");
  command.Add("--traces", a->options.traces,
              "keep the trace and the report of each point, in OUT/points");
  AddSlurmOptions(command, a->slurm).Excludes(collect).Excludes(shard).Excludes(over);
  command.Action([a, reader = std::move(reader)] {
    if (!a->shard.empty()) a->options.shard = ParseShard(a->shard);
    a->options.slurm = OptionsOf(a->slurm);
    CatchInterrupts(0);
    return RunSweep(a->options, reader, std::cout, std::cerr);
  });
}

}  // namespace spyre::cosim
