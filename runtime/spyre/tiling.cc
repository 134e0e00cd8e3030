// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/tiling.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "runtime/spyre/launch_arguments.h"
#include "runtime/spyre/reduction_tiling.h"

namespace spyre::runtime {
namespace {

constexpr size_t kMaxDimensions = 31;  // bits of Tile::cut

// One dimension of one argument.
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
  // Elements of the last tile.
  int64_t rest() const { return size % tile == 0 ? tile : size % tile; }
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

bool IsReduced(const Dimension& dimension) {
  const auto& reduced = dimension.compute.reduction_dims;
  return std::find(reduced.begin(), reduced.end(), dimension.name()) != reduced.end();
}

void CheckWhole(const Dimension& dimension) {
  const int64_t tile = dimension.tile;
  if (dimension.size < tile) {
    throw BadInput("{}: size {} is smaller than the compiled tile {}; {} or a multiple would fit",
                   dimension.Text(), dimension.size, tile, tile);
  }
  if (dimension.rest() != tile) {
    const int64_t below = dimension.size / tile * tile;
    throw BadInput(
        "{}: size {} is not a multiple of the compiled tile {}; {} or {} would fit, or a kernel "
        "compiled for a tile that divides {}, or remainder '{}' or '{}'",
        dimension.Text(), dimension.size, tile, below, below + tile, dimension.size,
        Name(Remainder::kPad), Name(Remainder::kKernel));
  }
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

class Planner {
 public:
  Planner(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors,
          const LaunchOptions& options, const TileKernels& kernels)
      : compute_(compute), tensors_(tensors), options_(options), kernels_(kernels) {}

  TilingPlan Plan() {
    CheckArguments(compute_, tensors_);
    CheckNames();
    FindDimensions();
    OrderDimensions();
    FindSteps();
    for (size_t a = 0; a < tensors_.size(); ++a) CheckChunks(a);
    FindShapes();
    if (plan_.reduced >= 0) CheckReducedShapes(compute_, options_, plan_, kernels_);
    return std::move(plan_);
  }

 private:
  struct Seen {
    TiledDimension dimension;
    int64_t size;
    std::string where;  // of the first appearance, for messages
  };

  template <class Visit>
  void ForEachDimension(size_t argument, const Visit& visit) const {
    for (size_t d = 0; d < tensors_[argument].shape.size(); ++d) {
      const Dimension dimension{compute_, argument, d, tensors_[argument].shape[d],
                                compute_.expected_input_shapes[argument][d]};
      if (!IsBroadcast(dimension)) visit(dimension);
    }
  }

  void CheckNames() const {
    bool complete = compute_.dimension_names.size() == compute_.expected_input_shapes.size();
    for (size_t a = 0; complete && a < compute_.dimension_names.size(); ++a) {
      complete = compute_.dimension_names[a].size() == compute_.expected_input_shapes[a].size();
    }
    if (complete) return;
    throw BadInput("kernel '{}' has no dimension names, so its tensors cannot be tiled",
                   compute_.name);
  }

  void FindDimensions() {
    for (size_t a = 0; a < tensors_.size(); ++a) {
      ForEachDimension(a, [&](const Dimension& dimension) { See(dimension); });
    }
  }

  void See(const Dimension& dimension) {
    const int64_t count = (dimension.size + dimension.tile - 1) / dimension.tile;
    if (options_.remainder == Remainder::kFail) CheckWhole(dimension);
    if (IsReduced(dimension) && dimension.size != dimension.tile)
      CheckReduced(compute_, options_, dimension.Text(), dimension.size, dimension.tile);
    const auto known =
        FindIf(seen_, [&](const Seen& s) { return s.dimension.name == dimension.name(); });
    if (known == seen_.end()) {
      seen_.push_back({{dimension.name(), dimension.tile, count, dimension.rest()},
                       dimension.size,
                       dimension.Text()});
      return;
    }
    if (known->dimension.count != count) {
      throw BadInput("{}: size {} makes {} tiles of {}, but {} has {} tiles; size {} would fit",
                     dimension.Text(), dimension.size, count, dimension.tile, known->where,
                     known->dimension.count, known->dimension.count * dimension.tile);
    }
    if (known->dimension.rest != dimension.rest()) {
      throw BadInput("{}: size {}, but {} has size {}; size {} would fit", dimension.Text(),
                     dimension.size, known->where, known->size, known->size);
    }
  }

  void OrderDimensions() {
    // Unless the caller says otherwise, the tiles of one result follow each other.
    std::stable_partition(seen_.begin(), seen_.end(), [&](const Seen& s) {
      const auto& reduced = compute_.reduction_dims;
      return std::find(reduced.begin(), reduced.end(), s.dimension.name) == reduced.end();
    });
    CheckOrder(compute_, options_.order);
    auto to = seen_.begin();
    for (const std::string& name : options_.order) {
      const auto from =
          std::find_if(to, seen_.end(), [&](const Seen& s) { return s.dimension.name == name; });
      if (from == seen_.end()) continue;  // of size 1 everywhere
      std::rotate(to, from, from + 1);
      ++to;
    }
    for (const Seen& s : seen_) {
      const TiledDimension& dimension = s.dimension;
      if (dimension.count == 1 && !dimension.cut_short()) continue;
      if (__builtin_mul_overflow(plan_.iterations, dimension.count, &plan_.iterations) ||
          plan_.dimensions.size() == kMaxDimensions) {
        throw BadInput("{}: size {} makes {} tiles of {}: too many iterations", s.where, s.size,
                       dimension.count, dimension.tile);
      }
      plan_.dimensions.push_back(dimension);
    }
    plan_.reduced = ReducedDimension(compute_, options_, plan_.dimensions);
  }

  void FindSteps() {
    for (size_t a = 0; a < tensors_.size(); ++a) {
      std::vector<int64_t>& steps = plan_.byte_step.emplace_back(plan_.dimensions.size(), 0);
      ForEachDimension(a, [&](const Dimension& dimension) {
        for (size_t d = 0; d < steps.size(); ++d) {
          const TiledDimension& tiled = plan_.dimensions[d];
          if (tiled.name == dimension.name() && tiled.count > 1)
            steps[d] += ByteStep(dimension, tensors_[a]) / SlicesOf(compute_, tiled.name);
        }
      });
    }
  }

  // A kernel knows a tile by one address and its strides, so the tile lies inside one chunk.
  void CheckChunks(size_t argument) const {
    const SpyreTensor& tensor = tensors_[argument];
    if (tensor.chunks.size() < 2) return;
    const size_t d = static_cast<size_t>(ChunkedDimension(tensor.layout));
    const Dimension dimension{compute_, argument, d, tensor.shape[d],
                              compute_.expected_input_shapes[argument][d]};
    const int64_t length = ChunkElements(tensor);
    if (length % dimension.tile == 0) return;
    const int64_t begin = length / dimension.tile * dimension.tile;
    throw BadInput(
        "{}: the tile of elements {} to {} lies in two of the tensor's {} chunks, and a kernel can "
        "address one; chunks have {} elements, so a tile that divides {} would fit, or a tensor in "
        "one piece",
        dimension.Text(), begin, std::min(begin + dimension.tile, dimension.size) - 1,
        tensor.chunks.size(), length, length);
  }

  // Every combination of dimensions that are cut short has a shape.
  void FindShapes() {
    uint32_t possible = 0;
    uint32_t always = 0;
    for (size_t d = 0; d < plan_.dimensions.size(); ++d) {
      const TiledDimension& dimension = plan_.dimensions[d];
      if (!dimension.cut_short()) continue;
      possible |= 1u << d;
      if (dimension.count == 1) always |= 1u << d;
    }
    // Subsets of `possible`, in ascending order.
    for (uint32_t cut = 0;; cut = (cut - possible) & possible) {
      if ((cut & always) == always) plan_.shapes[cut] = ShapeOf(cut);
      if (cut == possible) return;
    }
  }

  TilingPlan::Shape ShapeOf(uint32_t cut) const {
    TilingPlan::Shape shape;
    shape.copies.assign(tensors_.size(), -1);
    if (cut == 0) {
      shape.accumulate = AccumulateFor(compute_.expected_input_shapes);
      return shape;
    }
    std::vector<std::vector<int64_t>> valid = compute_.expected_input_shapes;
    std::vector<bool> smaller(tensors_.size(), false);
    for (size_t a = 0; a < tensors_.size(); ++a) {
      ForEachDimension(a, [&](const Dimension& dimension) {
        for (size_t d = 0; d < plan_.dimensions.size(); ++d) {
          if ((cut >> d & 1) == 0 || plan_.dimensions[d].name != dimension.name()) continue;
          valid[a][dimension.index] = plan_.dimensions[d].rest;
          smaller[a] = true;
        }
      });
    }
    if (options_.remainder == Remainder::kKernel) {
      shape.remainder = RemainderFor(valid);
      shape.accumulate = AccumulateFor(valid);
      return shape;
    }
    for (size_t a = 0; a < tensors_.size(); ++a) {
      if (smaller[a]) shape.copies[a] = CopyFor(a, valid[a]);
    }
    shape.accumulate = AccumulateFor(compute_.expected_input_shapes);
    return shape;
  }

  int AccumulateFor(const std::vector<std::vector<int64_t>>& valid) const {
    if (plan_.reduced < 0 || options_.reduction != ReductionTiling::kPlan) return -1;
    return AccumulateKernel(compute_, valid.back(), kernels_.accumulates);
  }

  int RemainderFor(const std::vector<std::vector<int64_t>>& valid) const {
    std::vector<std::string> known;
    for (size_t i = 0; i < kernels_.remainders.size(); ++i) {
      const auto& kernel = kernels_.remainders[i].compute();
      if (!kernel) continue;
      if (kernel->expected_input_shapes == valid) {
        CheckArguments(*kernel, tensors_);
        return static_cast<int>(i);
      }
      known.push_back(fmt::format("{}", kernel->expected_input_shapes));
    }
    throw BadInput("kernel '{}': remainder '{}' needs it compiled for the shapes {}; {}",
                   compute_.name, Name(Remainder::kKernel), valid,
                   known.empty() ? std::string("no remainder kernel was given")
                                 : fmt::format("given were {}", Joined(known, "; ")));
  }

  int CopyFor(size_t argument, const std::vector<int64_t>& valid) const {
    const StickLayout& layout = tensors_[argument].layout;
    if (argument >= compute_.arguments.size()) {
      throw BadInput(
          "kernel '{}', {}: it has no layout for the arguments, so remainder '{}' has "
          "no tensor to pad",
          compute_.name, ArgumentName(compute_, argument), Name(Remainder::kPad));
    }
    for (size_t i = 0; i < kernels_.copies.size(); ++i) {
      const auto& kernel = kernels_.copies[i].compute();
      if (!kernel || kernel->expected_input_shapes.size() != 2 || kernel->arguments.size() != 2)
        continue;
      bool fits = true;
      for (size_t side = 0; side < 2; ++side) {
        const StickLayout& compiled = kernel->arguments[side].layout;
        fits = fits && kernel->expected_input_shapes[side] == valid &&
               compiled.stick_dim() == layout.stick_dim() && compiled.format == layout.format;
      }
      if (fits) return static_cast<int>(i);
    }
    throw BadInput(
        "kernel '{}', {}: remainder '{}' needs a copy kernel for the shape [{}] of {}, sticks "
        "along dimension {}; {} copy kernels were given, none for it",
        compute_.name, ArgumentName(compute_, argument), Name(Remainder::kPad), Joined(valid, ", "),
        FormatName(layout.format), layout.stick_dim(), kernels_.copies.size());
  }

  const SpyreCompute& compute_;
  const std::vector<SpyreTensor>& tensors_;
  const LaunchOptions& options_;
  const TileKernels& kernels_;
  std::vector<Seen> seen_;  // not broadcast
  TilingPlan plan_;
};

}  // namespace

bool Tile::staged() const {
  return AnyFits(arguments, [](const TileArgument& argument) { return argument.copy >= 0; });
}

Tile TilingPlan::operator[](int64_t number) const {
  Tile tile;
  tile.number = number;
  tile.index.resize(dimensions.size());
  tile.arguments.resize(byte_step.size());
  for (size_t d = dimensions.size(); d-- > 0;) {
    const TiledDimension& dimension = dimensions[d];
    const int64_t index = number % dimension.count;
    number /= dimension.count;
    tile.index[d] = index;
    if (index == dimension.count - 1 && dimension.cut_short()) tile.cut |= 1u << d;
    for (size_t a = 0; a < byte_step.size(); ++a)
      tile.arguments[a].offset += index * byte_step[a][d];
  }
  const Shape& shape = shapes.at(tile.cut);
  tile.remainder = shape.remainder;
  for (size_t a = 0; a < byte_step.size(); ++a) tile.arguments[a].copy = shape.copies[a];
  return tile;
}

std::string TilingPlan::Ranges(const Tile& tile) const {
  std::string text;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const TiledDimension& dimension = dimensions[d];
    const int64_t first = tile.index[d] * dimension.tile;
    const bool is_last = tile.index[d] == dimension.count - 1;
    const int64_t size = is_last ? dimension.rest : dimension.tile;
    text += fmt::format(", {}={}..{}", dimension.name, first, first + size - 1);
  }
  return text;
}

void CheckOrder(const SpyreCompute& compute, const std::vector<std::string>& order) {
  std::vector<std::string> names;
  for (const auto& dimensions : compute.dimension_names) {
    for (const std::string& name : dimensions) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (size_t i = 0; i < order.size(); ++i) {
    if (std::find(names.begin(), names.end(), order[i]) == names.end()) {
      throw BadInput("order [{}]: kernel '{}' has no dimension '{}'; it has {}{}",
                     Joined(order, ", "), compute.name, order[i], Joined(names, ", "),
                     DidYouMean(order[i], names));
    }
    const auto here = order.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(order.begin(), here, order[i]) != here) {
      throw BadInput("order [{}]: dimension '{}' is there twice; name each once",
                     Joined(order, ", "), order[i]);
    }
  }
}

bool TilingPlan::EndsResult(const Tile& tile) const {
  if (reduced < 0) return true;
  const auto d = static_cast<size_t>(reduced);
  return tile.index[d] == dimensions[d].count - 1;
}

TilingPlan PlanTiling(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors,
                      const LaunchOptions& options, const TileKernels& kernels) {
  return Planner(compute, tensors, options, kernels).Plan();
}

}  // namespace spyre::runtime
