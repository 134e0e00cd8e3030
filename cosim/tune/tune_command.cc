// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/tune_command.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/json_text.h"
#include "cosim/tune/tune.h"

namespace spyre::cosim {

void AddTuneCommand(
    command_line::Command& root, ConfigReader reader,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets,
    std::function<std::string()> program, std::function<size_t()> width) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("tune", "Look for the tiles, division and launches that run best");
  command.Footer(
      "Keys that --set gives stay as they are. Exit status: 0 the best plan was found and its "
      "numbers are right; 1 they are wrong, or what [expect] says did not come; 2 bad input, or a "
      "configuration that leaves no plan to "
      "choose; 3 the card failed in the run as given. docs/tuning.md has examples.");
  struct Arguments {
    TuneOptions options;
    bool json = false;
  };
  const auto a = std::make_shared<Arguments>();
  command.Add("CONFIG", a->options.config, "as CONFIG of `run`")
      .Required()
      .Completes(Words::kFiles);
  add_sets(command, a->options.sets);
  command
      .Add("--budget", a->options.budget, "trials of the timed model, the given plan's among them",
           1, 1'000'000)
      .ShowDefault()
      .Placeholder("N");
  std::vector<std::string> figures = {"time", "energy", "edp"};
  for (const Figure& figure : NumberFigures()) figures.emplace_back(figure.name);
  command
      .Add(
          "--objective", a->options.objective,
          "figure of a sweep's results to make best; time, energy and edp are launch_ns, energy_uj "
          "and energy_delay_uj_us")
      .ShowDefault()
      .Placeholder("FIGURE")
      .Suggests(std::move(figures));
  command.Add("--seed", a->options.seed, "of the plans that are drawn")
      .ShowDefault()
      .Placeholder("N");
  command.Add("--jobs", a->options.jobs, "processes at a time; 0: one for each processor", 0, 1024)
      .Placeholder("N");
  command
      .Add("-o,--out", a->options.out,
           "directory of the plan and the history (out/tune- and the configuration's name)")
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command.Add("--json", a->json, "print one JSON object instead of text");
  command.Action(
      [a, reader = std::move(reader), program = std::move(program), width = std::move(width)] {
        CatchInterrupts(0);
        const TuneResult result = Tune(a->options, reader, std::cerr);
        std::cout << (a->json ? DumpJson(ToJson(result), 2) + "\n"
                              : ToText(result, program(), width()));
        return ExitStatusOf(result.judged.status);
      });
}

}  // namespace spyre::cosim
