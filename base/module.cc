// SPDX-License-Identifier: Apache-2.0
#include "base/module.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/error.h"

namespace spyre {
namespace {

namespace fs = std::filesystem;

// Where the module is; empty if it is nowhere.
fs::path PlaceOf(const std::string& file) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& directory : {program, program / ".." / "lib", fs::path(SPYRE_BUILD_DIR)}) {
    if (fs::exists(directory / file, error)) return directory / file;
  }
  return {};
}

}  // namespace

void* ModuleSymbol(const Module& module, const std::string& symbol) {
  const fs::path place = PlaceOf(fmt::format("lib{}.so", module.target));
  if (place.empty()) {
    throw BadInput(
        "{} is needed and not built (the module {}); build it: cmake --build {} --target {}",
        module.what, module.target, SPYRE_BUILD_DIR, module.target);
  }
  void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw BadInput("{} cannot be loaded; setup.sh installs the packages that it needs: {}",
                   module.what, dlerror());
  }
  void* const address = dlsym(library, symbol.c_str());
  if (address == nullptr) {
    throw BadInput("{} is of another version: {} has no {}; build it: cmake --build {} --target {}",
                   module.what, place.string(), symbol, SPYRE_BUILD_DIR, module.target);
  }
  return address;
}

}  // namespace spyre
