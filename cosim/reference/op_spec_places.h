// SPDX-License-Identifier: Apache-2.0
// Where the elements of an OpSpec's tensors are, by its own words: the device coordinates, worked
// out for every value of every iteration symbol, and the loops around. Pure functions, any thread.
// Errors: Error(kBadInput) for coordinates that are not sums of terms of one symbol each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::cosim {

// The element with indices i0, i1, ... of the iteration space is at byte start + offset[0][i0] +
// offset[1][i1] + ... of its region.
struct OpSpecPlace {
  int64_t start = 0;
  std::vector<std::vector<int64_t>> offset;  // [symbol][index]
  bool Walks(size_t symbol) const;           // the element is not the same for all its indices
};

// iterations: of the loops around, outermost first.
OpSpecPlace PlaceOf(const compiler::OpSpec& op, const compiler::TensorArg& arg,
                    const std::vector<int64_t>& iterations);

// The same for the wide side of a conversion whose narrow side is `narrow`: elements of a narrow
// stick come in turns of `turn` from two wide ones.
OpSpecPlace WidePlaceOf(const compiler::OpSpec& op, const compiler::TensorArg& arg,
                        const compiler::TensorArg& narrow, int turn,
                        const std::vector<int64_t>& iterations);

// The offsets of all combinations of indices of `symbols`, the last one fastest.
std::vector<int64_t> Spread(const OpSpecPlace& place, const std::vector<size_t>& symbols);

}  // namespace spyre::cosim
