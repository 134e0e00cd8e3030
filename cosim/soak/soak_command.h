// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim soak`: a card in use for hours or days of simulated time (cosim/soak/soak.h).
// Single thread. Errors: Error(kBadInput), Error(kDeviceFault).
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/session/session.h"
#include "cosim/soak/soak.h"

namespace spyre::cosim {

struct SoakArguments {
  std::string config;  // of card, host and runtime; empty: the default card
  std::vector<std::string> sets;
  SoakPlan plan;
  bool json = false, no_progress = false;
};

// add_sets: declares --set. make_progress: who shows how far it is; may return null.
void AddSoakCommand(
    command_line::Command& root,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets,
    std::function<std::unique_ptr<ProgressListener>()> make_progress, std::ostream& out);

// Runs and prints; returns exit status 0, or 1 if anything was found. progress: may be null.
int RunSoakCommand(const SoakArguments& args, ProgressListener* progress, std::ostream& out);

}  // namespace spyre::cosim
