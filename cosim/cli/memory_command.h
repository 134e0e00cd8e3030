// `spyre-cosim memory`: what the card's memory gives by itself, under a trace or a pattern of
// requests. docs/memory.md has examples. Single thread. Errors: Error(kBadInput).
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cosim/memory_run.h"
#include "cosim/memory_traffic.h"

namespace CLI {
class App;
}

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

// Adds the options, without --set, which the command line words alike for all commands.
void AddMemoryOptions(CLI::App& command, MemoryOptions& options);

// Runs and prints; returns exit status 0.
int RunMemoryCommand(const MemoryOptions& options, std::ostream& out);

}  // namespace spyre::cosim
