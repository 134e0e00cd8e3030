// The module that knows MLIR, loaded at the first use: it lies beside the program, in ../lib, or
// where the build put it.
#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "model/contract/error.h"
#include "runtime/compiler/bundle.h"

namespace spyre::compiler {
namespace {

using Parse = void (*)(const std::string& text, const std::string& file, Bundle& bundle);

constexpr char kSymbol[] = "spyre_parse_bundle_mlir";

std::vector<std::filesystem::path> Places() {
  const std::filesystem::path built = SPYRE_BUNDLE_MLIR;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return {program / built.filename(), program / ".." / "lib" / built.filename(), built};
}

Parse Load() {
  std::string tried;
  for (const std::filesystem::path& place : Places()) {
    void* module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      tried += std::string("\n  ") + dlerror();
      continue;
    }
    if (void* symbol = dlsym(module, kSymbol)) return reinterpret_cast<Parse>(symbol);
    tried += fmt::format("\n  {} has no {}", place.string(), kSymbol);
  }
  throw Error(
      ErrorKind::kInternal,
      "the reader of bundle.mlir cannot be loaded (setup.sh installs what it needs):" + tried);
}

}  // namespace

Bundle ParseBundleMlir(const std::string& text, const std::string& file) {
  static const Parse parse = Load();
  Bundle bundle;
  parse(text, file, bundle);
  return bundle;
}

}  // namespace spyre::compiler
