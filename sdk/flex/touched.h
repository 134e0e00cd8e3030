// SPDX-License-Identifier: Apache-2.0
// Which bytes of one side of a conversion its boxes touch. Pure functions, any thread. Errors:
// Error(kBadInput) for what lies outside [0, limit).
#pragma once

#include <cstdint>
#include <vector>

#include "model/contract/stick_layout.h"

namespace spyre::sdk {

// Dimensions of one side of a box, in elements, from the smallest stride on, neighbours that
// continue each other joined; the first one has stride 1 if any has. Empty: the box is empty.
struct SideDimension {
  int64_t size, stride;
};
std::vector<SideDimension> DimensionsOf(const StridedBox& box, bool source);

struct ByteRange {
  uint64_t begin = 0, end = 0;
  uint64_t bytes() const { return end - begin; }
};

// Whole sticks, in order, neighbours joined. `source`: of the source side, else the destination's.
// full: every byte of them is touched, as far as is known.
struct Touched {
  std::vector<ByteRange> ranges;
  bool full = false;
};
Touched TouchedSticks(const DataConversion& conversion, bool source, uint64_t limit);

// From the first byte that the boxes touch to the last one, if they touch half of them at least;
// else empty.
ByteRange DenseSpan(const DataConversion& conversion, bool source);

}  // namespace spyre::sdk
