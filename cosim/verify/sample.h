// SPDX-License-Identifier: Apache-2.0
// Which elements are compared where not all are. Chosen by a seed, spread over the whole. Pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

// `count` different elements of [0, total), in increasing order; all of them if there are no more.
std::vector<int64_t> Sample(int64_t total, int64_t count, uint64_t seed);

// One element of every box of parts, and of every column of sticks. part_ends: for each dimension,
// in C order, where its parts end. In increasing order.
std::vector<int64_t> SampleOfParts(const std::vector<std::vector<int64_t>>& part_ends,
                                   uint64_t seed);

// A list of operations over some indices of the dimensions along which each index is computed by
// itself: those that no operation sums over, normalises along or contracts. Its results are the
// elements that the whole list gives there, and cost as many times less.
class GraphSample {
 public:
  GraphSample(const compiler::NamedGraph& whole, uint64_t seed);

  const compiler::NamedGraph& graph() const { return graph_; }
  // Where each element of tensors[tensor] of graph() is in the whole tensor, in C order.
  std::vector<int64_t> ElementsOf(int tensor) const;

 private:
  const compiler::NamedGraph& whole_;
  compiler::NamedGraph graph_;
  std::vector<std::vector<int64_t>> indices_;  // by dimension
};

}  // namespace spyre::cosim
