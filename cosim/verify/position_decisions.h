// SPDX-License-Identifier: Apache-2.0
// Operations of a list that decide a position or a whole number by numbers that were rounded: where
// the largest stands, an order, what is before the point. Of numbers that lie closer together than
// roundings explain the card may take another one, and all that follows from it is then far from
// float64 and right. Pure functions, any thread.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "cosim/reference/graph_reference.h"

namespace spyre::cosim {

class PositionDecisions {
 public:
  explicit PositionDecisions(const compiler::NamedGraph& graph);

  // What they decide by: positions of tensors that operations of the list have computed.
  const std::set<int>& operands() const { return operands_; }
  // Outputs of the list that follow from a decision that may come out otherwise. ideal, rounded: of
  // operands() at least.
  std::set<int> Undecided(const std::map<int, DoubleTensor>& ideal,
                          const std::map<int, DoubleTensor>& rounded) const;

 private:
  bool IsClose(const compiler::NamedOp& op, const DoubleTensor& ideal,
               const DoubleTensor& rounded) const;

  const compiler::NamedGraph& graph_;
  std::vector<const compiler::NamedOp*> ops_;
  std::set<int> operands_;
};

}  // namespace spyre::cosim
