// SPDX-License-Identifier: Apache-2.0
// SpyreCode directories: docs/spyrecode.md has the format.
// Callers: cosim, tests. Any thread. Errors: spyre::Error(kBadInput) naming the file.
#pragma once

#include <filesystem>

#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

// Writes spyrecode.json, init_binary.bin and hcm.json into `dir`, which is created if needed.
void WriteSpyreCode(const Kernel& kernel, const std::filesystem::path& dir);

}  // namespace spyre::compiler
