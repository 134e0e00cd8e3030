// SPDX-License-Identifier: Apache-2.0
#include "base/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace spyre {
namespace {

namespace fs = std::filesystem;

// The module, opened; null if it is nowhere. What is found and cannot be loaded throws.
void* Open(const Module& module, const std::string& file) {
  const auto open = [&module](const std::string& place) {
    void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    throw BadInput("{} cannot be loaded; setup.sh installs the packages that it needs: {}",
                   module.what, dlerror());
  };
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& directory : {program, program / "../lib/spyre-cosim"}) {
    if (fs::exists(directory / file, error)) return open(directory / file);
  }
  // The loader knows the directories of the program's run path, where an installation is.
  if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) {
    return library;
  }
  if (std::string_view(dlerror()).substr(0, file.size()) != file) open(file);
  const fs::path built = fs::path(SPYRE_BUILD_DIR) / file;
  return fs::exists(built, error) ? open(built) : nullptr;
}

}  // namespace

void* ModuleSymbol(const Module& module, const std::string& symbol) {
  const std::string file = fmt::format("lib{}.so", module.target);
  void* const library = Open(module, file);
  if (library == nullptr) {
    throw BadInput(
        "{} is needed and not built (the module {}); build it: cmake --build {} --target {}",
        module.what, module.target, SPYRE_BUILD_DIR, module.target);
  }
  void* const address = dlsym(library, symbol.c_str());
  if (address == nullptr) {
    throw BadInput("{} is of another version: {} has no {}; build it: cmake --build {} --target {}",
                   module.what, file, symbol, SPYRE_BUILD_DIR, module.target);
  }
  return address;
}

}  // namespace spyre
