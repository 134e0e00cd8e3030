// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

int64_t Mul(int64_t a, int64_t b, const OpIr& op, const TensorAccess& tensor) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw BadInput("operation '{}', tensor '{}': {} * {} does not fit 64 bits", op.name,
                   tensor.name, a, b);
  }
  return product;
}

void CheckTensor(const OpIr& op, const TensorAccess& tensor) {
  const StickLayout& layout = tensor.layout;
  if (layout.device_size.empty() || layout.stride_map.size() != layout.device_size.size()) {
    throw BadInput(
        "operation '{}', tensor '{}': {} device sizes and {} strides; there must be as "
        "many of each, at least one",
        op.name, tensor.name, layout.device_size.size(), layout.stride_map.size());
  }
  int64_t elements = 8;  // bytes of the widest host element
  for (int64_t size : layout.device_size) {
    if (size < 1) {
      throw BadInput("operation '{}', tensor '{}': device size {} must be at least 1", op.name,
                     tensor.name, size);
    }
    elements = Mul(elements, size, op, tensor);
  }
  const IndexExpression& index = tensor.index;
  if (index.coefficient.size() != op.loops.size()) {
    throw BadInput("operation '{}', tensor '{}': index has {} coefficients for {} loops", op.name,
                   tensor.name, index.coefficient.size(), op.loops.size());
  }
  int64_t reach = index.constant;
  for (size_t i = 0; i < op.loops.size(); ++i) {
    if (index.coefficient[i] < 0 || index.constant < 0) {
      throw BadInput(
          "operation '{}', tensor '{}': index has constant {} and coefficient {} of {}; "
          "a tensor cannot be walked backwards",
          op.name, tensor.name, index.constant, index.coefficient[i], op.loops[i].name);
    }
    const int64_t extent = Mul(index.coefficient[i], op.loops[i].range, op, tensor);
    if (__builtin_add_overflow(reach, extent, &reach)) {
      throw BadInput("operation '{}', tensor '{}': index does not fit 64 bits", op.name,
                     tensor.name);
    }
  }
}

}  // namespace

void CheckOp(const OpIr& op) {
  if (op.loops.size() > kMaxLoops) {
    throw BadInput("operation '{}' has {} loops; at most {} are possible", op.name, op.loops.size(),
                   kMaxLoops);
  }
  if (op.kind == OpIr::Kind::kReduction && op.inputs.empty()) {
    throw BadInput("operation '{}': a reduction reads at least one tensor", op.name);
  }
  for (const LoopVariable& loop : op.loops) {
    if (loop.range < 1) {
      throw BadInput("operation '{}': loop {} has range {}; it must be at least 1", op.name,
                     loop.name, loop.range);
    }
  }
  for (const TensorAccess& input : op.inputs) CheckTensor(op, input);
  CheckTensor(op, op.output);
}

}  // namespace spyre::compiler
