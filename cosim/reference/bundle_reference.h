// SPDX-License-Identifier: Apache-2.0
// The reference of a bundle: what its SuperDSCs must leave in memory, bit for bit, found by
// executing them element by element from the addresses that the files give, independent of code
// generation and of the card; and what they would leave without any rounding.
//
// Numbers are those of the documented rules (docs/architecture.md "Numbers"): SEN169_FP16 bit
// exact, one rounding for each result, the order of additions as in reference.h. What an OpFunc
// computes is in runtime/compiler/ops/op_funcs.h.
//
// Any thread; uses all processors. Errors: Error(kBadInput) naming the SDSC file: operations
// without a public definition, operands outside the argument or the LX.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cosim/reference/bundle_memory.h"
#include "cosim/reference/bundle_step.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim {

// Told of each step before its output is written, and after it.
using StepVisit = std::function<void(const BoundStep& step, bool done)>;

// Executes the whole bundle, whose segments are bound, on memory with an image for each of its
// arguments. dimensions: values of its kDimension arguments, in order.
void RunBundleReference(const compiler::Bundle& bundle, const std::vector<int64_t>& dimensions,
                        BundleMemory& memory, const StepVisit& visit = {});

}  // namespace spyre::cosim
