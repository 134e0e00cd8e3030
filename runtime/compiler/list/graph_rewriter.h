// SPDX-License-Identifier: Apache-2.0
// Builds a NamedGraph from another one operation by operation, and carries the hints over: what is
// appended for an operation is covered by the hints of that operation. Used by Decompose and
// PlanSticks. One graph, one thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {

class GraphRewriter {
 public:
  // Dimensions, tensors and outputs stay; operations are appended anew.
  explicit GraphRewriter(const NamedGraph& graph);

  // What follows is appended for this operation of the old graph; -1: for none, without hints.
  void Begin(int origin) { origin_ = origin; }
  void Append(NamedOp op);
  // The output is a new tensor; returns it.
  int AppendNew(NamedOp op, const std::string& output);
  int NewTensor(const std::string& name, std::vector<int> dims);
  int Constant(double value, DataFormat format = DataFormat::kIeeeFp16);

  const NamedGraph& graph() const { return graph_; }
  NamedTensor& tensor(int index) { return graph_.tensors[static_cast<size_t>(index)]; }
  NamedGraph Finish();

 private:
  NamedGraph graph_;
  std::vector<int> origins_;  // of each operation
  int origin_ = -1;
};

}  // namespace spyre::compiler
