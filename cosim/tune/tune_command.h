// SPDX-License-Identifier: Apache-2.0
// The command `tune` (docs/tuning.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/trials/run_trials.h"

namespace spyre::cosim {

// Adds the command as AddWhatIfCommand does. program: how the user called this program.
void AddTuneCommand(
    command_line::Command& root, ConfigReader reader,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets,
    std::function<std::string()> program, std::function<size_t()> width);

}  // namespace spyre::cosim
