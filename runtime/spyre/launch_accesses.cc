// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/launch_accesses.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "model/contract/memory_map.h"

namespace spyre::runtime {
namespace {

struct Loop {
  int64_t count;
  int64_t stride;  // bytes
};

// The dimensions of a tile around its sticks, by stride, smallest first.
std::vector<Loop> LoopsOf(const StickLayout& layout, const TensorLocation& location) {
  std::vector<Loop> loops;
  auto contiguous = static_cast<int64_t>(kStickBytes);
  for (size_t i = layout.device_size.size() - 1; i-- > 0;) {
    const int64_t count = layout.device_size[i];
    const int dim = layout.host_dim[i];
    int64_t stride =
        dim < 0 ? 0 : static_cast<int64_t>(location.stride.at(static_cast<size_t>(dim)));
    if (stride == 0) stride = contiguous;  // a dimension that the location does not describe
    contiguous *= count;
    if (count > 1) loops.push_back({count, stride});
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.stride < b.stride; });
  return loops;
}

void AddRuns(const StickLayout& layout, const TensorLocation& location, bool write,
             std::vector<flex::Access>& accesses) {
  const std::vector<Loop> loops = LoopsOf(layout, location);
  int64_t runs = 1;  // if no further loop makes one run of its runs
  for (const Loop& loop : loops) runs *= loop.count;
  auto run = static_cast<int64_t>(kStickBytes);
  std::vector<int64_t> offsets{0};
  for (const Loop& loop : loops) {
    if (loop.stride <= run || runs > kAccessRuns) {
      runs /= loop.count;
      run = std::max(run, (loop.count - 1) * loop.stride + run);
      continue;
    }
    const size_t inner = offsets.size();
    for (int64_t i = 1; i < loop.count; ++i) {
      for (size_t k = 0; k < inner; ++k) offsets.push_back(offsets[k] + i * loop.stride);
    }
  }
  for (const int64_t offset : offsets) {
    accesses.push_back({flex::Offset(location.handle, offset), static_cast<uint64_t>(run), write});
  }
}

// What AccumulationLocation says of a launch.
struct Accumulating {
  explicit Accumulating(const TensorLocation& location)
      : part(location.stride[0] != 0 || location.stride[1] == 0), spacing(location.stride[2]) {}
  bool part;  // of a result: the accumulators come from another launch, or go to one
  uint64_t spacing;
};

// An argument of an accumulating kernel: what it has of the summed dimension lies in slices.
void AddSlices(const SpyreCompute& compute, size_t argument, const TensorLocation& location,
               uint64_t spacing, std::vector<flex::Access>& accesses) {
  const AccumulationInfo& sums = *compute.accumulation;
  StickLayout layout = compute.arguments[argument].layout;
  const bool write = compute.arguments[argument].is_output;
  const std::vector<std::string>& names = compute.dimension_names.at(argument);
  const auto summed = std::find(names.begin(), names.end(), sums.dim) - names.begin();
  if (summed == static_cast<std::ptrdiff_t>(names.size()) || sums.slices <= 1) {
    AddRuns(layout, location, write, accesses);
    return;
  }
  for (size_t i = 0; i + 1 < layout.device_size.size(); ++i) {
    if (layout.host_dim[i] == summed) {
      layout.device_size[i] = (layout.device_size[i] + sums.slices - 1) / sums.slices;
    }
  }
  const int64_t per_stride = layout.stick_dim() == summed ? ElementsPerStick(layout.format) : 1;
  const int64_t step = static_cast<int64_t>(spacing) * sums.unit / per_stride *
                       static_cast<int64_t>(location.stride.at(static_cast<size_t>(summed)));
  for (int64_t slice = 0; slice < sums.slices; ++slice) {
    AddRuns(layout, {flex::Offset(location.handle, slice * step), location.stride}, write,
            accesses);
  }
}

}  // namespace

std::vector<flex::Access> LaunchAccesses(const SpyreCompute& compute,
                                         const std::vector<TensorLocation>& arguments) {
  std::vector<flex::Access> accesses;
  const size_t given = compute.arguments.size() + (compute.accumulation ? 1 : 0);
  if (compute.arguments.empty() || arguments.size() != given) return accesses;
  for (const ArgumentInfo& argument : compute.arguments) {
    if (argument.layout.device_size.empty()) return accesses;
  }
  if (!compute.accumulation) {
    for (size_t a = 0; a < arguments.size(); ++a) {
      AddRuns(compute.arguments[a].layout, arguments[a], compute.arguments[a].is_output, accesses);
    }
    return accesses;
  }
  const Accumulating how(arguments.back());
  for (size_t a = 0; a < compute.arguments.size(); ++a) {
    AddSlices(compute, a, arguments[a], how.spacing, accesses);
  }
  if (how.part) {
    const uint64_t bytes = compute.accumulation->workspace_bytes;
    for (const bool write : {false, true}) {
      accesses.push_back({arguments.back().handle, bytes, write});
    }
  }
  return accesses;
}

uint64_t ArgumentBytes(const SpyreCompute& compute, size_t argument,
                       const TensorLocation& location) {
  if (argument >= compute.arguments.size() ||
      compute.arguments[argument].layout.device_size.empty() || compute.accumulation) {
    return kStickBytes;
  }
  uint64_t bytes = kStickBytes;
  for (const Loop& loop : LoopsOf(compute.arguments[argument].layout, location)) {
    bytes += static_cast<uint64_t>((loop.count - 1) * loop.stride);
  }
  return bytes;
}

}  // namespace spyre::runtime
