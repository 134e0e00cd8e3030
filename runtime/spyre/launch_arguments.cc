// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/launch_arguments.h"

#include "base/error.h"
#include "base/joined.h"

namespace spyre::runtime {

std::string ArgumentName(const SpyreCompute& compute, size_t argument) {
  if (argument < compute.arguments.size() && !compute.arguments[argument].name.empty()) {
    return fmt::format("tensor {} ('{}')", argument, compute.arguments[argument].name);
  }
  return fmt::format("tensor {}", argument);
}

void CheckArguments(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors) {
  if (tensors.size() != compute.expected_input_shapes.size()) {
    throw BadInput("kernel '{}' takes {} tensors (outputs included), {} were given", compute.name,
                   compute.expected_input_shapes.size(), tensors.size());
  }
  for (size_t a = 0; a < tensors.size(); ++a) {
    const SpyreTensor& tensor = tensors[a];
    const std::vector<int64_t>& expected = compute.expected_input_shapes[a];
    if (tensor.shape.size() != expected.size() || tensor.shape != tensor.layout.host_size) {
      throw BadInput(
          "kernel '{}', {}: shape [{}] (layout of [{}]), compiled for rank {} as in [{}]",
          compute.name, ArgumentName(compute, a), Joined(tensor.shape, ", "),
          Joined(tensor.layout.host_size, ", "), expected.size(), Joined(expected, ", "));
    }
    if (tensor.data_type != tensor.layout.format || tensor.stride != ByteStrides(tensor.layout)) {
      throw BadInput(
          "kernel '{}', {}: strides [{}] bytes are not those of its stick layout, [{}] bytes",
          compute.name, ArgumentName(compute, a), Joined(tensor.stride, ", "),
          Joined(ByteStrides(tensor.layout), ", "));
    }
    if (a >= compute.arguments.size()) continue;
    const StickLayout& layout = compute.arguments[a].layout;
    if (tensor.layout.format != layout.format) {
      throw BadInput("kernel '{}', {}: format {}, compiled for {}", compute.name,
                     ArgumentName(compute, a), FormatName(tensor.layout.format),
                     FormatName(layout.format));
    }
    if (tensor.layout.stick_dim() != layout.stick_dim()) {
      throw BadInput("kernel '{}', {}: sticks run along dimension {}, compiled for dimension {}",
                     compute.name, ArgumentName(compute, a), tensor.layout.stick_dim(),
                     layout.stick_dim());
    }
  }
}

bool ShapesMatch(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors) {
  if (tensors.size() != compute.expected_input_shapes.size()) return false;
  for (size_t a = 0; a < tensors.size(); ++a) {
    if (tensors[a].shape != compute.expected_input_shapes[a]) return false;
  }
  return true;
}

void CheckExactShapes(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors) {
  CheckArguments(compute, tensors);
  for (size_t a = 0; a < tensors.size(); ++a) {
    if (tensors[a].shape != compute.expected_input_shapes[a]) {
      throw BadInput(
          "kernel '{}', {}: shape [{}], compiled for exactly [{}]; LaunchTiled takes "
          "multiples",
          compute.name, ArgumentName(compute, a), Joined(tensors[a].shape, ", "),
          Joined(compute.expected_input_shapes[a], ", "));
    }
  }
}

void CheckBound(const Operation& operation, size_t tensors, size_t dimensions) {
  using Kind = CorrectionSource::Kind;
  if (!operation.loaded()) {
    throw BadInput("launch of {}: its plan is not loaded; LoadPlan comes first",
                   Describe(operation));
  }
  const auto require = [&](Kind kind, size_t count, const char* noun) {
    for (size_t i = 0; i < count; ++i) {
      if (operation.Binds(kind, static_cast<int>(i))) continue;
      throw BadInput(
          "launch of {}: no step of it tells the program {} {}, which would be ignored; use the "
          "Operation of a loaded plan, which has the correction, or launch a program that takes "
          "no arguments without any",
          Describe(operation), noun, i);
    }
  };
  require(Kind::kArgument, tensors, "the place of tensor");
  require(Kind::kDimension, dimensions, "the value of dimension");
}

}  // namespace spyre::runtime
