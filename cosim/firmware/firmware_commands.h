// SPDX-License-Identifier: Apache-2.0
// The commands `firmware pack|info|verify|slots|update`: images of the management controller's
// firmware, and the flash of a card (docs/firmware.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

// `firmware`: the command that they belong to. add_sets: declares --set, worded as everywhere.
void AddFirmwareCommands(
    command_line::Command& firmware,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets,
    std::ostream& out, std::ostream& log);

}  // namespace spyre::cosim
