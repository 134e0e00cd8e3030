// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/tile_kernels.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/ops/op_entries.h"

namespace spyre::compiler {
namespace {

using Sizes = std::map<std::string, int64_t>;

bool IsReduced(const Kernel& kernel, const std::string& name) {
  const auto& reduced = kernel.reduction_dims;
  return std::find(reduced.begin(), reduced.end(), name) != reduced.end();
}

// What is left of the dimensions in each kind of tile that is cut short.
std::vector<Sizes> CutShort(const Kernel& kernel, const KernelSpec& tile, const Sizes& sizes,
                            bool sums) {
  std::vector<Sizes> kinds = {{}};
  for (const auto& [name, size] : sizes) {
    const auto dim = tile.dims.find(name);
    const bool alone = !sums && IsReduced(kernel, name);
    if (dim == tile.dims.end() || alone || size < 1) continue;
    const int64_t rest = size % dim->second;
    if (rest == 0) continue;
    const bool always = size < dim->second;  // there is no whole tile
    for (size_t i = 0, count = kinds.size(); i < count; ++i) {
      Sizes cut = kinds[i];
      cut[name] = rest;
      if (always) {
        kinds[i] = std::move(cut);
      } else {
        kinds.push_back(std::move(cut));
      }
    }
  }
  kinds.erase(std::remove(kinds.begin(), kinds.end(), Sizes()), kinds.end());
  return kinds;
}

// The layout of another shape in the same order of dimensions.
StickLayout LayoutLike(const StickLayout& layout, const std::vector<int64_t>& shape) {
  const std::vector<int>& dims = layout.host_dim;
  std::vector<int> order;
  if (dims.size() >= 3) {  // MakeLayout's device order, read backwards
    order.push_back(dims[dims.size() - 2]);
    order.insert(order.end(), dims.begin(), dims.end() - 2);
  } else if (dims.back() >= 0) {
    order = {dims.back()};
  }
  return MakeLayout(shape, ContiguousStrides(shape), layout.format, order);
}

std::vector<int64_t> ShapeOf(const KernelArgument& argument, const Sizes& cut) {
  std::vector<int64_t> shape = argument.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto rest = cut.find(argument.dims[d]);
    if (rest != cut.end()) shape[d] = rest->second;
  }
  return shape;
}

// `slices` of each dimension, or as many as it has elements.
std::map<std::string, int> AtMost(const std::map<std::string, int>& slices, const Sizes& dims) {
  std::map<std::string, int> split;
  for (const auto& [name, count] : slices) {
    const auto dim = dims.find(name);
    const int64_t size = dim == dims.end() ? count : dim->second;
    split[name] = static_cast<int>(std::min<int64_t>(count, size));
  }
  return split;
}

Kernel CompileRemainder(const KernelSpec& tile, const Kernel& whole, const Sizes& cut) {
  KernelSpec spec = tile;
  for (const auto& [name, rest] : cut) spec.dims[name] = rest;
  spec.split = AtMost(tile.split, spec.dims);
  for (size_t a = 0; a < spec.layouts.size(); ++a) {
    spec.layouts[a] = LayoutLike(spec.layouts[a], ShapeOf(whole.arguments[a], cut));
  }
  if (tile.accumulator != Accumulator::kNone) {
    Sizes before = cut;
    for (const std::string& name : whole.reduction_dims) before.erase(name);
    if (before != cut) {  // it goes on with what that kernel has left
      const Kernel others = before.empty() ? whole : CompileRemainder(tile, whole, before);
      spec.split = others.plan.split;
      spec.tile = {{"m", others.plan.tile.at("m")}, {"n", others.plan.tile.at("n")}};
      return GenerateKernel(spec);
    }
  }
  // Fewer sticks than slices leave cores out.
  for (auto& [name, slices] : spec.split) {
    const int64_t sticks = (spec.dims.at(name) + kStickElements - 1) / kStickElements;
    if (cut.count(name) != 0 && IsReduced(whole, name))
      slices = static_cast<int>(std::min<int64_t>(slices, sticks));
  }
  Kernel kernel = GenerateKernel(spec);
  const bool same = AllFit(whole.reduction_dims, [&](const std::string& name) {
    return kernel.plan.split.at(name) == whole.plan.split.at(name);
  });
  if (same) return kernel;
  spec.split = AtMost(whole.plan.split, spec.dims);
  return GenerateKernel(spec);
}

// `op` on tensors of one shape and layout, all alike.
TileKernel CompileElementwise(const KernelSpec& tile, const std::string& op, size_t arguments,
                              const StickLayout& like, const std::vector<int64_t>& shape) {
  static const std::vector<std::string> kNames = {"batch", "rows", "cols"};
  if (shape.empty() || shape.size() > kNames.size()) {
    throw BadInput("{}: a tile of [{}] cannot be handled: '{}' has 1 to {} dimensions", tile.op,
                   Joined(shape, ", "), op, kNames.size());
  }
  KernelSpec spec;
  spec.op = op;
  spec.cores = tile.cores;
  spec.lx_bytes = tile.lx_bytes;
  spec.timing_only = tile.timing_only;
  spec.schedule = tile.schedule;
  const size_t first = kNames.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) spec.dims[kNames[first + d]] = shape[d];
  const StickLayout layout = LayoutLike(like, shape);
  spec.layouts.assign(arguments, layout);
  std::string name = fmt::format("{}", Joined(shape, "x"));
  if (layout.stick_dim() < 0) name += "_sparse";
  if (layout.stick_dim() >= 0 && layout.stick_dim() + 1 != static_cast<int>(shape.size()))
    name += fmt::format("_sticks{}", layout.stick_dim());
  return {name, GenerateKernel(spec)};
}

// Reports tell them from a workload that does the same.
TileKernel Named(TileKernel kernel, const std::string& role, const std::string& name) {
  kernel.name = role + "_" + kernel.name;
  kernel.kernel.name = kernel.kernel.compute.name = name;
  return kernel;
}

TileKernel CompileCopy(const KernelSpec& tile, const StickLayout& like,
                       const std::vector<int64_t>& shape) {
  return Named(CompileElementwise(tile, "copy", 2, like, shape), "copy", "tile copy");
}

// What makes the whole of two partial results.
std::string AccumulateOf(const std::string& op) {
  const OpEntry* entry = FindNamedOperation(op);
  // A mean's parts are divided by their own sizes.
  if (entry != nullptr && !entry->combiner.empty() && entry->name != "mean")
    return std::string(entry->combiner);
  throw BadInput("{}: results of parts of its rows do not make the result of the whole", op);
}

}  // namespace

std::vector<TileKernel> RemainderKernels(const KernelSpec& tile, const Sizes& sizes, bool sums) {
  const Kernel whole = GenerateKernel(tile);
  std::vector<TileKernel> kernels;
  for (const Sizes& cut : CutShort(whole, tile, sizes, sums)) {
    std::string name = "remainder";
    for (const auto& [dimension, rest] : cut) name += fmt::format("_{}{}", dimension, rest);
    kernels.push_back({name, CompileRemainder(tile, whole, cut)});
  }
  return kernels;
}

std::vector<TileKernel> StagingCopies(const KernelSpec& tile, const Sizes& sizes, bool sums) {
  const Kernel whole = GenerateKernel(tile);
  std::vector<TileKernel> kernels;
  std::set<std::pair<std::vector<int64_t>, int>> known;  // shape, stick dimension
  for (const Sizes& cut : CutShort(whole, tile, sizes, sums)) {
    for (const KernelArgument& argument : whole.arguments) {
      const std::vector<int64_t> shape = ShapeOf(argument, cut);
      if (shape == argument.shape) continue;
      if (known.emplace(shape, argument.layout.stick_dim()).second)
        kernels.push_back(CompileCopy(tile, argument.layout, shape));
    }
  }
  return kernels;
}

std::vector<TileKernel> AccumulateKernels(const KernelSpec& tile, const Sizes& sizes,
                                          bool remainders) {
  const std::string op = AccumulateOf(tile.op);
  const Kernel whole = GenerateKernel(tile);
  const KernelArgument& out = whole.arguments.back();
  std::vector<Sizes> kinds;
  if (remainders) kinds = CutShort(whole, tile, sizes, false);
  std::set<std::vector<int64_t>> shapes = {out.shape};
  for (const Sizes& cut : kinds) shapes.insert(ShapeOf(out, cut));
  std::vector<TileKernel> kernels;
  kernels.reserve(shapes.size());
  for (const std::vector<int64_t>& shape : shapes) {
    kernels.push_back(
        Named(CompileElementwise(tile, op, 3, out.layout, shape), "accumulate", "tile accumulate"));
  }
  return kernels;
}

void WriteTileKernels(const std::vector<TileKernel>& kernels, const std::filesystem::path& dir) {
  for (const TileKernel& kernel : kernels) WriteSpyreCode(kernel.kernel, dir / kernel.name);
}

}  // namespace spyre::compiler
