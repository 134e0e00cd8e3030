// SPDX-License-Identifier: Apache-2.0
// Runs another program and takes what it prints. Call from a process with one thread.
#pragma once

#include <string>
#include <vector>

namespace spyre::cosim {

struct CommandResult {
  bool is_there = true;  // false: PATH has no such program, and the rest says nothing
  int status = 0;        // of its exit; 128 + signal if a signal ended it
  std::string out, err;  // all that it printed
};

// words: the program, which is looked for in PATH, and its arguments; no shell reads them. Its
// standard input is empty. It runs in a process group of its own, so that Ctrl-C on the terminal
// reaches this process alone. may_interrupt: a signal to this process (base/interrupt.h) ends the
// program and throws Interruption; else the program is waited for. Throws Error(kBadInput) if no
// process can be started.
CommandResult RunCommand(const std::vector<std::string>& words, bool may_interrupt);

}  // namespace spyre::cosim
