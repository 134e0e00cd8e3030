// SPDX-License-Identifier: Apache-2.0
// Whether tensors are what a kernel takes. Pure functions, any thread.
// Errors: Error(kBadInput) that names the kernel, the tensor, what it is and what would be right.
#pragma once

#include <string>
#include <vector>

#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// "tensor 0 ('a')", for messages.
std::string ArgumentName(const SpyreCompute& compute, size_t argument);

// Checks that `tensors` are what the compute expects, but for size: number, rank, format, stick
// dimension, strides that follow from the layout.
void CheckArguments(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors);
// CheckArguments, and every shape exactly the compiled one.
void CheckExactShapes(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors);
bool ShapesMatch(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors);

// The plan of the Operation is loaded, and its steps tell the program where each of `tensors`
// launch arguments is, and the values of `dimensions` dimensions.
void CheckBound(const Operation& operation, size_t tensors, size_t dimensions = 0);

}  // namespace spyre::runtime
