// SPDX-License-Identifier: Apache-2.0
// What this program was built from and with. Any thread. The definition is written by the build
// (cmake/BuildInfo.cmake), in a file of its own, so that a commit recompiles nothing else.
#pragma once

#include <string>

namespace spyre {

struct BuildInfo {
  const char* version;    // of the project
  const char* commit;     // of its sources, 12 digits; "unknown" outside a Git checkout
  bool modified;          // files differed from that commit
  const char* compiler;   // name and version
  const char* systemc;    // version
  const char* verilator;  // version
};

const BuildInfo& ThisBuild();

// An object with these names, as it stands in report.json and in the metadata of a trace.
std::string ToJson(const BuildInfo& build);

}  // namespace spyre
