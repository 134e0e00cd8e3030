// SPDX-License-Identifier: Apache-2.0
#include "cosim/exec/program_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

std::string Absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

std::string InFrontOf(const char* variable, const std::string& path) {
  const char* const rest = std::getenv(variable);
  return rest == nullptr || *rest == '\0' ? path : fmt::format("{}:{}", path, rest);
}

}  // namespace

std::string SdkDirectory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& place : {program / "sdk", program / "../sdk"}) {
    if (fs::exists(place / "lib/libflex.so", error)) return place.lexically_normal().string();
  }
  throw BadInput(
      "the SDK for programs of PyTorch is not built; build it: cmake --build {} --target spyre_sdk",
      program.string());
}

Variables ProgramEnvironment(const std::string& sdk, const ProgramCardChoice& choice) {
  // A program that ends by _exit is to have a report as well.
  const std::string before_exit = InFrontOf("LD_PRELOAD", sdk + "/lib/libspyre_exit.so");
  Variables variables = {
      // What torch-spyre's setup.py and its compiler look for.
      {"RUNTIME_INSTALL_DIR", sdk},
      {"SENLIB_INSTALL_DIR", sdk},
      {"DEEPTOOLS_INSTALL_DIR", sdk},
      {"SEN_COMMON_HEADERS", sdk + "/include"},
      {"NEW_SYSTEM_SETUP", "1"},
      {"SPYRE_COMMS_INSTALL_DIR", sdk},
      {"USE_SPYRE_CCL", "1"},
      {"USE_SPYRE_PROFILER", "1"},
      {"PATH", InFrontOf("PATH", sdk + "/bin")},
      {"LD_LIBRARY_PATH", InFrontOf("LD_LIBRARY_PATH", sdk + "/lib")},
  };
  if (choice.cards > 0) {
    // The server has the configuration and the directory.
    const std::string count = std::to_string(choice.cards);
    const Variables served = {{"SPYRE_COSIM_CARD", choice.served},
                              {"SPYRE_COSIM_DEVICES", count},
                              {"SPYRE_COSIM_CONFIG", ""},
                              {"SPYRE_COSIM_SET", ""},
                              {"SPYRE_COSIM_OUT", ""},
                              {"SPYRE_COSIM_KEEP", ""},
                              {"SPYRE_COSIM_VERIFY", ""},
                              {"FLEX_DEVICE", ""},
                              {"LD_PRELOAD", before_exit}};
    variables.insert(variables.end(), served.begin(), served.end());
    return variables;
  }
  const Variables card = {
      {"SPYRE_COSIM_CONFIG", Absolute(choice.config)},
      {"SPYRE_COSIM_SET", fmt::format("{}", fmt::join(choice.sets, "\n"))},
      {"SPYRE_COSIM_OUT", Absolute(choice.out)},
  };
  variables.insert(variables.end(), card.begin(), card.end());
  if (choice.out.empty()) return variables;
  variables.emplace_back("SPYRE_COSIM_KEEP", std::to_string(choice.keep_bytes));
  variables.emplace_back("SPYRE_COSIM_VERIFY", choice.verify);
  variables.emplace_back("LD_PRELOAD", before_exit);
  return variables;
}

}  // namespace spyre::cosim
