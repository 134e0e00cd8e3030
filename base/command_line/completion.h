// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, from the declaration of a command line. Pure function, any thread.
#pragma once

#include <string>

#include "base/command_line/command_line.h"

namespace spyre::command_line {

enum class Shell { kBash, kZsh, kFish };

// For bash: to be sourced, or installed as share/bash-completion/completions/<program>. For zsh: as
// _<program> in a directory of fpath. For fish: as <program>.fish in a completions directory.
std::string CompletionScript(const Command& root, Shell shell);

}  // namespace spyre::command_line
