#include "runtime/compiler/tile_kernels.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "model/contract/error.h"

namespace spyre::compiler {
namespace {

using Sizes = std::map<std::string, int64_t>;

bool IsReduced(const Kernel& kernel, const std::string& name) {
  const auto& reduced = kernel.reduction_dims;
  return std::find(reduced.begin(), reduced.end(), name) != reduced.end();
}

// What is left of the dimensions in each kind of tile that is cut short.
std::vector<Sizes> CutShort(const Kernel& kernel, const KernelSpec& tile, const Sizes& sizes) {
  std::vector<Sizes> kinds = {{}};
  for (const auto& [name, size] : sizes) {
    const auto dim = tile.dims.find(name);
    if (dim == tile.dims.end() || IsReduced(kernel, name) || size < 1) continue;
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

Kernel CompileRemainder(const KernelSpec& tile, const Kernel& whole, const Sizes& cut) {
  KernelSpec spec = tile;
  for (const auto& [name, rest] : cut) spec.dims[name] = rest;
  for (size_t a = 0; a < spec.layouts.size(); ++a) {
    spec.layouts[a] = LayoutLike(spec.layouts[a], ShapeOf(whole.arguments[a], cut));
  }
  Kernel kernel = GenerateKernel(spec);
  const bool same =
      std::all_of(whole.plan.split.begin(), whole.plan.split.end(), [&](const auto& dimension) {
        return !IsReduced(whole, dimension.first) ||
               kernel.plan.split.at(dimension.first) == dimension.second;
      });
  if (same) return kernel;
  for (const auto& [name, slices] : whole.plan.split) {
    const int64_t size = spec.dims.at(name);
    spec.split[name] = static_cast<int>(std::min<int64_t>(slices, size));
  }
  return GenerateKernel(spec);
}

TileKernel CompileCopy(const KernelSpec& tile, const StickLayout& like,
                       const std::vector<int64_t>& shape) {
  static const std::vector<std::string> kNames = {"batch", "rows", "cols"};
  if (shape.empty() || shape.size() > kNames.size()) {
    throw BadInput("{}: a tile of [{}] cannot be padded: copies have 1 to {} dimensions", tile.op,
                   fmt::join(shape, ", "), kNames.size());
  }
  KernelSpec spec;
  spec.op = "copy";
  spec.cores = tile.cores;
  spec.lx_bytes = tile.lx_bytes;
  spec.timing_only = tile.timing_only;
  const size_t first = kNames.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) spec.dims[kNames[first + d]] = shape[d];
  const StickLayout layout = LayoutLike(like, shape);
  spec.layouts = {layout, layout};
  std::string name = fmt::format("copy_{}", fmt::join(shape, "x"));
  if (layout.stick_dim() < 0) name += "_sparse";
  if (layout.stick_dim() >= 0 && layout.stick_dim() + 1 != static_cast<int>(shape.size()))
    name += fmt::format("_sticks{}", layout.stick_dim());
  TileKernel copy{name, GenerateKernel(spec)};
  // Reports tell it from a workload that copies.
  copy.kernel.name = copy.kernel.compute.name = "tile copy";
  return copy;
}

}  // namespace

std::vector<TileKernel> RemainderKernels(const KernelSpec& tile, const Sizes& sizes) {
  const Kernel whole = GenerateKernel(tile);
  std::vector<TileKernel> kernels;
  for (const Sizes& cut : CutShort(whole, tile, sizes)) {
    std::string name = "remainder";
    for (const auto& [dimension, rest] : cut) name += fmt::format("_{}{}", dimension, rest);
    kernels.push_back({name, CompileRemainder(tile, whole, cut)});
  }
  return kernels;
}

std::vector<TileKernel> StagingCopies(const KernelSpec& tile, const Sizes& sizes) {
  const Kernel whole = GenerateKernel(tile);
  std::vector<TileKernel> kernels;
  std::set<std::pair<std::vector<int64_t>, int>> known;  // shape, stick dimension
  for (const Sizes& cut : CutShort(whole, tile, sizes)) {
    for (const KernelArgument& argument : whole.arguments) {
      const std::vector<int64_t> shape = ShapeOf(argument, cut);
      if (shape == argument.shape) continue;
      if (known.emplace(shape, argument.layout.stick_dim()).second)
        kernels.push_back(CompileCopy(tile, argument.layout, shape));
    }
  }
  return kernels;
}

void WriteTileKernels(const std::vector<TileKernel>& kernels, const std::filesystem::path& dir) {
  for (const TileKernel& kernel : kernels) WriteSpyreCode(kernel.kernel, dir / kernel.name);
}

}  // namespace spyre::compiler
