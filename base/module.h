// SPDX-License-Identifier: Apache-2.0
// Parts of the program that few runs need, and that take long to build or to load: shared libraries
// of CMake type MODULE (spyre_module in cmake/ProjectOptions.cmake), opened when a run first asks
// for them and never closed. Any thread.
//
// The program exports nothing to a module: what a module calls back is virtual or inline.
// Exceptions may leave it, because types are told apart by their names.
#pragma once

#include <string>

namespace spyre {

struct Module {
  const char* target;  // of CMake; the file is called lib<target>.so
  const char* what;    // for messages: "the reader of bundle.mlir"
};

// The address of what the module exports as `symbol`. The file lies beside the program, in
// ../lib/spyre-cosim, where the dynamic loader finds it (the run path that an installation gives to
// programs that link with it, LD_LIBRARY_PATH), or where the build put it; the first one found
// counts. Throws Error(kBadInput): it is not built, with the command that builds it, or it cannot
// be loaded.
void* ModuleSymbol(const Module& module, const std::string& symbol);

}  // namespace spyre
