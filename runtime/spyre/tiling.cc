#include "runtime/spyre/tiling.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "model/contract/error.h"

namespace spyre::runtime {
namespace {

std::string ArgumentName(const SpyreCompute& compute, size_t argument) {
  if (argument < compute.arguments.size() && !compute.arguments[argument].name.empty()) {
    return fmt::format("tensor {} ('{}')", argument, compute.arguments[argument].name);
  }
  return fmt::format("tensor {}", argument);
}

// One dimension of one argument, for messages.
struct Dimension {
  const SpyreCompute& compute;
  size_t argument;
  size_t index;
  int64_t size;
  int64_t tile;

  const std::string& name() const { return compute.dimension_names[argument][index]; }
  std::string Text() const {
    return fmt::format("kernel '{}', {}, dimension {} ('{}')", compute.name,
                       ArgumentName(compute, argument), index, name());
  }
};

bool IsBroadcast(const Dimension& dimension) {
  if (dimension.size != 1 || dimension.tile != 1) return false;
  const SpyreCompute& compute = dimension.compute;
  for (size_t a = 0; a < compute.dimension_names.size(); ++a) {
    for (size_t d = 0; d < compute.dimension_names[a].size(); ++d) {
      if (compute.dimension_names[a][d] == dimension.name() &&
          compute.expected_input_shapes[a][d] > 1) {
        return true;
      }
    }
  }
  return false;
}

int64_t Count(const Dimension& dimension) {
  if (dimension.size < dimension.tile) {
    throw BadInput("{}: size {} is smaller than the compiled tile {}; {} or a multiple would fit",
                   dimension.Text(), dimension.size, dimension.tile, dimension.tile);
  }
  if (dimension.size % dimension.tile != 0) {
    const int64_t below = dimension.size / dimension.tile * dimension.tile;
    throw BadInput(
        "{}: size {} is not a multiple of the compiled tile {}; {} or {} would fit, or a kernel "
        "compiled for a tile that divides {}",
        dimension.Text(), dimension.size, dimension.tile, below, below + dimension.tile,
        dimension.size);
  }
  return dimension.size / dimension.tile;
}

int64_t ByteStep(const Dimension& dimension, const SpyreTensor& tensor) {
  const int host_dimension = static_cast<int>(dimension.index);
  const int64_t stride = tensor.layout.DeviceByteStride(host_dimension);
  if (host_dimension != tensor.layout.stick_dim()) return dimension.tile * stride;
  const int per_stick = ElementsPerStick(tensor.layout.format);
  if (dimension.tile % per_stick != 0) {
    throw BadInput(
        "{}: the tile of {} is not a whole number of sticks ({} elements each), so a tile would "
        "start inside a stick; a tile that is a multiple of {} would fit",
        dimension.Text(), dimension.tile, per_stick, per_stick);
  }
  return dimension.tile / per_stick * stride;
}

}  // namespace

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
          compute.name, ArgumentName(compute, a), fmt::join(tensor.shape, ", "),
          fmt::join(tensor.layout.host_size, ", "), expected.size(), fmt::join(expected, ", "));
    }
    if (tensor.data_type != tensor.layout.format || tensor.stride != ByteStrides(tensor.layout)) {
      throw BadInput(
          "kernel '{}', {}: strides [{}] bytes are not those of its stick layout, [{}] bytes",
          compute.name, ArgumentName(compute, a), fmt::join(tensor.stride, ", "),
          fmt::join(ByteStrides(tensor.layout), ", "));
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
          compute.name, ArgumentName(compute, a), fmt::join(tensors[a].shape, ", "),
          fmt::join(compute.expected_input_shapes[a], ", "));
    }
  }
}

TilingPlan PlanTiling(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors) {
  CheckArguments(compute, tensors);
  if (compute.dimension_names.size() != compute.expected_input_shapes.size()) {
    throw BadInput("kernel '{}' has no dimension names, so its tensors cannot be tiled",
                   compute.name);
  }
  struct Seen {
    TiledDimension dimension;
    std::string where;  // of the first appearance, for messages
  };
  std::vector<Seen> seen;
  for (size_t a = 0; a < tensors.size(); ++a) {
    for (size_t d = 0; d < tensors[a].shape.size(); ++d) {
      const Dimension dimension{compute, a, d, tensors[a].shape[d],
                                compute.expected_input_shapes[a][d]};
      if (IsBroadcast(dimension)) continue;
      const int64_t count = Count(dimension);
      const auto known = std::find_if(seen.begin(), seen.end(), [&](const Seen& s) {
        return s.dimension.name == dimension.name();
      });
      if (known == seen.end()) {
        seen.push_back({{dimension.name(), dimension.tile, count}, dimension.Text()});
      } else if (known->dimension.count != count) {
        throw BadInput("{}: size {} makes {} tiles of {}, but {} has {} tiles; size {} would fit",
                       dimension.Text(), dimension.size, count, dimension.tile, known->where,
                       known->dimension.count, known->dimension.count * dimension.tile);
      }
      const auto& reductions = compute.reduction_dims;
      if (count > 1 &&
          std::find(reductions.begin(), reductions.end(), dimension.name()) != reductions.end()) {
        throw BadInput(
            "{}: size {} would make {} tiles of a dimension that the kernel sums over, and partial "
            "sums are not accumulated between launches; size {} would fit",
            dimension.Text(), dimension.size, count, dimension.tile);
      }
    }
  }

  TilingPlan plan;
  for (const Seen& s : seen) {
    if (s.dimension.count == 1) continue;
    plan.dimensions.push_back(s.dimension);
    plan.iterations *= s.dimension.count;
  }
  for (size_t a = 0; a < tensors.size(); ++a) {
    std::vector<int64_t>& steps = plan.byte_step.emplace_back();
    for (const TiledDimension& tiled : plan.dimensions) {
      int64_t step = 0;
      for (size_t d = 0; d < tensors[a].shape.size(); ++d) {
        const Dimension dimension{compute, a, d, tensors[a].shape[d],
                                  compute.expected_input_shapes[a][d]};
        if (dimension.name() != tiled.name || IsBroadcast(dimension)) continue;
        step += ByteStep(dimension, tensors[a]);
      }
      steps.push_back(step);
    }
  }
  return plan;
}

std::vector<int64_t> TilingPlan::Offsets(int64_t iteration) const {
  std::vector<int64_t> offsets(byte_step.size(), 0);
  for (size_t d = dimensions.size(); d-- > 0;) {
    const int64_t index = iteration % dimensions[d].count;
    iteration /= dimensions[d].count;
    for (size_t a = 0; a < offsets.size(); ++a) offsets[a] += index * byte_step[a][d];
  }
  return offsets;
}

}  // namespace spyre::runtime
