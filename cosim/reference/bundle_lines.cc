// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/bundle_lines.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/reference_functions.h"
#include "cosim/tensors/reference_numbers.h"
#include "model/contract/op_table.h"

namespace spyre::cosim {
namespace {

using compiler::OpFunc;
using compiler::OpFuncStep;
using compiler::OpFuncValue;

constexpr int kLineCodes = 1 << 16;

std::string_view NameOf(FnSet set, uint8_t fn, const OpFunc& op) {
  if (fn < FnNames(set).size()) return FnNames(set)[fn];
  throw BadInput("operation '{}' uses function {}, for which there is no reference", op.name, fn);
}

// Results of a unary function for every SEN169 code; made once for each function.
const std::vector<uint16_t>& SenResults(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string_view, std::vector<uint16_t>> tables;
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<uint16_t>& table = tables[name];
  if (table.empty()) {
    const UnaryFunction function = FindUnary(name);
    for (int code = 0; code < kLineCodes; ++code)
      table.push_back(NearestSen(function(SenValue(static_cast<uint16_t>(code)))));
  }
  return table;
}

void Copy(const Line& a, Line& result) {
  result.ideal = a.ideal;
  if (a.format == result.format) {
    result.bits = a.bits;
    return;
  }
  for (size_t i = 0; i < result.bits.size(); ++i)
    result.bits[i] = DeviceBits(result.format, DeviceValue(a.format, a.bits[i]));
}

void Unary(std::string_view name, const Line& a, Line& result) {
  if (name == "copy") return Copy(a, result);
  const UnaryFunction function = FindUnary(name);
  if (a.format == DataFormat::kSen169Fp16 && result.format == a.format) {
    const std::vector<uint16_t>& results = SenResults(name);
    for (size_t i = 0; i < result.bits.size(); ++i) result.bits[i] = results[a.bits[i]];
  } else {
    for (size_t i = 0; i < result.bits.size(); ++i) {
      const long double x = DeviceValue(a.format, a.bits[i]);
      result.bits[i] = DeviceBits(result.format, static_cast<double>(function(x)));
    }
  }
  if (result.ideal.empty()) return;
  const RealFunction<double> real = FindRealFunction<double>(name);
  for (size_t i = 0; i < result.ideal.size(); ++i) result.ideal[i] = real(a.ideal[i]);
}

void Binary(std::string_view name, const Line& a, const Line& b, Line& result) {
  const BinaryFunction function = FindBinary(name);
  if (function == nullptr) throw BadInput("there is no reference for the function '{}'", name);
  for (size_t i = 0; i < result.bits.size(); ++i) {
    const double x = DeviceValue(a.format, a.bits[i]);
    const double y = DeviceValue(b.format, b.bits[i]);
    // One fp32 operation, then one rounding to the format.
    result.bits[i] = DeviceBits(result.format, double{static_cast<float>(function(x, y))});
  }
  for (size_t i = 0; i < result.ideal.size(); ++i)
    result.ideal[i] = function(a.ideal[i], b.ideal[i]);
}

void Select(const Line& condition, const Line& then, const Line& otherwise, Line& result) {
  for (size_t i = 0; i < result.bits.size(); ++i) {
    const bool taken = DeviceValue(condition.format, condition.bits[i]) != 0;
    result.bits[i] = taken ? then.bits[i] : otherwise.bits[i];
  }
  for (size_t i = 0; i < result.ideal.size(); ++i)
    result.ideal[i] = condition.ideal[i] != 0 ? then.ideal[i] : otherwise.ideal[i];
}

}  // namespace

std::vector<double> ConstantsOf(const OpFunc& op, const compiler::SuperDsc& dsc,
                                const std::string& step) {
  std::vector<double> values;
  for (const compiler::OpFuncConstant& constant : op.constants) {
    const auto found = FindIf(
        dsc.constants, [&](const compiler::SdscConstant& c) { return c.name == constant.name; });
    if (found != dsc.constants.end()) {
      values.push_back(DeviceValue(found->format, found->bits));
    } else if (constant.fallback) {
      values.push_back(*constant.fallback);
    } else {
      throw BadInput("{}: the constant '{}' is missing", step, constant.name);
    }
  }
  return values;
}

LineSteps::LineSteps(const OpFunc& op, const std::vector<double>& constants, DataFormat result,
                     size_t length, bool with_ideal)
    : op_(op),
      steps_(op.steps.size(), Line(result, length, with_ideal)),
      copied_(result, length, with_ideal) {
  for (const double value : constants) {
    Line line(result, length, with_ideal);
    std::fill(line.bits.begin(), line.bits.end(), DeviceBits(result, value));
    std::fill(line.ideal.begin(), line.ideal.end(), value);
    constants_.push_back(std::move(line));
  }
}

const Line& LineSteps::ValueOf(const OpFuncValue& value, const std::vector<Line>& inputs) const {
  switch (value.kind) {
    case OpFuncValue::Kind::kInput:
      return inputs[static_cast<size_t>(value.index)];
    case OpFuncValue::Kind::kConstant:
      return constants_[static_cast<size_t>(value.index)];
    default:
      return steps_[static_cast<size_t>(value.index)];
  }
}

const Line& LineSteps::Run(const std::vector<Line>& inputs) {
  const auto absent = [&](const OpFuncValue& value) {
    return value.kind == OpFuncValue::Kind::kInput &&
           value.index >= static_cast<int>(inputs.size());
  };
  if (op_.steps.empty()) {
    Copy(inputs.front(), copied_);
    return copied_;
  }
  for (size_t i = 0; i < op_.steps.size(); ++i) {
    const OpFuncStep& step = op_.steps[i];
    const uint8_t fn = step.fn & kFnMask;
    Line& result = steps_[i];
    if (absent(step.a) || (step.op == Op::kVbinary && absent(step.b))) {
      // A factor or a summand that is not there changes nothing.
      Copy(ValueOf(absent(step.a) ? step.b : step.a, inputs), result);
    } else if (step.op == Op::kVunary) {
      Unary(NameOf(FnSet::kUnary, fn, op_), ValueOf(step.a, inputs), result);
    } else if (fn == static_cast<uint8_t>(BinaryFn::kSelect)) {
      Select(ValueOf(step.a, inputs), ValueOf(step.b, inputs), ValueOf(step.otherwise, inputs),
             result);
    } else {
      Binary(NameOf(FnSet::kBinary, fn, op_), ValueOf(step.a, inputs), ValueOf(step.b, inputs),
             result);
    }
  }
  return steps_.back();
}

}  // namespace spyre::cosim
