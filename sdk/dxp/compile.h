// SPDX-License-Identifier: Apache-2.0
// Compiles a bundle as PyTorch leaves it, without the shapes of its arguments: each is what the
// bundle reaches of it, an image of sticks. Errors: Error(kBadInput) that names the file and what
// is refused; nothing is written then.
#pragma once

#include <filesystem>

namespace spyre::sdk {

// directory: bundle.mlir and the SDSC files. Writes directory/spyreCodeDir, and keeps the bundle if
// the environment asks for it (kept_bundle.h).
void CompileBundleDirectory(const std::filesystem::path& directory);

}  // namespace spyre::sdk
