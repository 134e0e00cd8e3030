// SPDX-License-Identifier: Apache-2.0
// The manual page, from the declaration of a command line. Pure function, any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::command_line {

// Title and text of a section behind those of the commands, as "ENVIRONMENT".
using ManSection = std::pair<std::string, std::string>;

// roff with the macros of man(7), section 1. `release` stands in the footer, as "spyre-cosim
// 0.1.0".
std::string ManPage(const Command& root, const std::string& release,
                    const std::vector<ManSection>& sections);

}  // namespace spyre::command_line
