// SPDX-License-Identifier: Apache-2.0
// `spyre-soak`: a card in use for hours or days of simulated time (tests/soak/soak.h).
// Single thread. Errors: Error(kBadInput), Error(kDeviceFault).
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/session/session.h"
#include "tests/soak/soak.h"

namespace spyre::cosim {

struct SoakArguments {
  std::string config;  // of card, host and runtime; empty: the default card
  std::vector<std::string> sets;
  SoakPlan plan;
  bool json = false, no_progress = false;
};

// The options of the program, and what it does.
void DeclareSoak(command_line::Command& root, std::ostream& out);

// Runs and prints; returns exit status 0, or 1 if anything was found. progress: may be null.
int RunSoakCommand(const SoakArguments& args, ProgressListener* progress, std::ostream& out);

}  // namespace spyre::cosim
