// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/graph_rewriter.h"

#include <fmt/format.h>

#include <algorithm>

namespace spyre::compiler {

GraphRewriter::GraphRewriter(const NamedGraph& graph) : graph_(graph) { graph_.ops.clear(); }

void GraphRewriter::Append(NamedOp op) {
  graph_.ops.push_back(std::move(op));
  origins_.push_back(origin_);
}

int GraphRewriter::AppendNew(NamedOp op, const std::string& output) {
  op.output = NewTensor(output, OutputDims(graph_, op));
  tensor(op.output).format = OutputFormat(graph_, op);
  Append(op);
  return op.output;
}

int GraphRewriter::NewTensor(const std::string& name, std::vector<int> dims) {
  NamedTensor tensor;
  tensor.origin = NamedTensor::Origin::kComputed;
  tensor.name = name;
  tensor.dims = std::move(dims);
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<int>(graph_.tensors.size()) - 1;
}

int GraphRewriter::Constant(double value, DataFormat format) {
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    const NamedTensor& tensor = graph_.tensors[i];
    if (tensor.origin == NamedTensor::Origin::kConstant && tensor.value == value &&
        tensor.format == format)
      return static_cast<int>(i);
  }
  NamedTensor tensor;
  tensor.origin = NamedTensor::Origin::kConstant;
  tensor.name = fmt::format("{}", value);
  if (format != DataFormat::kIeeeFp16) tensor.name += fmt::format(":{}", HostTypeName(format));
  tensor.value = value;
  tensor.format = format;
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<int>(graph_.tensors.size()) - 1;
}

NamedGraph GraphRewriter::Finish() {
  for (NamedHint& hint : graph_.hints) {
    const std::vector<int> old = std::move(hint.ops);
    hint.ops.clear();
    for (size_t i = 0; i < origins_.size(); ++i) {
      if (std::find(old.begin(), old.end(), origins_[i]) != old.end())
        hint.ops.push_back(static_cast<int>(i));
    }
  }
  return std::move(graph_);
}

}  // namespace spyre::compiler
