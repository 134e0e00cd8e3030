// SPDX-License-Identifier: Apache-2.0
#include "cosim/what_if/what_if_command.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "cosim/what_if/kernels.h"
#include "cosim/what_if/resources.h"
#include "cosim/what_if/what_if.h"

namespace spyre::cosim {

void AddWhatIfCommand(
    command_line::Command& root, ConfigReader reader,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets,
    std::function<size_t()> width) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("what-if", "Find what a run would gain if a part of the card were faster");
  command.Footer(
      "Exit status: 0 the run itself ended, changes that are refused are named; 2 bad input; 3 the "
      "card failed in the run itself. docs/sweeps.md has an example.");
  struct Arguments {
    WhatIfOptions options;
    bool json = false;
    bool resources = false, kernels = false;
  };
  const auto a = std::make_shared<Arguments>();
  command.Add("CONFIG", a->options.config, "as CONFIG of `run`")
      .Required()
      .Completes(Words::kFiles);
  command.Add("PARAMETER", a->options.parameters,
              "keys of [card] or [host], or tables of them such as card.memory; none: every time, "
              "rate and threshold");
  add_sets(command, a->options.sets);
  command
      .Add(
          "--figure", a->options.figure,
          "what is to become better: program_ns (the launches, and a collective of several cards), "
          "energy_uj or another figure of a sweep; of an "
          "energy the numbers of card.power are asked too")
      .ShowDefault()
      .Placeholder("NAME");
  command.Add("--factor", a->options.factor, "by which a parameter is made faster and slower")
      .ShowDefault()
      .Placeholder("X");
  command
      .Add("--pairs", a->options.pairs,
           "of so many parameters that help most, ask about every pair; 0: none", 0, 32)
      .ShowDefault()
      .Placeholder("N");
  command.Add("--jobs", a->options.jobs, "processes at a time; 0: one for each processor", 0, 1024)
      .Placeholder("N");
  command.Add("--json", a->json, "print one JSON object instead of tables");
  command.Add("--resources", a->resources,
              "make each resource that a critical path names faster, by all its parameters "
              "together, and say which one bounds the run");
  command.Add("--kernels", a->kernels,
              "rank the kernels of a program by what a change of each would bring, and simulate "
              "that of the first five; CONFIG may also be the directory of an `exec`");
  command.Action([a, reader = std::move(reader), width = std::move(width)] {
    CatchInterrupts(0);
    if (a->resources || a->kernels) {
      const char* const option = a->resources ? "--resources" : "--kernels";
      if (a->resources && a->kernels)
        throw BadInput("what-if: --resources and --kernels are two questions; ask one")
            .Subject("--kernels");
      if (!a->options.parameters.empty())
        throw BadInput("what-if: {} asks about all of them; name no parameters", option)
            .Subject(option);
    }
    if (a->kernels) {
      const KernelsAnswer answer = AskKernels(a->options, reader, std::cerr);
      std::cout << (a->json ? DumpJson(ToJson(answer), 2) + "\n" : ToText(answer, width()));
      return 0;
    }
    if (a->resources) {
      const BoundAnswer answer = AskResources(a->options, reader, std::cerr);
      std::cout << (a->json ? DumpJson(ToJson(answer), 2) + "\n" : ToText(answer, width()));
      return 0;
    }
    const WhatIf what_if = AskWhatIf(a->options, reader, std::cerr);
    std::cout << (a->json ? DumpJson(ToJson(what_if), 2) + "\n" : ToText(what_if, width()));
    return 0;
  });
}

}  // namespace spyre::cosim
