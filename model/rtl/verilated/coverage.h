// SPDX-License-Identifier: Apache-2.0
// Coverage of the RTL blocks, for tests/coverage.sh. Without SPYRE_RTL_COVERAGE it does nothing.
#pragma once

#include <verilated.h>

#if VM_COVERAGE
#include <unistd.h>
#include <verilated_cov.h>

#include <cstdlib>
#endif

#include <string>

namespace spyre::model {

// What a block has counted so far, to $SPYRE_COVERAGE_DIR/<pid>_<name>_<n>.dat; to be called from
// the destructor of whoever owns the block. Without that variable nothing is written.
#if VM_COVERAGE
inline void WriteCoverage(VerilatedContext& context, const std::string& name) {
  static unsigned number = 0;
  const char* directory = std::getenv("SPYRE_COVERAGE_DIR");
  if (directory == nullptr) return;
  const std::string path = std::string(directory) + "/" + std::to_string(getpid()) + "_" + name +
                           "_" + std::to_string(number++) + ".dat";
  context.coveragep()->write(path.c_str());
}
// Counts from here on.
inline void ForgetCoverage(VerilatedContext& context) { context.coveragep()->zero(); }
#else
inline void ForgetCoverage(VerilatedContext& /*context*/) {}
inline void WriteCoverage(VerilatedContext& /*context*/, const std::string& /*name*/) {}
#endif

}  // namespace spyre::model
