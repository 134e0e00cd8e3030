// SPDX-License-Identifier: Apache-2.0
// A list of operations worked out in float64 from its definitions: what the compiled program should
// give, whatever the compiler made of it. Knows nothing of decompositions, tiles, sticks or cores.
// Runs on all processors; results do not depend on their number. Errors: none for a graph that
// ReadNamedGraph gave.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

using DoubleTensor = std::vector<double>;  // C order, dimensions as NamedTensor::dims

// kEveryResult: each result, also those inside a softmax, a norm or an attention, is rounded once
// to SEN169_FP16 (those of float32 operations, and each step of their sums: to that), and a norm's
// variance is the difference of two means, as the card has it. Where a hint of the graph divides
// what an operation sums over, the sum of each tile is rounded, and so is each sum of tiles. Not
// the card's bits: a measure of what rounding costs.
enum class Rounding { kNone, kEveryResult };

// Told of each result by the position of its tensor; what it makes of the values is what others
// read.
using ResultHook = std::function<void(int tensor, DoubleTensor& values)>;

// inputs: by position in graph.tensors, one for each that is given by the caller and that an output
// depends on. Returns the graph's outputs by position.
std::map<int, DoubleTensor> EvaluateGraph(const compiler::NamedGraph& graph,
                                          std::map<int, DoubleTensor> inputs,
                                          Rounding rounding = Rounding::kNone,
                                          const ResultHook& hook = {});

}  // namespace spyre::cosim
