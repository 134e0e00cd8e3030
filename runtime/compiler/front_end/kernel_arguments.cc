// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/kernel_arguments.h"

#include <algorithm>

#include "runtime/compiler/front_end/lower_to_op_specs.h"

namespace spyre::compiler {
namespace {

// The layout over the shape that the caller has: without the last dimension of sparse sticks.
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

int FindTensor(const NamedGraph& list, const std::string& name) {
  const auto it = std::find_if(list.tensors.begin(), list.tensors.end(),
                               [&](const NamedTensor& tensor) { return tensor.name == name; });
  return it == list.tensors.end() ? -1 : static_cast<int>(it - list.tensors.begin());
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

}  // namespace spyre::compiler
