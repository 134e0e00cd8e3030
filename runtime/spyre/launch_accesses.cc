#include "runtime/spyre/launch_accesses.h"

#include <algorithm>

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

}  // namespace

std::vector<flex::Access> LaunchAccesses(const SpyreCompute& compute,
                                         const std::vector<TensorLocation>& arguments) {
  std::vector<flex::Access> accesses;
  if (compute.arguments.size() != arguments.size()) return accesses;
  for (const ArgumentInfo& argument : compute.arguments) {
    if (argument.layout.device_size.empty()) return accesses;
  }
  for (size_t a = 0; a < arguments.size(); ++a) {
    AddRuns(compute.arguments[a].layout, arguments[a], compute.arguments[a].is_output, accesses);
  }
  return accesses;
}

}  // namespace spyre::runtime
