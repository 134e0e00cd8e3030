// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/build_info/build_info.h"
#include "base/json_text.h"

namespace spyre {

std::string ToJson(const BuildInfo& build) {
  return DumpJson(nlohmann::ordered_json{{"version", build.version},
                                         {"commit", build.commit},
                                         {"modified", build.modified},
                                         {"compiler", build.compiler},
                                         {"systemc", build.systemc},
                                         {"verilator", build.verilator}});
}

}  // namespace spyre
