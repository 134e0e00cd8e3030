// SPDX-License-Identifier: Apache-2.0
// The steps of a bundle's program as the report names them: one for each place where a SuperDSC is
// executed, numbered as the program marks them. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim {

struct StepLoop {
  int number = 0;     // of the loop in the bundle, in order of appearance
  int64_t count = 1;  // its trips
};

struct BundleStep {
  std::string file;  // "sdsc_0.json"
  std::string op;
  std::string shape;            // "64x512x256": its dimensions in the order of the SuperDSC
  std::vector<StepLoop> loops;  // around it, outermost first
};

// dimensions: values of the bundle's kDimension arguments, in order.
std::vector<BundleStep> StepsOf(const compiler::Bundle& bundle,
                                const std::vector<int64_t>& dimensions);

// Iterations of the step's loops, outermost first, of their common number.
std::vector<int64_t> IterationsOf(const BundleStep& step, uint64_t iteration);
// "sdsc_0.json [i0=1, i1=3]"
std::string StepName(const BundleStep& step, uint64_t iteration);

}  // namespace spyre::cosim
