// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/step_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "model/contract/formats.h"
#include "runtime/compiler/codegen/indirect_step.h"
#include "runtime/compiler/codegen/scatter_elements.h"
#include "runtime/compiler/codegen/shuffle_step.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::compiler {
namespace {

double ConstantFromBits(DataFormat format, uint32_t bits) {
  if (format == DataFormat::kIeeeFp32) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  float value = 0;
  ConvertElements(format, &bits, DataFormat::kIeeeFp32, &value, 1);
  return value;
}

int64_t FloatBits(double value) {
  const auto number = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

const OpFunc& OpOf(const SuperDsc& dsc, const Problem& problem) {
  try {
    return RequireOpFunc(dsc.op);
  } catch (const CompileError& error) {
    throw CompileError(error.type(), error.message_kind(),
                       fmt::format("{}: {}", problem.name, error.what()));
  }
}

class StepOp {
 public:
  StepOp(const SuperDsc& dsc, Problem& problem, StepCode& code)
      : dsc_(dsc), p_(problem), code_(code), op_(OpOf(dsc, problem)) {}

  uint64_t Build() {
    if (dsc_.index >= 0) return Indirect();
    const int inputs = static_cast<int>(p_.operands.size()) - 1;
    if (inputs < op_.min_inputs || inputs > op_.inputs) {
      throw BadInput("{}: {} inputs; it takes {}", p_.name, inputs, op_.inputs);
    }
    for (size_t i = 0; i < op_.constants.size(); ++i) constants_.push_back(ConstantOf(i));
    CheckTurns();
    switch (op_.op_class) {
      case OpFuncClass::kMatmul:
        return Matmul();
      case OpFuncClass::kPointwise:
      case OpFuncClass::kNormScale:
        CheckFormats(ComputeFormat());
        return BuildPointwise(p_, Pointwise(inputs), code_);
      case OpFuncClass::kStickReduction:
      case OpFuncClass::kNonstickReduction:
        CheckFormats(ComputeFormat());
        return BuildReduction(p_, Reduction(), code_);
      case OpFuncClass::kTopK:
        CheckFormats(ComputeFormat());
        return BuildTopK(p_, {op_.gives_index, ComputeFormat() == DataFormat::kIeeeFp32}, code_);
      case OpFuncClass::kRestickify:
        return BuildTranspose(p_, code_);
      case OpFuncClass::kConversion:
        return BuildConversion(p_, Conversion(), code_);
      case OpFuncClass::kShuffle:
        return BuildShuffle(dsc_, p_, code_);
      case OpFuncClass::kRefused:
        break;
    }
    throw InternalError("an OpFunc that is refused was asked for");
  }

 private:
  DataFormat ComputeFormat() const {
    const DataFormat format = dsc_.tensors[dsc_.outputs.front()].format;
    const bool known =
        format == DataFormat::kSen169Fp16 || (op_.fp32 && format == DataFormat::kIeeeFp32);
    if (known) return format;
    throw BadInput("{}: computes on {}{}, not on {}", p_.name, FormatName(DataFormat::kSen169Fp16),
                   op_.fp32 ? " and IEEE_FP32" : "", FormatName(format));
  }

  void CheckFormats(DataFormat format) const {
    for (const SdscTensor& tensor : dsc_.tensors) CheckFormat(tensor, format, "all of its tensors");
  }
  void CheckFormat(const SdscTensor& tensor, DataFormat format, std::string_view which) const {
    if (tensor.format == format) return;
    throw BadInput("{}: {} is {}; {} must be {}", p_.name, tensor.name, FormatName(tensor.format),
                   which, FormatName(format));
  }

  // Sticks of two dimensions are what a conversion makes of two sticks, element by element in turn,
  // and what a product takes as its second operand.
  void CheckTurns() const {
    const bool makes = op_.op_class == OpFuncClass::kConversion &&
                       ElementsInTurn(op_.conversion) == 1 && op_.inputs == 1;
    const bool takes = op_.op_class == OpFuncClass::kMatmul && op_.matmul == MatmulFn::kSen143Fp8Wt;
    for (size_t i = 0; i < p_.operands.size(); ++i) {
      const Operand& operand = p_.operands[i];
      if (operand.turns_axis < 0 || (operand.turns == 2 && i == 1 && (makes || takes))) continue;
      throw BadInput(
          "{}: the sticks of {} hold two dimensions, {} elements of one; 'qfp8wt' makes such "
          "sticks, with 2 elements, and 'batchmatmulfp8' takes them as its second operand",
          p_.name, operand.name, operand.turns);
    }
  }

  double ConstantOf(size_t index) const {
    const OpFuncConstant& constant = op_.constants[index];
    for (const SdscConstant& given : dsc_.constants) {
      if (given.name == constant.name) return ConstantFromBits(given.format, given.bits);
    }
    if (constant.fallback) return *constant.fallback;
    throw BadInput("{}: constant '{}' is missing", p_.name, constant.name);
  }

  // What an index chooses is moved, not computed with.
  uint64_t Indirect() {
    if (dsc_.op != "identity" || dsc_.inputs.size() != 1) {
      throw BadInput("{}: takes operands by an index; only 'identity' of one input does", p_.name);
    }
    return ScattersElements(dsc_) ? BuildElementScatter(dsc_, p_, code_)
                                  : BuildIndirect(dsc_, p_, code_);
  }

  uint64_t Matmul() {
    // The array takes columns of the result from the second operand.
    const int columns = p_.operands[2].stick_axis;
    if (p_.operands[1].stick_axis < 0 && p_.operands[0].stick_axis == columns)
      std::swap(p_.operands[0], p_.operands[1]);
    if (p_.reduced_axis() < 0 || p_.operands[1].stick_axis < 0) {
      throw BadInput(
          "{}: its operands have no dimension that is reduced, or none in the sticks of "
          "either",
          p_.name);
    }
    if (op_.matmul == MatmulFn::kSen169Fp16) {
      CheckFormats(DataFormat::kSen169Fp16);
    } else {
      CheckWeights();
    }
    return BuildMatmul(p_, code_, op_.matmul).lx_end;
  }

  void CheckWeights() const {
    const DataFormat format = OperandFormat(op_.matmul);
    for (const int input : dsc_.inputs) CheckFormat(dsc_.tensors[input], format, "its inputs");
    CheckFormat(dsc_.tensors[dsc_.outputs.front()], DataFormat::kSen169Fp16, "its result");
    const int k = p_.operands[0].stick_axis;
    if (k >= 0 && p_.axes[k].reduced && p_.operands[1].turns_axis == k) return;
    throw BadInput(
        "{}: the dimension that is summed over must be in the sticks of the first operand, and its "
        "pairs in those of the second, as 'qfp8ch' and 'qfp8wt' make them",
        p_.name);
  }

  PointwiseBody Pointwise(int inputs) const {
    PointwiseBody body;
    body.fp32 = ComputeFormat() == DataFormat::kIeeeFp32;
    body.constants = Constants(body.fp32);
    const int out = inputs;
    std::vector<int> value_of_step;
    const auto value = [&](const OpFuncValue& v) {
      switch (v.kind) {
        case OpFuncValue::Kind::kInput:
          return v.index;
        case OpFuncValue::Kind::kConstant:
          return -1 - v.index;
        case OpFuncValue::Kind::kStep:
          break;
      }
      return value_of_step[v.index];
    };
    const auto absent = [&](const OpFuncValue& v) {
      return v.kind == OpFuncValue::Kind::kInput && v.index >= inputs;
    };
    for (const OpFuncStep& step : op_.steps) {
      if (step.op == Op::kVbinary && absent(step.b)) {  // an optional operand: the step is left out
        value_of_step.push_back(value(step.a));
        continue;
      }
      const int dst = out + 1 + body.temporaries++;
      value_of_step.push_back(dst);
      const bool select = step.op == Op::kVbinary && step.fn == FnByte(BinaryFn::kSelect);
      if (select) {
        body.steps.push_back({Op::kVunary, FnByte(UnaryFn::kCopy), dst, value(step.otherwise), 0});
      }
      body.steps.push_back({step.op, step.fn, dst, value(step.a), value(step.b)});
    }
    if (body.steps.empty()) {
      body.steps.push_back({Op::kVunary, FnByte(UnaryFn::kCopy), out, 0, 0});
      return body;
    }
    // The last temporary is the output itself.
    for (VectorStep& step : body.steps) {
      for (int* v : {&step.dst, &step.a, &step.b}) {
        if (*v == out + body.temporaries) *v = out;
      }
    }
    --body.temporaries;
    return body;
  }

  std::vector<uint16_t> Constants(bool fp32) const {
    if (fp32 && !constants_.empty()) {
      throw BadInput("{}: constants are supported with {} only", p_.name,
                     FormatName(DataFormat::kSen169Fp16));
    }
    std::vector<uint16_t> codes;
    for (double value : constants_) codes.push_back(DlfFromDouble(value));
    return codes;
  }

  ReductionBody Reduction() const {
    const OpFuncReduction& reduction = op_.reduction;
    ReductionBody body;
    body.fp32 = ComputeFormat() == DataFormat::kIeeeFp32;
    body.folds = {reduction.first};
    if (reduction.second) body.folds.push_back(*reduction.second);
    if (reduction.scale >= 0) {
      body.factor = true;
      body.divisor = FloatBits(constants_[reduction.scale]);
    }
    body.zero_first = reduction.always_zero_first ||
                      (reduction.zero_first >= 0 && constants_[reduction.zero_first] != 0);
    body.products = reduction.of_products;
    const bool stick = op_.op_class == OpFuncClass::kStickReduction;
    const int reduced = p_.reduced_axis();
    const bool lanes = p_.operands.back().lane0 && !p_.operands.front().lane0;
    if (reduced >= 0 && stick != lanes) {
      throw BadInput("{}: the dimension it reduces is {} the sticks", p_.name,
                     lanes ? "inside" : "not inside");
    }
    if (op_.steps.empty()) return body;
    body.constants = Constants(body.fp32);
    for (const OpFuncStep& step : op_.steps) {
      if (step.op != Op::kVbinary || step.b.kind != OpFuncValue::Kind::kConstant) {
        throw InternalError("a reduction is followed by constants only");
      }
      body.then.push_back({step.fn, step.b.index});
    }
    return body;
  }

  ConversionBody Conversion() const {
    ConversionBody body;
    body.fn = op_.conversion;
    if (constants_.size() == 2) {
      body.scale = FloatBits(constants_[0]);
      body.shift = FloatBits(constants_[1]);
    }
    return body;
  }

  const SuperDsc& dsc_;
  Problem& p_;
  StepCode& code_;
  const OpFunc& op_;
  std::vector<double> constants_;
};

}  // namespace

uint64_t BuildOp(const SuperDsc& dsc, Problem& problem, StepCode& code) {
  return StepOp(dsc, problem, code).Build();
}

}  // namespace spyre::compiler
