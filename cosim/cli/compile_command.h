// `spyre-cosim compile`: a bundle becomes a SpyreCode directory. Writes files; any thread. Errors:
// Error(kBadInput) naming the file, the operation and what is wrong.
#pragma once

#include <string>

#include "cosim/config.h"

namespace spyre::cosim {

struct CompileOptions {
  std::string input;
  std::string output;   // SpyreCode directory
  std::string bundle;   // SDSC directory to write as well, "": none
  std::string dialect;  // of it: "constants", "baked" or "arguments"; "": arguments
};

// Compiles what the configuration's workload is; returns a few lines for people.
std::string CompileBundle(const RunConfig& config, const CompileOptions& options);

}  // namespace spyre::cosim
