// SPDX-License-Identifier: Apache-2.0
// A list of operations in float64 where data decide: a comparison of two numbers that lie closer
// together than roundings explain may come out either way on the card, and what follows from it is
// far from float64 and right. So the list is evaluated on both sides of each such decision: with
// all of them the other way, and with some, as an element that depends on several of them, through
// a sum or a norm, may lie beyond both. Pure functions, any thread.
#pragma once

#include <map>

#include "cosim/reference/graph_reference.h"
#include "cosim/verify/rounding_limits.h"

namespace spyre::cosim {

// Outputs of a list, by their positions among its tensors.
struct GraphSides {
  std::map<int, DoubleTensor> ideal;
  std::map<int, DoubleTensor> rounded;   // each result rounded once, decisions as in `ideal`
  std::map<int, OtherDecisions> others;  // empty: no decision is close
};

// inputs: as EvaluateGraph takes them. derive: false leaves `rounded` empty, and takes no decision
// for close.
GraphSides EvaluateSides(const compiler::NamedGraph& graph,
                         const std::map<int, DoubleTensor>& inputs, bool derive);

}  // namespace spyre::cosim
