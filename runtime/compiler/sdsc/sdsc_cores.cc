// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/sdsc/sdsc_cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/sdsc/sdsc_names.h"

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

int64_t LxViewOffset(const std::vector<int64_t>& device_size,
                     const std::map<size_t, int64_t>& begins, const std::map<size_t, int>& walkers,
                     const std::vector<SdscDim>& dims) {
  int64_t inner = device_size.back();
  int64_t elements = 0;
  for (size_t position = 0; position + 2 <= device_size.size(); ++position) {
    const auto at = begins.find(position);
    if (at != begins.end()) elements += at->second * inner;
    const auto walker = walkers.find(position);
    const int slices =
        walker == walkers.end() ? 1 : dims[static_cast<size_t>(walker->second)].slices;
    inner *= device_size[device_size.size() - 2 - position] / slices;
  }
  return elements;
}

void NameOperation(const OpSpec& op, int number, SuperDsc& dsc) {
  const bool matmul = IsMatmulFunc(op.op);
  const std::vector<int>& scale = dsc.tensors.back().scale;
  const bool in_stick = std::find(scale.begin(), scale.end(), -2) != scale.end();
  dsc.op = op.op;
  if (op.is_reduction && !matmul && !IsTopKFunc(op.op) && !in_stick) dsc.op += "nonstick";
  dsc.name = fmt::format("{}_{}", number, dsc.op);
  dsc.unit = matmul ? "pt" : "sfp";
  const size_t inputs = IsTopKFunc(op.op) ? 1 : dsc.tensors.size() - 1;
  for (size_t i = 0; i < inputs; ++i) {
    if (op.args[i].related_value_tensor_idx >= 0) {
      dsc.index = static_cast<int>(i);
    } else {
      dsc.inputs.push_back(static_cast<int>(i));
    }
  }
  dsc.format = dsc.tensors[static_cast<size_t>(dsc.inputs.front())].format;
  dsc.outputs = {static_cast<int>(dsc.tensors.size()) - 1};
}

}  // namespace spyre::compiler
