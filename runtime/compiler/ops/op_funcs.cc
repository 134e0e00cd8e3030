// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ops/op_funcs.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/nearest.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

constexpr bool kBoth = true;  // SEN169_FP16 and IEEE_FP32
constexpr bool kSen169Only = false;

OpFuncValue Input(int index) { return {OpFuncValue::Kind::kInput, index}; }
OpFuncValue Constant(int index) { return {OpFuncValue::Kind::kConstant, index}; }
OpFuncValue Step(int index) { return {OpFuncValue::Kind::kStep, index}; }

OpFuncStep Apply(UnaryFn fn, OpFuncValue a) { return {Op::kVunary, FnByte(fn), a, {}, {}}; }
OpFuncStep Apply(BinaryFn fn, OpFuncValue a, OpFuncValue b) {
  return {Op::kVbinary, FnByte(fn), a, b, {}};
}
OpFuncStep Select(OpFuncValue condition, OpFuncValue then, OpFuncValue otherwise) {
  return {Op::kVbinary, FnByte(BinaryFn::kSelect), condition, then, otherwise};
}

OpFunc Pointwise(std::string_view name, int inputs, bool fp32, std::vector<OpFuncStep> steps,
                 std::vector<OpFuncConstant> constants = {}) {
  OpFunc op;
  op.name = name;
  op.op_class = OpFuncClass::kPointwise;
  op.inputs = op.min_inputs = inputs;
  op.fp32 = fp32;
  op.constants = std::move(constants);
  op.steps = std::move(steps);
  return op;
}
OpFunc Unary(std::string_view name, UnaryFn fn, bool fp32) {
  return Pointwise(name, 1, fp32, {Apply(fn, Input(0))});
}
OpFunc Binary(std::string_view name, BinaryFn fn) {
  return Pointwise(name, 2, kBoth, {Apply(fn, Input(0), Input(1))});
}

OpFunc Reduction(std::string_view name, OpFuncReduction reduction, bool stick = true,
                 std::vector<OpFuncConstant> constants = {}) {
  OpFunc op;
  op.name = name;
  op.op_class = stick ? OpFuncClass::kStickReduction : OpFuncClass::kNonstickReduction;
  op.fp32 = kBoth;
  op.constants = std::move(constants);
  op.reduction = reduction;
  return op;
}
OpFuncReduction Total(ReduceFn fn, int scale = -1) {
  OpFuncReduction reduction;
  reduction.first = fn;
  reduction.scale = scale;
  return reduction;
}

OpFunc Conversion(std::string_view name, ConvertFn fn, std::vector<OpFuncConstant> constants = {}) {
  OpFunc op;
  op.name = name;
  op.op_class = OpFuncClass::kConversion;
  op.conversion = fn;
  op.fp32 = fn == ConvertFn::kDl16ToFp32 || fn == ConvertFn::kFp32ToDl16;
  op.constants = std::move(constants);
  return op;
}

OpFunc Matmul(std::string_view name, MatmulFn fn) {
  OpFunc op;
  op.name = name;
  op.op_class = OpFuncClass::kMatmul;
  op.inputs = op.min_inputs = 2;
  op.matmul = fn;
  return op;
}

OpFunc Refused(std::string_view name, std::string_view reason) {
  OpFunc op;
  op.name = name;
  op.refusal = reason;
  return op;
}

using Table = std::vector<OpFunc>;

void AddPointwise(Table& table) {
  for (const auto& [name, fn] : std::initializer_list<std::pair<std::string_view, BinaryFn>>{
           {"add", BinaryFn::kAdd},
           {"biasadd", BinaryFn::kAdd},
           {"sub", BinaryFn::kSub},
           {"revsub", BinaryFn::kRevSub},
           {"mul", BinaryFn::kMul},
           {"realdiv", BinaryFn::kDiv},
           {"maximum", BinaryFn::kMax},
           {"minimum", BinaryFn::kMin},
           {"equal", BinaryFn::kEqual},
           {"notequal", BinaryFn::kNotEqual},
           {"greaterthan", BinaryFn::kGreater},
           {"greaterequal", BinaryFn::kGreaterEqual},
           {"lesserthan", BinaryFn::kLess},
           {"lesserequal", BinaryFn::kLessEqual}}) {
    table.push_back(Binary(name, fn));
  }
  // Any value but 0 is true: booleans are 0.0 and 1.0 on the device.
  table.push_back(Pointwise("where3", 3, kBoth, {Select(Input(0), Input(1), Input(2))}));
  // (x - mean) * scale * weight + bias; mean and scale are lane 0 of theirs.
  OpFunc norm = Pointwise(
      "layernormnorm", 5, kBoth,
      {Apply(BinaryFn::kSub, Input(0), Input(1)), Apply(BinaryFn::kMul, Step(0), Input(2)),
       Apply(BinaryFn::kMul, Step(1), Input(3)), Apply(BinaryFn::kAdd, Step(2), Input(4))});
  norm.min_inputs = 3;  // without weight and bias
  table.push_back(std::move(norm));
  table.push_back(Pointwise(
      "clip", 1, kBoth,
      {Apply(BinaryFn::kMax, Input(0), Constant(0)), Apply(BinaryFn::kMin, Step(0), Constant(1))},
      {{"clipMin", {}}, {"clipMax", {}}}));
  // log(1 + exp(beta x)) / beta, and x where beta x is above the threshold.
  table.push_back(Pointwise(
      "softplus", 1, kSen169Only,
      {Apply(BinaryFn::kMul, Input(0), Constant(0)), Apply(UnaryFn::kSoftplus, Step(0)),
       Apply(BinaryFn::kDiv, Step(1), Constant(0)), Apply(BinaryFn::kGreater, Step(0), Constant(1)),
       Select(Step(3), Input(0), Step(2))},
      {{"softplusBeta", 1.0}, {"softplusThresh", 20.0}}));
}

void AddUnary(Table& table) {
  table.push_back(Unary("abs", UnaryFn::kAbs, kBoth));
  table.push_back(Unary("exp", UnaryFn::kExp, kBoth));
  table.push_back(Unary("floor", UnaryFn::kFloor, kBoth));
  table.push_back(Unary("gelufwd", UnaryFn::kGelu, kSen169Only));
  table.push_back(Unary("identity", UnaryFn::kCopy, kBoth));
  table.push_back(Unary("log", UnaryFn::kLog, kSen169Only));
  table.push_back(Unary("mish", UnaryFn::kMish, kSen169Only));
  table.push_back(Unary("neg", UnaryFn::kNeg, kBoth));
  table.push_back(Unary("reciprocal", UnaryFn::kReciprocal, kBoth));
  table.push_back(Unary("relufwd", UnaryFn::kRelu, kBoth));
  table.push_back(Unary("relu6fwd", UnaryFn::kRelu6, kSen169Only));
  table.push_back(Unary("rsqrt", UnaryFn::kRsqrt, kBoth));
  table.push_back(Unary("sigmoid", UnaryFn::kSigmoid, kBoth));
  table.push_back(Unary("silu", UnaryFn::kSilu, kBoth));
  table.push_back(Unary("sqrt", UnaryFn::kSqrt, kBoth));
  table.push_back(Unary("tanh", UnaryFn::kTanh, kSen169Only));
  // 1 / sqrt(E[x^2] - E[x]^2 + eps) of the pair that exx2 leaves.
  OpFunc scale = Pointwise("layernormscale", 1, kBoth,
                           {Apply(BinaryFn::kNormScale, Input(0), Constant(0))}, {{"eps", {}}});
  scale.op_class = OpFuncClass::kNormScale;
  table.push_back(std::move(scale));
}

void AddReductions(Table& table) {
  const std::vector<OpFuncConstant> factor = {{"scaling_factor", {}}};
  for (const bool stick : {true, false}) {
    const auto name = [&](std::string_view on_stick, std::string_view nonstick) {
      return stick ? on_stick : nonstick;
    };
    table.push_back(Reduction(name("sum", "sumnonstick"), Total(ReduceFn::kSum), stick));
    table.push_back(Reduction(name("max", "maxnonstick"), Total(ReduceFn::kMax), stick));
    table.push_back(Reduction(name("min", "minnonstick"), Total(ReduceFn::kMin), stick));
    table.push_back(Reduction(name("absmax", "absmaxnonstick"), Total(ReduceFn::kAbsMax), stick));
    table.push_back(
        Reduction(name("mean", "meannonstick"), Total(ReduceFn::kSum, 0), stick, factor));
  }
  OpFuncReduction moments = Total(ReduceFn::kSum, 0);
  moments.second = ReduceFn::kSumOfSquares;
  moments.zero_first = 1;
  table.push_back(Reduction("exx2", moments, true, {{"exx2scale", {}}, {"useZeroMean", 0.0}}));
  moments.zero_first = -1;
  moments.always_zero_first = true;
  table.push_back(Reduction("exx2_zeromean", moments, true, {{"exx2scale", {}}}));
  // The largest magnitude of a row over the largest of the format, within bounds.
  OpFunc quantiser = Reduction("quantscalepertokenfp8", Total(ReduceFn::kAbsMax), true,
                               {{"clipMin", {}}, {"clipMax", {}}, {"mulConst", {}}});
  quantiser.fp32 = kSen169Only;
  quantiser.steps = {Apply(BinaryFn::kMul, Input(0), Constant(2)),
                     Apply(BinaryFn::kMax, Step(0), Constant(0)),
                     Apply(BinaryFn::kMin, Step(1), Constant(1))};
  table.push_back(std::move(quantiser));
}

void AddConversions(Table& table) {
  const std::vector<OpFuncConstant> affine = {{"scaleact", {}}, {"shiftact", {}}};
  table.push_back(Conversion("dl16tofp32", ConvertFn::kDl16ToFp32));
  table.push_back(Conversion("fp32todl16", ConvertFn::kFp32ToDl16));
  table.push_back(Conversion("fp8todl16", ConvertFn::kFp8ToDl16));
  // ch and mb differ in where the two sticks come from, not in how they are packed.
  table.push_back(Conversion("qfp8ch", ConvertFn::kDl16ToFp8));
  table.push_back(Conversion("qfp8mb", ConvertFn::kDl16ToFp8));
  table.push_back(Conversion("qfp8wt", ConvertFn::kDl16ToFp8Wt));
  table.push_back(Conversion("csqint8ch", ConvertFn::kDl16ToInt8, affine));
  table.push_back(Conversion("csqint8mb", ConvertFn::kDl16ToInt8, affine));
  table.push_back(Conversion("csqint8wt", ConvertFn::kDl16ToInt8Wt, affine));
}

void AddRefused(Table& table) {
  constexpr std::string_view kWindow =
      "operations over windows (convolution, pooling) are not supported";
  for (const std::string_view name :
       {"conv2d", "conv2dfp8", "conv2dint4", "conv2dint8", "avgpoolfwd", "avgpoolnmapfwd",
        "depthwiseconv2dnative", "maxpoolfwd"}) {
    table.push_back(Refused(name, kWindow));
  }
  constexpr std::string_view kScaled = "how its sums are scaled to SEN169_FP16 is not public";
  table.push_back(Refused("batchmatmulint4", kScaled));
  table.push_back(Refused("batchmatmulint8", kScaled));
  constexpr std::string_view kScan = "scans and indirect access are not supported";
  for (const std::string_view name : {"maskbyindex", "keepbyindex", "topkindex", "topkvalue"}) {
    table.push_back(Refused(name, kScan));
  }
  constexpr std::string_view kFour =
      "packing of four sticks into one of 4-bit elements is not "
      "supported";
  table.push_back(Refused("csqint4", kFour));
  table.push_back(Refused("csqint4wt", kFour));
  constexpr std::string_view kApproximation = "its approximation is not public";
  table.push_back(Refused("fastexp", kApproximation));
  table.push_back(Refused("fastsigmoid", kApproximation));
  constexpr std::string_view kOperands = "the roles of its three operands are not public";
  table.push_back(Refused("fnms", kOperands));
  table.push_back(Refused("batchnormfwd", kOperands));
  table.push_back(Refused("leakyrelufwd", "its slope for negative values is not public"));
  table.push_back(Refused("quantscalepertoken", "its constants are not public"));
}

Table MakeTable() {
  Table table;
  table.push_back(Matmul("batchmatmul", MatmulFn::kSen169Fp16));
  table.push_back(Matmul("batchmatmulfp8", MatmulFn::kSen143Fp8));
  AddPointwise(table);
  AddUnary(table);
  AddReductions(table);
  AddConversions(table);
  OpFunc restickify;
  restickify.name = "ReStickifyOpHBM";
  restickify.op_class = OpFuncClass::kRestickify;
  table.push_back(std::move(restickify));
  OpFunc shuffle;
  shuffle.name = "shuffle";
  shuffle.op_class = OpFuncClass::kShuffle;
  table.push_back(std::move(shuffle));
  AddRefused(table);
  return table;
}

}  // namespace

int ElementsInTurn(ConvertFn fn) {
  switch (fn) {
    case ConvertFn::kDl16ToFp32:
    case ConvertFn::kFp32ToDl16:
      return 4;
    case ConvertFn::kFp8ToDl16:
    case ConvertFn::kDl16ToFp8:
    case ConvertFn::kDl16ToInt8:
      return 8;
    case ConvertFn::kDl16ToFp8Wt:
    case ConvertFn::kDl16ToInt8Wt:
      break;
  }
  return 1;
}

const std::vector<OpFunc>& OpFuncs() {
  static const Table table = MakeTable();
  return table;
}

const OpFunc* FindOpFunc(std::string_view name) {
  for (const OpFunc& op : OpFuncs()) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

const OpFunc& RequireOpFunc(std::string_view name) {
  const OpFunc* op = FindOpFunc(name);
  if (op != nullptr && op->refusal.empty()) return *op;
  constexpr const char* kType = "Unsupported";
  constexpr const char* kKind = "unsupported_op";
  if (op != nullptr) {
    throw CompileError(kType, kKind,
                       fmt::format("OpFunc '{}' cannot be executed: {}", name, op->refusal));
  }
  std::vector<std::string> names;
  for (const OpFunc& known : OpFuncs()) names.emplace_back(known.name);
  throw CompileError(
      kType, kKind,
      fmt::format("'{}' is not an OpFunc that is known{}", name, DidYouMean(name, names)));
}

}  // namespace spyre::compiler
