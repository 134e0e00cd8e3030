// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/list_uses.h"

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::compiler {
namespace {

std::vector<int> Readers(const NamedGraph& graph) {
  std::vector<int> readers(graph.tensors.size(), 0);
  for (const NamedOp& op : graph.ops)
    for (const int input : op.inputs) ++readers[static_cast<size_t>(input)];
  return readers;
}

}  // namespace

std::vector<int> UnreadResults(const NamedGraph& graph) {
  const std::vector<int> readers = Readers(graph);
  std::vector<int> results;
  for (const NamedOp& op : graph.ops)
    if (readers[static_cast<size_t>(op.output)] == 0) results.push_back(op.output);
  return results;
}

int64_t IndexLimit(const NamedGraph& graph, int tensor) {
  std::vector<int64_t> limits(graph.tensors.size(), 0);
  const auto lower = [&](int of, int64_t limit) {
    int64_t& known = limits[static_cast<size_t>(of)];
    known = known == 0 ? limit : std::min(known, limit);
  };
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    if (FindNamedOperation(op->op)->Chooses())
      lower(op->inputs[1], graph.dims[static_cast<size_t>(op->reduced.front())].size);
    const int64_t behind = limits[static_cast<size_t>(op->output)];
    if (behind == 0) continue;  // else what the host makes of integers chooses
    for (const int input : op->inputs)
      if (graph.tensors[static_cast<size_t>(input)].format == DataFormat::kIeeeInt32)
        lower(input, behind);
  }
  return limits[static_cast<size_t>(tensor)];
}

void CheckUses(const NamedGraph& graph, const std::set<std::string>& symbols) {
  for (size_t i = 0; i < graph.dims.size(); ++i) {
    const auto has = [&](const NamedTensor& tensor) {
      return std::count(tensor.dims.begin(), tensor.dims.end(), static_cast<int>(i)) != 0;
    };
    // A number in a cat has as many elements as a dimension that no tensor need have.
    const bool is_joined = AnyFits(graph.ops, [&](const NamedOp& op) {
      return std::count(op.reduced.begin(), op.reduced.end(), static_cast<int>(i)) != 0;
    });
    const bool is_used = is_joined || symbols.count(graph.dims[i].name) != 0;
    if (!is_used && NoneFits(graph.tensors, has))
      throw BadInput("dims.{}: no tensor has this dimension", graph.dims[i].name);
  }
  const std::vector<int> readers = Readers(graph);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const NamedTensor& tensor = graph.tensors[i];
    // A result that is never read is dead code, which deadcode_elimination removes.
    if (readers[i] == 0 && tensor.origin != NamedTensor::Origin::kComputed)
      throw BadInput("tensor '{}' is read by no operation", tensor.name);
  }
}

}  // namespace spyre::compiler
