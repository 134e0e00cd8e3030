// SPDX-License-Identifier: Apache-2.0
// The commands of `spyre-cosim graph`: executes the lines of a text on a task graph and answers in
// JSON lines. docs/task-graph.md has the commands. Single thread, but for `run`.
//
// Errors: Error(kBadInput) with the number of the line.
#pragma once

#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "runtime/graph/task_graph.h"

namespace spyre::cosim {

class GraphInterpreter {
 public:
  // workers: what a simulation has besides the numbers that the text gives. The streams must
  // outlive it; `messages` gets what a strict graph passes over.
  GraphInterpreter(const runtime::TaskGraphOptions& options,
                   const runtime::SimulationWorkers& workers, std::ostream& out,
                   std::ostream& messages);
  ~GraphInterpreter();

  // name: what messages call the text.
  void Run(const std::string& name, std::istream& in);

  const runtime::TaskGraph* graph() const;        // nullptr: no command has needed one
  const runtime::Simulation* simulation() const;  // the last one, nullptr: none

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spyre::cosim
