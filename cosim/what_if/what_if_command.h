// SPDX-License-Identifier: Apache-2.0
// The command `what-if` (docs/sweeps.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/trials/run_trials.h"

namespace spyre::cosim {

// add_sets: declares --set, worded as everywhere. reader: what CONFIG is. width: of the terminal.
void AddWhatIfCommand(
    command_line::Command& root, ConfigReader reader,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets,
    std::function<size_t()> width);

}  // namespace spyre::cosim
