// SPDX-License-Identifier: Apache-2.0
// `compile --emit` and `--explain`: the passes of the front end over what a configuration compiles,
// a list of operations, OpSpec source or a bundle, which enter the pipeline where they belong.
// Reads files; any thread. Errors: Error(kBadInput) naming the key or file, CompileError of the
// passes.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "cosim/config/config.h"

namespace spyre::cosim {

struct EmitOptions {
  // A pass of the front end (front_end.h), "all" of them, or a part of what one left: "sticks",
  // "groups", "graph", "loops", "opspec".
  std::string stage;
  bool json = false;  // the form that `opt` reads; of `all` one line for each pass
};

// Runs the passes as far as the stage and writes the graph there; of `all`, behind each pass as it
// ends, so that the graph before a pass that fails has been written. warnings: what they had to
// say.
void EmitPasses(const RunConfig& config, const EmitOptions& options, std::ostream& out,
                std::vector<std::string>& warnings);
std::string EmitStage(const RunConfig& config, const std::string& stage,
                      std::vector<std::string>& warnings);

// Why each operation is divided, each buffer placed and each hint used as it is (explain.h).
std::string ExplainList(const RunConfig& config, std::vector<std::string>& warnings);

// Stages that EmitPasses takes.
std::vector<std::string> EmitStages();

}  // namespace spyre::cosim
