// SPDX-License-Identifier: Apache-2.0
// The correction input: where the arguments of one launch are, and the values of its dimensions, as
// the correction program reads it.
// Pure functions, any thread. The layout is CorrectionRecord of the contract.
#pragma once

#include <contract/registers.h>

#include <array>
#include <cstdint>
#include <vector>

#include "model/contract/stick_layout.h"
#include "runtime/spyre/operation.h"

namespace spyre::runtime {

inline constexpr int kCorrectionStrides = 6;  // host dimensions that a record describes

// Byte strides of a tensor's host dimensions, StickLayout::DeviceByteStride; 0 beyond its rank.
// BadInput for a rank above 6.
std::array<uint64_t, kCorrectionStrides> CorrectionStrides(const StickLayout& layout);

struct TensorLocation {
  DeviceHandle handle;
  std::array<uint64_t, kCorrectionStrides> stride{};
};

CorrectionRecord MakeCorrectionRecord(const TensorLocation& location);
CorrectionRecord MakeCorrectionRecord(int64_t dimension);  // its value

// The whole buffer of one launch. BadInput if a record names an argument or a dimension that was
// not given.
std::vector<uint8_t> AssembleCorrectionInput(const CorrectionMetadata& metadata,
                                             const std::vector<TensorLocation>& arguments,
                                             const std::vector<int64_t>& dimensions);

// BadInput unless there is one value for each dimension of the kernel, each a multiple of its
// granularity, from there to its max.
void CheckDimensions(const SpyreCompute& compute, const std::vector<int64_t>& values);

}  // namespace spyre::runtime
