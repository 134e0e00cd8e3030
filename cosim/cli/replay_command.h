// SPDX-License-Identifier: Apache-2.0
// The command `replay`: a recording on the card of its configuration, or of another one, and what
// came of it as text or JSON. Single thread. Errors: Error(kBadInput); those of the card.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

struct ReplayArguments {
  std::string path;
  std::vector<std::string> sets;
  uint64_t patience_ms = 1000;  // simulated
  bool json = false;
};

void AddReplayCommand(command_line::Command& root);

// Returns the exit status: 0 equal, 1 not.
int RunReplayCommand(const ReplayArguments& args, std::ostream& out);

}  // namespace spyre::cosim
