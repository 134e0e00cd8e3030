// SPDX-License-Identifier: Apache-2.0
// Which part of a buffer each core holds, as one operation sees it: the device dimensions that its
// work division cuts, and how core numbers count through the slices. Two operations agree on a
// buffer if their views are equal. Pure functions, any thread.
// Source: public scratchpad planner (docs/facts.md).
#pragma once

#include <optional>
#include <vector>

#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

// Core c holds slice (c / core_divisor) mod slices of the device dimension.
struct CoreViewDim {
  int device_dim = 0;
  int slices = 1;
  int core_divisor = 1;
};
bool operator==(const CoreViewDim& a, const CoreViewDim& b);

using CoreView = std::vector<CoreViewDim>;  // of the dimensions that are cut, ascending

// Whether the loops that cut the buffer walk all of its dimensions: equal slices of a part are not
// equal slices of the whole.
bool CutsWhole(const OpIr& op, const TensorAccess& access, const std::vector<int>& splits);

// splits: of each loop of `op`; k_fastest: the last loop of range above 1 counts fastest. Nothing:
// a split that no device dimension of the access can carry.
std::optional<CoreView> ViewOfAccess(const OpIr& op, const TensorAccess& access,
                                     const std::vector<int>& splits, bool k_fastest);

}  // namespace spyre::compiler
