// SPDX-License-Identifier: Apache-2.0
// Which modules (base/module.h) a run opens: for run.sh, which builds no others.
#pragma once

#include <string>
#include <vector>

#include "cosim/config/config.h"

namespace spyre::cosim {

// CMake targets, in order of the alphabet; empty: the program alone does it.
std::vector<std::string> ModulesOf(const RunConfig& config);

}  // namespace spyre::cosim
