// WriteBundle (bundle.h).
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "model/contract/error.h"
#include "runtime/compiler/bundle.h"

namespace spyre::compiler {
namespace {

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw BadInput("{}: cannot write", path.string());
}

}  // namespace

void WriteBundle(const Bundle& bundle, BundleDialect dialect, const std::filesystem::path& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) throw BadInput("{}: cannot create: {}", dir.string(), error.message());
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    WriteFile(dir / bundle.files.at(i), ToSdscJson(bundle.dscs[i], dialect) + "\n");
  }
  WriteFile(dir / "bundle.mlir", BundleMlir(bundle, dialect));
}

}  // namespace spyre::compiler
