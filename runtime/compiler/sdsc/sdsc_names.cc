// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/sdsc/sdsc_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::compiler {
namespace {

using Labels = std::array<std::string_view, kMaxDims>;
using Layouts = std::array<std::string_view, kMaxLayouts>;

constexpr Labels kDims = {"mb", "x", "y", "i", "j", "ki", "kj"};
constexpr Labels kMatmulDims = {"ki", "kj", "y", "x", "mb", "out", "in"};
constexpr Layouts kLayouts = {"OUTPUT", "KERNEL", "INPUT", "KERNEL_IDX"};
constexpr Layouts kMatmulLayouts = {"INPUT", "KERNEL", "OUTPUT", "KERNEL_IDX"};

bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

}  // namespace

const std::vector<std::string>& BundleDialectNames() {
  static const std::vector<std::string> names = {"constants", "baked", "arguments"};
  return names;
}

bool IsMatmulFunc(std::string_view op) {
  return IsOneOf(op, {"matmul", "batchmatmul", "batchmatmulfp8"});
}
bool IsTopKFunc(std::string_view op) { return IsOneOf(op, {"topkvalue", "topkindex"}); }
bool IsConversionFunc(std::string_view op) {
  return IsOneOf(op, {"dl16tofp32", "fp32todl16", "fp8todl16", "fp32toint32", "int32tofp32"});
}
bool IsRestickifyFunc(std::string_view op) { return op == "ReStickifyOpHBM"; }

std::string_view DimLabel(bool matmul, size_t index, size_t count) {
  if (matmul) return kMatmulDims.at(kMaxDims - count + index);
  return index + 1 == count ? "out" : kDims.at(index);
}
std::string_view VirtualStickLabel(size_t count) { return kDims.at(count); }
std::string_view VirtualRowLabel() { return kDims.front(); }

std::string_view LayoutLabel(bool matmul, size_t index) {
  return (matmul ? kMatmulLayouts : kLayouts).at(index);
}

double MaskValue(std::string_view op) {
  if (op == "exp") return -std::numeric_limits<double>::infinity();
  const OpFunc* func = FindOpFunc(op);
  const bool reduces = func != nullptr && func->op_class == OpFuncClass::kStickReduction;
  return reduces ? IdentityOf(func->reduction.first) : 0;
}

uint32_t ConstantBits(double value, DataFormat format) {
  if (format != DataFormat::kIeeeFp32) return DlfFromDouble(value);
  const auto single = static_cast<float>(value);
  uint32_t bits = 0;
  static_assert(sizeof bits == sizeof single);
  std::memcpy(&bits, &single, sizeof bits);
  return bits;
}

}  // namespace spyre::compiler
