// SPDX-License-Identifier: Apache-2.0
// A program of somebody else's, run to its end. Main thread; blocks until the program has ended.
#pragma once

#include <string>
#include <vector>

#include "cosim/exec/program_environment.h"

namespace spyre::cosim {

// Runs words[0], which is looked for in the PATH of `environment`, with the other words, the
// variables of this process, and those of `environment` instead of or beside them. A SIGTERM,
// SIGHUP or SIGINT that somebody sends to this process is passed on; one of the terminal reaches
// the program by itself. Returns the program's exit status, or 128 and the signal that ended it.
// Throws Error(kBadInput) if the program cannot be started.
int RunProgram(const std::vector<std::string>& words, const Variables& environment);

// Sends the program that runs, if one does, a SIGTERM. Any thread.
void EndProgram();

}  // namespace spyre::cosim
