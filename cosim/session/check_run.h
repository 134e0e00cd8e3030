// SPDX-License-Identifier: Apache-2.0
// Whether a run would be refused, as far as that can be known without a card: keys, tensors, tiles,
// programs, input files, device memory. Single thread.
#pragma once

#include <string>
#include <vector>

#include "cosim/config/config.h"

namespace spyre::cosim {

// Throws what RunSession would; returns the warnings that it would begin with. The workload is
// compiled to a scratch directory.
std::vector<std::string> CheckRun(const RunConfig& config);

}  // namespace spyre::cosim
