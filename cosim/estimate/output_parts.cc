// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/output_parts.h"

#include <algorithm>

#include "runtime/compiler/ops/op_list.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kUnit = 64;  // elements of a stick, which is never cut
constexpr int64_t kCorelets = 2;

// The dimensions of the output by name; those that the operation does not have are left out.
std::vector<std::string> OutputDims(const compiler::KernelSpec& spec) {
  const compiler::Operation& operation = compiler::RequireOperation(spec.op);
  std::vector<std::string> dims = {"batch"};
  if (operation.kind == compiler::OperationKind::kMatmul) {
    dims.insert(dims.end(), {"m", "n"});
  } else if (operation.kind == compiler::OperationKind::kReduction) {
    dims.emplace_back(spec.axis == "rows" ? "cols" : "rows");
  } else {
    dims.insert(dims.end(), {"rows", "cols"});
  }
  return dims;
}

std::vector<int64_t> PartEnds(const std::string& dim, int64_t size, int64_t launched,
                              const compiler::KernelPlan& plan) {
  const auto value = [&](const auto& map, int64_t otherwise) {
    const auto found = map.find(dim);
    return found == map.end() || found->second < 1 ? otherwise
                                                   : static_cast<int64_t>(found->second);
  };
  const int64_t unit = dim == "n" || dim == "cols" ? kUnit : 1;
  std::vector<int64_t> ends;  // each behind the one before
  for (int64_t begin = 0; begin < size; begin += launched) {
    const int64_t end = std::min(size, begin + launched);
    const int64_t units = (end - begin + unit - 1) / unit;
    const int64_t slices = std::min(value(plan.split, 1), units);
    int64_t slice_begin = begin;
    int64_t taken = 0;
    for (int64_t slice = 0; slice < slices; ++slice) {
      taken += units / slices + (slice < units % slices ? 1 : 0);
      const int64_t slice_end = std::min(end, begin + taken * unit);
      const int64_t tile = value(plan.tile, slice_end - slice_begin);
      for (int64_t at = slice_begin; at < slice_end; at += tile) {
        const int64_t tile_end = std::min(slice_end, at + tile);
        const int64_t half = at + (tile_end - at) / kCorelets;
        if (half > at) ends.push_back(half);
        ends.push_back(tile_end);
      }
      slice_begin = slice_end;
    }
  }
  return ends;
}

}  // namespace

std::vector<std::vector<int64_t>> OutputParts(const compiler::KernelSpec& spec,
                                              const std::map<std::string, int64_t>& sizes,
                                              const compiler::KernelPlan& plan) {
  std::vector<std::vector<int64_t>> parts;
  for (const std::string& dim : OutputDims(spec)) {
    const auto size = sizes.find(dim);
    if (size == sizes.end()) continue;
    const auto launched = spec.dims.find(dim);
    parts.push_back(PartEnds(dim, size->second,
                             launched == spec.dims.end() ? size->second : launched->second, plan));
  }
  return parts;
}

}  // namespace spyre::cosim
