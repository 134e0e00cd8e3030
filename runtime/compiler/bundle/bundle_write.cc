// SPDX-License-Identifier: Apache-2.0
// WriteBundle (bundle.h).
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {
void WriteBundle(const Bundle& bundle, BundleDialect dialect, const std::filesystem::path& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) throw BadInput("{}: cannot create: {}", dir.string(), error.message());
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    WriteFile((dir / bundle.files.at(i)).string(), ToSdscJson(bundle.dscs[i], dialect) + "\n",
              "SDSC file");
  }
  WriteFile((dir / "bundle.mlir").string(), BundleMlir(bundle, dialect), "bundle");
}

}  // namespace spyre::compiler
