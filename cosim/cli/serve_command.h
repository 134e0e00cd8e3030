// SPDX-License-Identifier: Apache-2.0
// The command `serve`: the cards of a configuration for other processes (docs/serve.md). Single
// thread. Errors: Error(kBadInput); those of the card.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/serve/time_mode.h"

namespace spyre::cosim {

struct ServeArguments {
  std::string config;
  std::vector<std::string> sets;
  std::vector<std::string> cards;  // "N=FILE": card N is that of FILE
  std::string directory;
  TimeMode time = TimeMode::kFree;
  uint64_t clients = 1;
  uint64_t below = 0;  // lockstep: the process of which the clients are descendants; 0: not known
  double factor = 1;
  uint64_t vfs = 0;  // enabled before anybody comes
  bool once = false;
  std::string record;   // "": not recorded
  std::string out;      // directory of report and trace; "": none
  std::string program;  // for the report: who uses the cards
};

void AddServeCommand(command_line::Command& root);

// Until a signal; with `once`, until the last client has gone. out: what is served; log: what
// happens.
int RunServeCommand(const ServeArguments& args, std::ostream& out, std::ostream& log);

}  // namespace spyre::cosim
