// SPDX-License-Identifier: Apache-2.0
// Operations as the passes see them, for tests.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

inline TensorAccess Tensor(const std::string& name, const std::vector<int64_t>& size,
                           const std::vector<int64_t>& coefficient,
                           DataFormat host_format = DataFormat::kIeeeFp16) {
  TensorAccess tensor;
  tensor.name = name;
  tensor.host_format = host_format;
  tensor.layout = DefaultLayout(size, DeviceFormatOf(host_format));
  tensor.index.coefficient = coefficient;
  return tensor;
}

inline OpIr Matmul(int64_t m, int64_t k, int64_t n) {
  OpIr op;
  op.name = "mm";
  op.kind = OpIr::Kind::kReduction;
  op.reduction_type = "batchmatmul";
  op.loops = {{"m", m}, {"n", n}, {"k", k}};
  op.inputs = {Tensor("a", {m, k}, {k, 0, 1}), Tensor("b", {k, n}, {0, 1, n})};
  op.output = Tensor("out", {m, n}, {n, 1, 0});
  return op;
}

}  // namespace spyre::compiler
