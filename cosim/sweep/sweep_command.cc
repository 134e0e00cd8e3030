// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/sweep_command.h"

#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/sweep/sweep.h"

namespace spyre::cosim {

void AddSweepCommand(
    command_line::Command& root, ConfigReader reader,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("sweep", "Run many configurations, which a grid of keys and values makes");
  command.Footer(
      "Exit status: 0 every point ended, infeasible ones are results; 1 a point has wrong numbers, "
      "or points are missing; 2 bad input; 3 the card failed in a point; 4 a process died. The "
      "form "
      "of GRID and the results are in docs/sweeps.md.");
  struct Arguments {
    SweepOptions options;
    std::string shard;
  };
  const auto a = std::make_shared<Arguments>();
  command.Add("GRID", a->options.grid, "TOML file with the keys to sweep and their values")
      .Required()
      .Completes(Words::kFiles);
  add_sets(command, a->options.sets);
  command
      .Add("--out", a->options.out, "directory of journal and results (out/ and the grid's name)")
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command.Add("--jobs", a->options.jobs, "processes at a time; 0: one for each processor", 0, 1024)
      .Placeholder("N");
  command_line::Option& resume =
      command.Add("--resume", a->options.resume, "go on with the sweep whose journal is in --out");
  command
      .Add("--collect", a->options.collect,
           "run nothing; make the results of the points that the journals in --out have")
      .Excludes(resume);
  command.Add("--shard", a->shard, "only every Nth point from the Ith on, as one of N commands")
      .Placeholder("I/N");
  command.Add("--traces", a->options.traces,
              "keep the trace and the report of each point, in OUT/points");
  command.Action([a, reader = std::move(reader)] {
    if (!a->shard.empty()) a->options.shard = ParseShard(a->shard);
    CatchInterrupts(0);
    return RunSweep(a->options, reader, std::cout, std::cerr);
  });
}

}  // namespace spyre::cosim
