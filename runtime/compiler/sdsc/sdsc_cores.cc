// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/sdsc/sdsc_cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

std::vector<int> GivenSlices(const OpSpec& op, const std::vector<SdscDim>& dims, int core) {
  if (op.core_slices.size() != op.iteration_space.size()) {
    throw CompileError("Unsupported", "core_slices",
                       fmt::format("operation '{}': the front end gives cores slices of {} "
                                   "dimensions, the aligned operation has {}",
                                   op.op, op.core_slices.size(), op.iteration_space.size()))
        .Subject(op.op);
  }
  std::vector<int> slices(dims.size(), 0);
  for (size_t d = 0; d < op.core_slices.size(); ++d) {
    const int64_t slice = Evaluate(op.core_slices[d], {{"core_id", core}});
    if (slice < 0 || slice >= dims[d].slices) {
      throw BadInput("operation '{}': core {} has slice {} of the {} of dimension '{}'", op.op,
                     core, slice, dims[d].slices, dims[d].name);
    }
    slices[d] = static_cast<int>(slice);
  }
  return slices;
}

}  // namespace

std::vector<std::vector<int>> SlicesOfCores(const OpSpec& op, const std::vector<SdscDim>& dims,
                                            bool last_first) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (last_first && !order.empty()) std::rotate(order.begin(), order.end() - 1, order.end());
  int cores = 1;
  for (const SdscDim& dim : dims) cores *= dim.slices;
  std::vector<std::vector<int>> slices;
  for (int core = 0; core < cores; ++core) {
    if (!op.core_slices.empty()) {
      slices.push_back(GivenSlices(op, dims, core));
      continue;
    }
    std::vector<int>& slice = slices.emplace_back(dims.size(), 0);
    int rest = core;
    for (size_t dim : order) {
      slice[dim] = rest % dims[dim].slices;
      rest /= dims[dim].slices;
    }
  }
  return slices;
}

}  // namespace spyre::compiler
