// A list of operations worked out in float64 from its definitions: what the compiled program should
// give, whatever the compiler made of it. Knows nothing of decompositions, tiles, sticks or cores.
// Runs on all processors; results do not depend on their number. Errors: none for a graph that
// ReadNamedGraph gave.
#pragma once

#include <map>
#include <vector>

#include "runtime/compiler/named_graph.h"

namespace spyre::cosim {

using DoubleTensor = std::vector<double>;  // C order, dimensions as NamedTensor::dims

// inputs: by position in graph.tensors, one for each that is given by the caller. Returns the
// graph's outputs by position.
std::map<int, DoubleTensor> EvaluateGraph(const compiler::NamedGraph& graph,
                                          std::map<int, DoubleTensor> inputs);

}  // namespace spyre::cosim
