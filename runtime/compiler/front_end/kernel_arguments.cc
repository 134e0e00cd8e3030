// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/kernel_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/lower_to_op_specs.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

StickLayout CallersLayout(const NamedGraph& named, const NamedTensor& tensor) {
  const std::vector<int64_t> shape = named.Shape(tensor);
  if (tensor.stick == NamedTensor::kSparse)
    return SparseLayout(shape, DeviceFormatOf(tensor.format));
  std::vector<int> order;
  for (size_t i = 0; i < shape.size(); ++i)
    if (tensor.dims[i] != tensor.stick) order.push_back(static_cast<int>(i));
  const auto stick = std::find(tensor.dims.begin(), tensor.dims.end(), tensor.stick);
  order.push_back(static_cast<int>(stick - tensor.dims.begin()));
  return MakeLayout(shape, ContiguousStrides(shape), DeviceFormatOf(tensor.format), order);
}

namespace {

int FindTensor(const NamedGraph& list, const std::string& name) {
  const auto it =
      FindIf(list.tensors, [&](const NamedTensor& tensor) { return tensor.name == name; });
  return it == list.tensors.end() ? -1 : static_cast<int>(it - list.tensors.begin());
}

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

// The passes append tensors and keep those that were there: positions are those of the caller's
// list.
std::vector<FrontEndArgument> KernelArguments(const NamedGraph& list, const Graph& graph) {
  std::vector<FrontEndArgument> arguments;
  const std::string full = "full_";
  for (const std::string& buffer : KernelArgumentNames(graph)) {
    int tensor = FindTensor(list, buffer);
    if (tensor < 0) tensor = FindTensor(list, buffer.substr(full.size()));
    const NamedTensor& planned = list.tensors[static_cast<size_t>(tensor)];
    FrontEndArgument argument;
    argument.is_output = graph.IsOutput(buffer);
    argument.name = planned.name;
    argument.layout = CallersLayout(list, planned);
    argument.host_format = planned.format;
    argument.is_constant = planned.origin == NamedTensor::Origin::kConstant;
    argument.value = planned.value;
    if (!argument.is_constant) argument.tensor = tensor;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

void RefuseShortArguments(const FrontEndResult& result, Bundle bundle) {
  const std::vector<ArgumentUse> uses = BindSegments(bundle, result.lx.pool_bytes > 0);
  size_t next = 0;
  for (size_t i = 0; i < uses.size() && next < result.arguments.size(); ++i) {
    if (bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
    const FrontEndArgument& argument = result.arguments[next++];
    if (uses[i].bytes > static_cast<uint64_t>(argument.layout.DeviceBytes()))
      RefuseArgument(result, argument, uses[i].bytes);
  }
}

}  // namespace spyre::compiler
