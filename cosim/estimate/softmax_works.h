// SPDX-License-Identifier: Apache-2.0
// A softmax that is an operation of its own, as the operations that its kernel runs one after the
// other (runtime/compiler/kernels/softmax_steps.h). So it takes what the same operations take as
// the steps of a list. Pure function, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/estimate/kernel_works.h"

namespace spyre::cosim {

// Rows and sticks of each row, and into how many parts cores divide the rows; a row is never
// divided. lx_bytes: that the kernel may use on a core.
struct SoftmaxSize {
  uint64_t rows = 1, row_sticks = 1, row_parts = 1;
  uint64_t lx_bytes = 0;
};

// Rows that stay in LX are loaded, worked on and stored; others pass through device memory, which
// five operations read and three write.
std::vector<StepWork> SoftmaxWorks(const SoftmaxSize& size);

}  // namespace spyre::cosim
