// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim soak`: the soak campaign is a program of the tests, spyre-soak (tests/soak), which
// is built beside this one and takes its place here. Errors: Error(kBadInput) if it is not there.
#pragma once

#include "base/command_line/command_line.h"

namespace spyre::cosim {

void AddSoakCommand(command_line::Command& root);

// words: "soak" and all that stands behind it, as main has them. Returns only by an error.
[[noreturn]] void BecomeSoak(char** words);

}  // namespace spyre::cosim
