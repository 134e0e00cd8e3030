// SPDX-License-Identifier: Apache-2.0
// What the steps of an OpFunc give for one element: from its entry and the functions of
// instruction_values.h.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "runtime/compiler/ops/op_funcs.h"
#include "tests/unit/runtime/compiler/instruction_values.h"

namespace spyre::compiler::harness {

// The steps on one lane, in double, without rounding.
inline double StepsValue(const OpFunc& op, const std::vector<double>& inputs,
                         const std::map<std::string_view, double>& given = {}) {
  std::vector<double> results;
  const auto value = [&](OpFuncValue v) {
    if (v.kind == OpFuncValue::Kind::kInput) return inputs.at(v.index);
    if (v.kind == OpFuncValue::Kind::kStep) return results.at(v.index);
    const OpFuncConstant& constant = op.constants.at(v.index);
    const auto found = given.find(constant.name);
    return found != given.end() ? found->second : constant.fallback.value();
  };
  for (const OpFuncStep& step : op.steps) {
    if (step.op == Op::kVunary) {
      results.push_back(UnaryValue(static_cast<UnaryFn>(step.fn), value(step.a)));
    } else if (step.fn == FnByte(BinaryFn::kSelect)) {
      results.push_back(value(step.a) != 0 ? value(step.b) : value(step.otherwise));
    } else {
      results.push_back(BinaryValue(static_cast<BinaryFn>(step.fn),
                                    static_cast<float>(value(step.a)),
                                    static_cast<float>(value(step.b))));
    }
  }
  return results.empty() ? inputs.at(0) : results.back();
}

}  // namespace spyre::compiler::harness
