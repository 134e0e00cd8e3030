// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim graph`: a task graph from text commands, one a line; answers as JSON lines.
// docs/task-graph.md has the commands. Single thread.
//
// Errors: Error(kBadInput) with the number of the line for what cannot be read and for what the
// graph refuses; what was answered before stays written. What a strict graph passes over goes to
// `messages`, a line each.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

struct GraphCommandOptions {
  std::string file = "-";  // "-": standard input
  std::string conformance = "strict";
  std::string deps = "exact";
  std::string ready = "fifo";
  uint32_t workers = 1;     // deques of work_steal, of each pool
  std::string start = "0";  // StartPolicy: a threshold, or "after_orchestration"
  // Options of the simulation.
  std::string dispatch = "any";
  std::string timing = "immediate";
  uint64_t issue_cycles = 0;
  uint32_t batch = 1;
  // Where the last simulation goes: FILE.sctrace in the project's format, else in Chrome's; "":
  // nowhere.
  std::string trace;
};

void AddGraphCommand(command_line::Command& root);

// Returns exit status 0.
int RunGraphCommand(const GraphCommandOptions& options, std::istream& standard_input,
                    std::ostream& out, std::ostream& messages);

}  // namespace spyre::cosim
