// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/reduction_tiling.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/joined.h"
#include "base/ranges.h"

namespace spyre::runtime {
namespace {

constexpr const char* kHomes[] = {"device", "lx"};

// The accumulation of a kernel that was compiled for this option.
const AccumulationInfo* Accumulates(const SpyreCompute& compute, ReductionTiling how) {
  if (!compute.accumulation) return nullptr;
  const bool fits =
      compute.accumulation->in_lx ? how == ReductionTiling::kLx : how == ReductionTiling::kDevice;
  return fits ? &*compute.accumulation : nullptr;
}

bool IsReduced(const SpyreCompute& compute, const std::string& name) {
  const auto& reduced = compute.reduction_dims;
  return std::find(reduced.begin(), reduced.end(), name) != reduced.end();
}

const SpyreCompute& KernelOf(const SpyreCompute& compute, const TilingPlan::Shape& shape,
                             const TileKernels& kernels) {
  if (shape.remainder < 0) return compute;
  return *kernels.remainders[static_cast<size_t>(shape.remainder)].compute();
}

}  // namespace

TensorLocation AccumulationLocation(const DeviceHandle& workspace, bool carried, bool final,
                                    int64_t spacing) {
  TensorLocation location;
  location.handle = workspace;
  location.stride = {carried ? 1u : 0u, final ? 1u : 0u, static_cast<uint64_t>(spacing)};
  return location;
}

TensorLocation WholeResult(const AccumulationInfo& sums, const DeviceHandle& any) {
  return AccumulationLocation(any, false, true, sums.slice / sums.unit);
}

void CheckReduced(const SpyreCompute& compute, const LaunchOptions& options,
                  const std::string& where, int64_t size, int64_t tile) {
  const int64_t count = (size + tile - 1) / tile;
  if (options.reduction == ReductionTiling::kFail) {
    throw BadInput(
        "{}: size {} would make {} tiles of a dimension that the kernel sums over (compiled: {}); "
        "size {} would fit, or reduction '{}', '{}' or '{}'",
        where, size, count, tile, tile, Name(ReductionTiling::kDevice), Name(ReductionTiling::kLx),
        Name(ReductionTiling::kPlan));
  }
  if (options.reduction == ReductionTiling::kPlan) return;
  if (Accumulates(compute, options.reduction) == nullptr) {
    throw BadInput(
        "{}: size {} makes {} tiles of a dimension that the kernel sums over; reduction '{}' needs "
        "the kernel compiled with accumulators that it keeps there, and this one {}",
        where, size, count, Name(options.reduction),
        compute.accumulation
            ? fmt::format("has them for '{}'", kHomes[compute.accumulation->in_lx ? 1 : 0])
            : std::string("has none"));
  }
  const AccumulationInfo& sums = *compute.accumulation;
  if (size % (sums.slices * sums.unit) != 0 && sums.slices > 1) {
    throw BadInput(
        "{}: size {} is divided over {} slices, each of whole sticks of {}; a multiple of {} would "
        "fit, or a kernel whose work division does not divide '{}'",
        where, size, sums.slices, sums.unit, sums.slices * sums.unit, sums.dim);
  }
}

int ReducedDimension(const SpyreCompute& compute, const LaunchOptions& options,
                     const std::vector<TiledDimension>& dimensions) {
  int reduced = -1;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (!IsReduced(compute, dimensions[d].name)) continue;
    if (reduced >= 0) {
      throw BadInput(
          "kernel '{}': dimensions '{}' and '{}' are both summed over and tiled; one can",
          compute.name, dimensions[static_cast<size_t>(reduced)].name, dimensions[d].name);
    }
    reduced = static_cast<int>(d);
  }
  if (reduced < 0 || options.reduction != ReductionTiling::kLx) return reduced;
  if (static_cast<size_t>(reduced) + 1 != dimensions.size()) {
    throw BadInput(
        "order [{}]: reduction '{}' keeps the sums of one result in LX, so the tiles of '{}' must "
        "follow each other; it comes last, or use reduction '{}'",
        Joined(options.order, ", "), Name(options.reduction),
        dimensions[static_cast<size_t>(reduced)].name, Name(ReductionTiling::kDevice));
  }
  return reduced;
}

int64_t SlicesOf(const SpyreCompute& compute, const std::string& dimension) {
  const auto& sums = compute.accumulation;
  return sums && sums->dim == dimension ? sums->slices : 1;
}

int AccumulateKernel(const SpyreCompute& compute, const std::vector<int64_t>& shape,
                     const std::vector<Operation>& accumulates) {
  for (size_t i = 0; i < accumulates.size(); ++i) {
    const auto& kernel = accumulates[i].compute();
    if (!kernel) continue;
    const auto& shapes = kernel->expected_input_shapes;
    const bool fits =
        shapes.size() == 3 && shapes[0] == shape && shapes[1] == shape && shapes[2] == shape;
    if (fits) return static_cast<int>(i);
  }
  throw BadInput(
      "kernel '{}': reduction '{}' needs a kernel that adds partial results of shape [{}]; {} "
      "accumulate kernels were given, none for it",
      compute.name, Name(ReductionTiling::kPlan), Joined(shape, ", "), accumulates.size());
}

void CheckReducedShapes(const SpyreCompute& compute, const LaunchOptions& options,
                        const TilingPlan& plan, const TileKernels& kernels) {
  const uint32_t reduced = 1u << plan.reduced;
  const std::string& name = plan.dimensions[static_cast<size_t>(plan.reduced)].name;
  for (const auto& [cut, shape] : plan.shapes) {
    const bool staged = AnyFits(shape.copies, [](int copy) { return copy >= 0; });
    const bool pads_sum = (cut & reduced) != 0 && !compute.accumulation;
    if (staged && (options.reduction == ReductionTiling::kLx || shape.copies.back() >= 0 ||
                   SlicesOf(compute, name) > 1 || pads_sum)) {
      throw BadInput(
          "kernel '{}': remainder '{}' with reduction '{}' of '{}' would {}; remainder '{}' does "
          "not",
          compute.name, Name(options.remainder), Name(options.reduction), name,
          options.reduction == ReductionTiling::kLx
              ? "run copies between launches that keep their sums in LX"
          : shape.copies.back() >= 0 ? "stage a result that several tiles make"
          : pads_sum                 ? "pad what a kernel folds, which zeros may change"
                                     : "stage a tile that is not in one piece",
          Name(Remainder::kKernel));
    }
    if (options.reduction == ReductionTiling::kPlan) continue;
    // The last launch of a result finds what the others have left.
    const auto others = plan.shapes.find(cut & ~reduced);
    if ((cut & reduced) == 0 || others == plan.shapes.end()) continue;
    const auto& sums = KernelOf(compute, shape, kernels).accumulation;
    const auto& before = KernelOf(compute, others->second, kernels).accumulation;
    const bool fits = sums && before && sums->in_lx == before->in_lx &&
                      sums->slices == before->slices &&
                      sums->workspace_bytes == before->workspace_bytes;
    if (!fits) {
      throw BadInput(
          "kernel '{}': the remainder kernel for the last tile of '{}' does not keep its "
          "accumulators as the others do; compile it with the same accumulator, split and tile",
          compute.name, name);
    }
  }
}

TiledReduction::TiledReduction(flex::RuntimeContext& context, const Operation& operation,
                               const LaunchOptions& options, const TilingPlan& plan,
                               const TileKernels& kernels)
    : context_(context),
      compute_(*operation.compute()),
      options_(options),
      plan_(plan),
      kernels_(kernels) {
  if (plan_.reduced < 0) return;
  const auto reduced = static_cast<size_t>(plan_.reduced);
  if (Is(ReductionTiling::kPlan)) {
    partial_ = AllocateTensor(context, compute_.arguments.back().layout);
    return;
  }
  if (Is(ReductionTiling::kLx) && context.identity().pipelined) {
    throw BadInput(
        "kernel '{}': reduction '{}' needs a card that runs operations in the order of its ring; "
        "on this one (card.concurrency = \"pipelined\") a program of another stream can come "
        "between two launches and use their LX. Use reduction '{}'",
        compute_.name, Name(options_.reduction), Name(ReductionTiling::kDevice));
  }
  const AccumulationInfo& sums = *compute_.accumulation;
  const TiledDimension& dimension = plan_.dimensions[reduced];
  const int64_t size = (dimension.count - 1) * dimension.tile + dimension.rest;
  spacing_ = size / sums.slices / sums.unit;
  for (const auto& [cut, shape] : plan_.shapes) {
    workspace_.bytes = std::max(workspace_.bytes,
                                KernelOf(compute_, shape, kernels_).accumulation->workspace_bytes);
  }
  // Results that loops inside the reduced dimension take turns with.
  for (size_t d = reduced + 1; d < plan_.dimensions.size(); ++d)
    workspace_.results *= plan_.dimensions[d].count;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(workspace_.bytes, static_cast<uint64_t>(workspace_.results), &bytes)) {
    throw BadInput("kernel '{}': {} workspaces of {} bytes; put '{}' further inside in the order",
                   compute_.name, workspace_.results, workspace_.bytes, dimension.name);
  }
  workspace_.storage =
      std::make_shared<const DeviceStorage>(context, bytes, flex::MemoryKind::kTensor);
}

std::vector<std::shared_ptr<const void>> TiledReduction::memory() const {
  std::vector<std::shared_ptr<const void>> memory{workspace_.storage};
  if (partial_) memory.push_back(partial_->storage);
  for (const Operation& kernel : kernels_.accumulates) memory.push_back(kernel.program());
  return memory;
}

int64_t TiledReduction::IndexOf(const Tile& tile) const {
  return tile.index[static_cast<size_t>(plan_.reduced)];
}

DeviceHandle TiledReduction::WorkspaceOf(const Tile& tile) const {
  int64_t result = 0;
  for (size_t d = static_cast<size_t>(plan_.reduced) + 1; d < plan_.dimensions.size(); ++d)
    result = result * plan_.dimensions[d].count + tile.index[d];
  return flex::Offset(workspace_.storage->handle(),
                      result * static_cast<int64_t>(workspace_.bytes));
}

void TiledReduction::Before(const Tile& tile, std::vector<TensorLocation>& arguments,
                            flex::OperationInfo& info) {
  const auto& sums = compute_.accumulation;
  if (plan_.reduced < 0) {
    if (sums) arguments.push_back(WholeResult(*sums, arguments.back().handle));
    return;
  }
  const bool first = IndexOf(tile) == 0;
  if (Is(ReductionTiling::kPlan)) {
    if (sums) arguments.push_back(WholeResult(*sums, arguments.back().handle));
    const size_t out = compute_.arguments.size() - 1;
    result_ = arguments[out];
    if (!first) {
      arguments[out] = {partial_->device_handle, CorrectionStrides(partial_->layout)};
    }
    return;
  }
  arguments.push_back(
      AccumulationLocation(WorkspaceOf(tile), !first, plan_.EndsResult(tile), spacing_));
  if (!Is(ReductionTiling::kLx)) return;
  // Nothing may come between the launches of one result: they enter the ring in one piece.
  if (first) batch_.emplace(context_);
  info.joined = !first;
}

void TiledReduction::After(SpyreStream& stream, const Tile& tile, const flex::OperationInfo& info) {
  if (Is(ReductionTiling::kPlan) && IndexOf(tile) > 0) {
    const TensorLocation partial{partial_->device_handle, CorrectionStrides(partial_->layout)};
    const int kernel = plan_.shapes.at(tile.cut).accumulate;
    flex::OperationInfo add = info;
    add.label += ": accumulate";
    stream.LaunchAt(kernels_.accumulates[static_cast<size_t>(kernel)],
                    {*result_, partial, *result_}, add);
  }
  if (Is(ReductionTiling::kLx) && plan_.EndsResult(tile)) {
    if (IndexOf(tile) > 0) CheckMark(stream, tile, info);
    batch_.reset();
  }
}

void TiledReduction::CheckMark(SpyreStream& stream, const Tile& tile, flex::OperationInfo info) {
  const uint64_t bytes = workspace_.bytes;
  auto marks = std::make_shared<std::vector<uint16_t>>(bytes / sizeof(uint16_t));
  info.label += ": mark of LX";
  info.joined = true;
  info.bulk = true;
  info.keep_alive = std::make_shared<std::pair<std::shared_ptr<const void>, decltype(marks)>>(
      info.keep_alive, marks);
  if (!context_.options().timing_only) {
    info.then = [marks, mark = compute_.accumulation->mark, name = compute_.name] {
      const auto lost = FindIf(*marks, [&](uint16_t value) { return value != mark; });
      if (lost == marks->end()) return;
      constexpr auto kPerCore = static_cast<ptrdiff_t>(kStickBytes / sizeof(uint16_t));
      throw DeviceFault(
          "kernel '{}': the sums that core {} kept in LX are lost: another function of the card "
          "has "
          "run a program between two launches. The result is wrong; use reduction '{}' where "
          "functions share the card",
          name, (lost - marks->begin()) / kPerCore, Name(ReductionTiling::kDevice));
    };
  }
  stream.flex_stream().CopyFromDevice(marks->data(), WorkspaceOf(tile), bytes, info);
}

}  // namespace spyre::runtime
