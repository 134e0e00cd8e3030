// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim memory`: what the card's memory gives by itself, under a trace or a pattern of
// requests. docs/memory.md has examples. Single thread. Errors: Error(kBadInput).
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/memory_study/memory_run.h"
#include "cosim/memory_study/memory_traffic.h"

namespace spyre::cosim {

struct MemoryOptions {
  std::string trace;  // a file; empty: a pattern
  PatternOptions pattern;
  MemoryLoad load;
  std::optional<uint64_t> channels;  // as card.memory.channels
  std::string card;                  // preset or TOML file; empty: the default preset
  std::vector<std::string> sets;
  bool json = false;
};

void AddMemoryCommand(command_line::Command& root);

// Runs and prints; returns exit status 0.
int RunMemoryCommand(const MemoryOptions& options, std::ostream& out);

}  // namespace spyre::cosim
