// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/lx/core_view.h"

#include <algorithm>
#include <map>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

// Cores from one slice of each loop to the next.
std::vector<int> CoreDivisors(const OpIr& op, const std::vector<int>& splits, bool k_fastest) {
  std::vector<size_t> order;
  for (size_t i = 0; i < op.loops.size(); ++i) {
    if (op.loops[i].range > 1) order.push_back(i);
  }
  if (k_fastest && !order.empty()) std::rotate(order.begin(), order.end() - 1, order.end());
  std::vector<int> divisors(op.loops.size(), 1);
  int divisor = 1;
  for (size_t i : order) {
    divisors[i] = divisor;
    divisor *= splits[i];
  }
  return divisors;
}

// The device dimension that walks each host stride; of several one that is longer than 1.
std::map<int64_t, int> DimsByStride(const StickLayout& layout) {
  std::map<int64_t, int> dims;
  for (size_t d = 0; d < layout.stride_map.size(); ++d) {
    const int64_t stride = layout.stride_map[d];
    if (stride <= 0) continue;
    const auto [it, is_new] = dims.emplace(stride, static_cast<int>(d));
    if (!is_new && layout.device_size[d] != 1) it->second = static_cast<int>(d);
  }
  return dims;
}

}  // namespace

bool operator==(const CoreViewDim& a, const CoreViewDim& b) {
  return a.device_dim == b.device_dim && a.slices == b.slices && a.core_divisor == b.core_divisor;
}

bool CutsWhole(const OpIr& op, const TensorAccess& access, const std::vector<int>& splits) {
  const StickLayout& layout = access.layout;
  for (size_t i = 0; i < op.loops.size(); ++i) {
    const int64_t stride = access.index.coefficient[i];
    if (splits[i] <= 1 || stride == 0) continue;
    for (size_t d = 0; d < layout.host_size.size(); ++d) {
      const bool walks = layout.host_stride[d] == stride && layout.host_size[d] != 1;
      if (walks && layout.host_size[d] != op.loops[i].range) return false;
    }
  }
  return true;
}

std::optional<CoreView> ViewOfAccess(const OpIr& op, const TensorAccess& access,
                                     const std::vector<int>& splits, bool k_fastest) {
  std::map<int64_t, size_t> loop_by_stride;  // of the loops that cut this buffer
  for (size_t i = 0; i < op.loops.size(); ++i) {
    const int64_t stride = access.index.coefficient[i];
    if (splits[i] > 1 && stride != 0) loop_by_stride[stride] = i;
  }
  const StickLayout& layout = access.layout;
  const std::map<int64_t, int> dims = DimsByStride(layout);
  const std::vector<int> divisors = CoreDivisors(op, splits, k_fastest);
  const int64_t inside_stick = layout.stride_map.back();
  CoreView view;
  for (const auto& [stride, loop] : loop_by_stride) {
    // A stick stays whole: a cut of the dimension inside it is one of its stick count.
    const bool cuts_sticks = inside_stick > 0 && stride == inside_stick;
    const auto dim = dims.find(cuts_sticks ? stride * layout.device_size.back() : stride);
    if (dim == dims.end()) return std::nullopt;
    const auto same = [&](const CoreViewDim& other) { return other.device_dim == dim->second; };
    if (AnyFits(view, same)) return std::nullopt;
    if (layout.device_size[static_cast<size_t>(dim->second)] % splits[loop] != 0) {
      return std::nullopt;
    }
    view.push_back({dim->second, splits[loop], divisors[loop]});
  }
  StableSort(
      view, [](const CoreViewDim& a, const CoreViewDim& b) { return a.device_dim < b.device_dim; });
  return view;
}

}  // namespace spyre::compiler
