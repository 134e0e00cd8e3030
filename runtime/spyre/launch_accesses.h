// SPDX-License-Identifier: Apache-2.0
// Which device memory a launch reads and writes, for the hazard tracker. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/flex/hazard.h"
#include "runtime/spyre/correction.h"
#include "runtime/spyre/operation.h"

namespace spyre::runtime {

// A tile lies in its tensor as runs of bytes. Up to this many are told apart; of more, those that
// lie nearest to each other are taken as one, with what is between them.
inline constexpr int64_t kAccessRuns = 256;

// What one launch of `compute` reads and writes of its arguments: the bytes of a tensor of exactly
// the compiled shape at each location, with the strides given there, and the accumulators that go
// from launch to launch. Empty if the compute does not say what its arguments are.
std::vector<flex::Access> LaunchAccesses(const SpyreCompute& compute,
                                         const std::vector<TensorLocation>& arguments);

// From the first byte of argument `argument` to behind the last that a launch touches of it; one
// stick if the compute does not say, or the argument is none of its tensors. Of a kernel that sums
// slices, that of one slice.
uint64_t ArgumentBytes(const SpyreCompute& compute, size_t argument,
                       const TensorLocation& location);

}  // namespace spyre::runtime
