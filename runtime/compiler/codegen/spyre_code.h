// SPDX-License-Identifier: Apache-2.0
// SpyreCode directories: docs/spyrecode.md has the format.
// Callers: cosim, tests. Any thread. Errors: spyre::Error(kBadInput) naming the file.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

// Where the metadata of the correction goes: a file hcm.json, or spyrecode.json itself, which also
// names the symbols then, for readers that know no files but that.
enum class HcmForm : uint8_t { kFile, kInline };

// Writes spyrecode.json, init_binary.bin and hcm.json into `dir`, which is created if needed.
void WriteSpyreCode(const Kernel& kernel, const std::filesystem::path& dir,
                    HcmForm hcm = HcmForm::kFile);

}  // namespace spyre::compiler
