// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/argument_reach.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

// The operation that changes the stick of the argument; "": none does.
std::string RestickifyOf(const FrontEndResult& result, const std::string& argument) {
  for (const NamedOp& op : result.primitives.ops) {
    const NamedGraph& graph = result.primitives;
    const auto is_it = [&](int tensor) {
      return graph.tensors[static_cast<size_t>(tensor)].name == argument;
    };
    if (op.op == "restickify" && (is_it(op.output) || is_it(op.inputs.front()))) {
      return fmt::format("'{}' -> '{}'", graph.tensors[static_cast<size_t>(op.inputs.front())].name,
                         graph.tensors[static_cast<size_t>(op.output)].name);
    }
  }
  return "";
}

[[noreturn]] void RefuseArgument(const FrontEndResult& result, const FrontEndArgument& argument,
                                 uint64_t reach) {
  std::string who = RestickifyOf(result, argument.name);
  who = who.empty() ? "an operation" : "restickify (" + who + ")";
  const std::string remedy =
      "give the tensors of the operation one dimension inside the stick (\"stick\")";
  throw CompileError("Unsupported", "argument_reach",
                     fmt::format("{} reaches over {} bytes of '{}', which has {} on the device: {}",
                                 who, reach, argument.name, argument.layout.DeviceBytes(), remedy))
      .Subject(argument.name)
      .Remedy(remedy);
}

}  // namespace

void RefuseRestickifyOfOne(const NamedGraph& graph) {
  for (const NamedOp& op : graph.ops) {
    if (op.op != "restickify") continue;
    const NamedTensor& input = graph.tensors[static_cast<size_t>(op.inputs.front())];
    for (const int dim : {input.stick, op.reduced.front()}) {
      if (dim < 0 || graph.dims[static_cast<size_t>(dim)].size != 1) continue;
      const std::string& name = graph.dims[static_cast<size_t>(dim)].name;
      const std::string remedy = fmt::format(
          "leave dimension '{}' out of the list, or give all tensors that have it one dimension "
          "inside the stick (\"stick\")",
          name);
      const std::string& output = graph.tensors[static_cast<size_t>(op.output)].name;
      throw CompileError(
          "Unsupported", "restickify_of_one",
          fmt::format("restickify ('{}' -> '{}') works on '{}' {} in blocks of 64 by "
                      "64 elements, and '{}' is 1: {}",
                      input.name, output, input.name, graph.ShapeText(input), name, remedy))
          .Subject(output)
          .Remedy(remedy);
    }
  }
}

void RefuseShortArguments(const FrontEndResult& result, Bundle bundle) {
  BindSegments(bundle, result.lx.pool_bytes > 0);
  const std::vector<ArgumentUse> uses = ArgumentUses(bundle);
  size_t next = 0;
  for (size_t i = 0; i < uses.size() && next < result.arguments.size(); ++i) {
    if (bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
    const FrontEndArgument& argument = result.arguments[next++];
    if (uses[i].bytes > static_cast<uint64_t>(argument.layout.DeviceBytes()))
      RefuseArgument(result, argument, uses[i].bytes);
  }
}

}  // namespace spyre::compiler
