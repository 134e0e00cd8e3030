// SPDX-License-Identifier: Apache-2.0
// From a configuration to its workload. Looks at the environment variable SENCORES and reads files;
// any thread. Errors: Error(kBadInput) naming the key, CompileError of the front end.
#pragma once

#include <memory>

#include "cosim/config/config.h"
#include "cosim/workload/workload.h"

namespace spyre::cosim {

std::unique_ptr<Workload> ResolveWorkload(const RunConfig& config);

}  // namespace spyre::cosim
