// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/calibrate_command.h"

#include <iostream>
#include <memory>

#include "base/interrupt.h"
#include "cosim/calibrate/calibrate.h"
#include "cosim/cli/common_options.h"
#include "cosim/verdict/exit_status.h"

namespace spyre::cosim {

void AddCalibrateCommand(command_line::Command& root) {
  using command_line::Words;
  command_line::Command& command = root.AddCommand(
      "calibrate", "Compare kernel times of the modelled card with calibration points");
  command.Footer(
      "Exit status: 0 every point ran; 1 a point failed; 2 bad input.\nThe format of a FILE and "
      "the "
      "tables are in docs/accuracy.md.");
  struct Arguments {
    CalibrateOptions options;
    bool json = false, markdown = false, svg = false;
    uint64_t worst = 0;
  };
  const auto a = std::make_shared<Arguments>();
  command.Add("FILE", a->options.files, "JSON or CSV files of calibration points")
      .Required()
      .Completes(Words::kFiles);
  command_line::Option& card =
      command.Add("--card", a->options.card, "card preset or TOML file, as card.preset")
          .Placeholder("CARD")
          .Completes(Words::kFiles);
  AddSets(command, a->options.sets);
  command
      .Add("--family", a->options.family,
           "only unary, binary, reduction, softmax, matmul or matmul-CORES")
      .Placeholder("NAME")
      .Suggests({"unary", "binary", "reduction", "softmax", "matmul"});
  command.Add("--every", a->options.every, "only the first of every N points", 1, 1'000'000);
  command_line::Option& both = command.Add(
      "--both", a->options.both, "with card.fidelity = \"fast\", the timed model's times as well");
  command_line::Option& fit =
      command
          .Add("--fit", a->options.fit,
               "fit the card's numbers to the points, and write the card to this TOML file")
          .Placeholder("OUT")
          .Completes(Words::kFiles)
          .Excludes(both);
  command
      .Add("--times", a->options.times,
           "take the times of the points from this file, which --json wrote, and simulate nothing")
      .Placeholder("JSON")
      .Completes(Words::kFiles)
      .Excludes(card)
      .Excludes(both)
      .Excludes(fit);
  command.Add("--jobs", a->options.jobs, "points at a time; 0: one a hardware thread", 0, 1024);
  command_line::Option& json = command.Add("--json", a->json, "as JSON, with every point");
  command_line::Option& markdown =
      command.Add("--markdown", a->markdown, "the tables of docs/accuracy.md")
          .Excludes(json)
          .Excludes(fit);
  command_line::Option& worst = command
                                    .Add("--worst", a->worst,
                                         "a table of the N points of each family that are farthest "
                                         "off, with what is known of the "
                                         "reason",
                                         1, 1'000'000)
                                    .Excludes(json)
                                    .Excludes(markdown)
                                    .Excludes(fit);
  command.Add("--svg", a->svg, "a picture of measured against simulated times")
      .Excludes(json)
      .Excludes(markdown)
      .Excludes(worst)
      .Excludes(fit);
  command.Action([a] {
    using Format = CalibrateOptions::Format;
    if (a->json) a->options.format = Format::kJson;
    if (a->markdown) a->options.format = Format::kMarkdown;
    if (a->svg) a->options.format = Format::kSvg;
    if (a->worst != 0) {
      a->options.format = Format::kWorst;
      a->options.worst = a->worst;
    }
    CatchInterrupts(0);
    bool all_ran = false;
    std::cout << Calibrate(a->options, std::cerr, &all_ran);
    return static_cast<int>(all_ran ? kDone : kWrong);
  });
}

}  // namespace spyre::cosim
