// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/common_options.h"

#include "cosim/config/config.h"
#include "cosim/config/field.h"

namespace spyre::cosim {
namespace {

// Once: several commands have the option, and every start of the program declares them all.
const std::vector<std::string>& Keys() {
  static const std::vector<std::string> keys = [] {
    RunConfig config;
    std::vector<std::string> all;
    for (const Field& field : Fields(config)) all.push_back(field.key + "=");
    return all;
  }();
  return keys;
}

}  // namespace

void AddSets(command_line::Command& command, std::vector<std::string>& sets) {
  command.Add("--set", sets, "override one key, as in --set card.cores=8; may be repeated")
      .Placeholder("KEY=VALUE")
      .Suggests(Keys());
}

void AddShapes(command_line::Command& command, BundleArguments& bundle) {
  command
      .Add("--kernel", bundle.kernel,
           "of OpSpec source with several kernels: the name of the one that is meant")
      .Placeholder("NAME")
      .Group("Of a bundle");
  command
      .Add("--shape", bundle.shapes,
           "host shape of every argument in order, 512x4096 or 512x4096:float32")
      .SplitAt(',')
      .Placeholder("SHAPE,...")
      .Group("Of a bundle");
}

}  // namespace spyre::cosim
