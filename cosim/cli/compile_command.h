// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim compile`: a bundle becomes a SpyreCode directory. Writes files; any thread. Errors:
// Error(kBadInput) naming the file, the operation and what is wrong.
#pragma once

#include <optional>
#include <string>

#include "base/command_line/command_line.h"
#include "cosim/config/config.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::cosim {

struct CompileOptions {
  std::string input;
  std::string output;  // SpyreCode directory
  std::string bundle;  // SDSC directory to write as well, "": none
  // Of it; nothing: that of workload.compiler, else symbolic arguments.
  std::optional<compiler::BundleDialect> dialect;
};

void AddCompileCommand(command_line::Command& root);

// Compiles what the configuration's workload is; returns a few lines for people.
std::string CompileBundle(const RunConfig& config, const CompileOptions& options);

}  // namespace spyre::cosim
