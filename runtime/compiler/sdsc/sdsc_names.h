// SPDX-License-Identifier: Apache-2.0
// Words of SDSC files: which OpFuncs belong to which family, the labels of dimensions and layouts
// (labels are places, not meanings), and constants. Pure functions, any thread. Source: public
// bundle emitter (docs/facts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/contract/formats.h"

namespace spyre::compiler {

bool IsMatmulFunc(std::string_view op);      // on the PT array, two operands
bool IsTopKFunc(std::string_view op);        // one operand, an output dimension of its own
bool IsConversionFunc(std::string_view op);  // between formats of different width
bool IsRestickifyFunc(std::string_view op);  // another dimension becomes that of the sticks

inline constexpr size_t kMaxDims = 7;
inline constexpr size_t kMaxLayouts = 4;

// Of dimension `index` among `count` <= kMaxDims: a matmul's are the last of ki kj y x mb out in;
// other operations have the first of mb x y i j ki, then out.
std::string_view DimLabel(bool matmul, size_t index, size_t count);
// The label of the stick dimension that an operation without one gets behind its `count` <
// kMaxDims.
std::string_view VirtualStickLabel(size_t count);
// The label of the row that a conversion of a bare vector gets.
std::string_view VirtualRowLabel();

// Of index tensors.
inline constexpr const char* kIndexLabel = "KERNEL_IDX";
std::string_view LayoutLabel(bool matmul, size_t index);  // index < kMaxLayouts

// What padding holds so that it changes no result: the identity of the reduction; what exp makes 0.
double MaskValue(std::string_view op);
inline constexpr std::string_view kMaskConstant = "samv-maskvalue";
// As IEEE_FP32 in that format, in every other as SEN169_FP16 (infinities: its NaN-or-infinity).
uint32_t ConstantBits(double value, DataFormat format);

}  // namespace spyre::compiler
