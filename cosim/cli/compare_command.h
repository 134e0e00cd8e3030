// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim compare`: one list of operations under several plans side by side. Each is compiled
// and run in a process of its own. Call from a process with one thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

struct CompareArguments {
  std::string list;                // as CONFIG of `run`
  std::vector<std::string> plans;  // a file each, or "KEY=VALUE;KEY=VALUE"
  std::vector<std::string> sets;   // of all of them
  std::string out = "out/compare";
  uint64_t jobs = 0;  // processes at a time; 0: one for each processor
  bool json = false;
};

void AddCompareCommand(command_line::Command& root);

// Returns the largest exit status of the plans; one that is refused is a column with its reason.
int RunCompareCommand(const CompareArguments& args, std::ostream& out);

}  // namespace spyre::cosim
