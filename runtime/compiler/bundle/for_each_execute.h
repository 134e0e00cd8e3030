// SPDX-License-Identifier: Apache-2.0
// Walks over the executes of a bundle: each once as it is written, or each as often as it runs.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// Each execute once, in the order in which it is written. `loops`: those around it, outermost
// first.
void ForEachExecute(const Bundle& bundle,
                    const std::function<void(const BundleExecute&,
                                             const std::vector<const BundleLoop*>& loops)>& visit);
void ForEachExecute(Bundle& bundle, const std::function<void(BundleExecute&)>& visit);

// Each execute as often as it runs, in order. `trips` is asked each time that a loop is entered;
// `iterations`: of the loops around the execute, outermost first.
void ForEachRun(
    const Bundle& bundle, const std::function<int64_t(const BundleLoop&)>& trips,
    const std::function<void(const BundleExecute&, const std::vector<int64_t>& iterations)>& visit);

// Trips of a loop in a launch with these values of the bundle's dimensions, in order of its
// arguments. Throws BadInput, naming the dimension, if a value is missing.
class TripCounts {
 public:
  TripCounts(const Bundle& bundle, const std::vector<int64_t>& dimensions);
  int64_t operator()(const BundleLoop& loop) const {
    return loop.count_argument < 0 ? loop.count : values_[static_cast<size_t>(loop.count_argument)];
  }

 private:
  std::vector<int64_t> values_;  // by argument; 0 of tensors
};

}  // namespace spyre::compiler
