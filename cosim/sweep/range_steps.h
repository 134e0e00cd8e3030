// SPDX-License-Identifier: Apache-2.0
// The values of an axis that a grid gives as { from, to, step | factor | count [, scale = "log"] }.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::cosim {

// step, factor and count are 0 where they are not given; exactly one is. from <= to; with a factor
// or a logarithmic scale from >= 1; factor >= 1.01; count >= 2.
struct RangeSteps {
  uint64_t from = 0, to = 0, step = 0, count = 0;
  double factor = 0;
  bool logarithmic = false;  // of count: even distances of the logarithm
};

// The whole numbers of the range in order, each once: steps that round to the same number are one.
// `to` is among them if a step meets it, and always with count. Throws Error(kBadInput) for more
// than a million.
std::vector<uint64_t> NumbersOf(const RangeSteps& steps);

}  // namespace spyre::cosim
