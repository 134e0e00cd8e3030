// SPDX-License-Identifier: Apache-2.0
// The entries are in one file because they are one table: who adds one sees how others are written.
#include "runtime/compiler/ops/op_entries.h"

#include <unordered_map>
#include <utility>

namespace spyre::compiler {
namespace {

using NameList = std::vector<std::string_view>;
using Constants = std::vector<OpFuncConstant>;
using EntryKind = OpEntry::Kind;

// ---------------------------------------------------------------- how entries are written

constexpr bool kBoth = true;  // computes in SEN169_FP16 and in IEEE_FP32
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

OpEntry Entry(std::string_view name, EntryKind kind, int min_inputs, int max_inputs) {
  OpEntry entry;
  entry.name = name;
  entry.kind = kind;
  entry.min_inputs = min_inputs;
  entry.max_inputs = max_inputs;
  return entry;
}

// One OpFunc of the entry's own inputs.
OpFunc& AddFunc(OpEntry& entry, std::string_view name, OpFuncClass op_class, bool fp32) {
  OpFunc& func = entry.op_funcs.emplace_back();
  func.name = name.empty() ? entry.name : name;
  func.op_class = op_class;
  func.min_inputs = entry.min_inputs;
  func.inputs = entry.max_inputs;
  func.fp32 = fp32;
  return func;
}

OpEntry Pointwise(std::string_view name, int min_inputs, int max_inputs, bool fp32,
                  std::vector<OpFuncStep> steps, NameList aliases = {},
                  std::string_view op_func = "", Constants constants = {}) {
  OpEntry entry = Entry(name, EntryKind::kPointwise, min_inputs, max_inputs);
  entry.aliases = std::move(aliases);
  OpFunc& func = AddFunc(entry, op_func, OpFuncClass::kPointwise, fp32);
  func.constants = std::move(constants);
  func.steps = std::move(steps);
  return entry;
}

// One instruction of one operand, or of two.
OpEntry Unary(std::string_view name, UnaryFn fn, bool fp32, NameList aliases = {},
              std::string_view op_func = "") {
  return Pointwise(name, 1, 1, fp32, {Apply(fn, Input(0))}, std::move(aliases), op_func);
}
OpEntry Binary(std::string_view name, BinaryFn fn, NameList aliases = {},
               std::string_view op_func = "") {
  return Pointwise(name, 2, 2, kBoth, {Apply(fn, Input(0), Input(1))}, std::move(aliases), op_func);
}

// Along one side of the stick: `fn`, times a constant if there is one.
OpFunc& AddTotal(OpEntry& entry, std::string_view name, OpFuncClass op_class, ReduceFn fn,
                 Constants constants) {
  OpFunc& func = AddFunc(entry, name, op_class, kBoth);
  func.reduction.first = fn;
  if (!constants.empty()) func.reduction.scale = 0;
  func.constants = std::move(constants);
  return func;
}

// `stick` and `nonstick`: the OpFuncs along the dimension in the stick and along others.
OpEntry Reduction(std::string_view name, ReduceFn fn, std::string_view stick,
                  std::string_view nonstick, std::string_view combiner, NameList aliases = {},
                  const Constants& constants = {}) {
  OpEntry entry = Entry(name, EntryKind::kReduction, 1, 1);
  entry.aliases = std::move(aliases);
  entry.has_dim = true;
  entry.combiner = combiner;
  AddTotal(entry, stick, OpFuncClass::kStickReduction, fn, constants);
  AddTotal(entry, nonstick, OpFuncClass::kNonstickReduction, fn, constants);
  return entry;
}

OpEntry Matmul(std::string_view name, std::string_view op_func, MatmulFn fn,
               NameList aliases = {}) {
  OpEntry entry = Entry(name, EntryKind::kMatmul, 2, 2);
  entry.aliases = std::move(aliases);
  entry.has_dim = true;
  entry.combiner = "add";
  AddFunc(entry, op_func, OpFuncClass::kMatmul, false).matmul = fn;
  return entry;
}

OpEntry Composite(std::string_view name, int min_inputs, int max_inputs, std::string_view meaning,
                  NameList constants, bool has_dim, NameList aliases = {}) {
  OpEntry entry = Entry(name, EntryKind::kComposite, min_inputs, max_inputs);
  entry.aliases = std::move(aliases);
  entry.constants = std::move(constants);
  entry.has_dim = has_dim;
  entry.meaning = meaning;
  return entry;
}

OpEntry Means(OpEntry entry, std::string_view meaning) {
  entry.meaning = meaning;
  return entry;
}

OpEntry InBundlesOnly(OpEntry entry) {
  entry.listed = false;
  return entry;
}

void AddConversion(OpEntry& entry, std::string_view name, ConvertFn fn, Constants constants = {}) {
  const bool fp32 = fn == ConvertFn::kDl16ToFp32 || fn == ConvertFn::kFp32ToDl16;
  OpFunc& func = AddFunc(entry, name, OpFuncClass::kConversion, fp32);
  func.conversion = fn;
  func.constants = std::move(constants);
}

OpEntry Refused(std::string_view name, std::string_view reason) {
  OpEntry entry = InBundlesOnly(Entry(name, EntryKind::kPointwise, 1, 1));
  AddFunc(entry, name, OpFuncClass::kRefused, false).refusal = reason;
  return entry;
}

// ---------------------------------------------------------------- the entries

using Table = std::vector<OpEntry>;

void AddUnary(Table& table) {
  table.push_back(Unary("abs", UnaryFn::kAbs, kBoth));
  table.push_back(Unary("copy", UnaryFn::kCopy, kBoth, {"identity", "clone"}, "identity"));
  table.push_back(Unary("exp", UnaryFn::kExp, kBoth));
  table.push_back(Unary("floor", UnaryFn::kFloor, kBoth));
  table.push_back(Unary("gelu", UnaryFn::kGelu, kSen169Only, {"gelufwd"}, "gelufwd"));
  table.push_back(Unary("log", UnaryFn::kLog, kSen169Only));
  table.push_back(Unary("mish", UnaryFn::kMish, kSen169Only));
  table.push_back(Unary("neg", UnaryFn::kNeg, kBoth));
  table.push_back(Unary("reciprocal", UnaryFn::kReciprocal, kBoth));
  table.push_back(Unary("relu", UnaryFn::kRelu, kBoth, {"relufwd"}, "relufwd"));
  table.push_back(Unary("relu6", UnaryFn::kRelu6, kSen169Only, {"relu6fwd"}, "relu6fwd"));
  table.push_back(Unary("rsqrt", UnaryFn::kRsqrt, kBoth));
  table.push_back(Unary("sigmoid", UnaryFn::kSigmoid, kBoth));
  table.push_back(Unary("sqrt", UnaryFn::kSqrt, kBoth));
  table.push_back(Unary("tanh", UnaryFn::kTanh, kSen169Only));
}

void AddBinary(Table& table) {
  table.push_back(Binary("add", BinaryFn::kAdd));
  table.push_back(InBundlesOnly(Binary("biasadd", BinaryFn::kAdd)));
  table.push_back(Binary("sub", BinaryFn::kSub));
  table.push_back(InBundlesOnly(Binary("revsub", BinaryFn::kRevSub)));
  table.push_back(Binary("mul", BinaryFn::kMul));
  table.push_back(Binary("div", BinaryFn::kDiv, {"realdiv", "truediv"}, "realdiv"));
  table.push_back(Binary("maximum", BinaryFn::kMax, {"max"}));
  table.push_back(Binary("minimum", BinaryFn::kMin, {"min"}));
  table.push_back(Binary("equal", BinaryFn::kEqual, {"eq"}));
  table.push_back(Binary("notequal", BinaryFn::kNotEqual, {"ne"}));
  table.push_back(Binary("greaterthan", BinaryFn::kGreater, {"gt"}));
  table.push_back(Binary("greaterequal", BinaryFn::kGreaterEqual, {"ge"}));
  table.push_back(Binary("lesserthan", BinaryFn::kLess, {"lt"}));
  table.push_back(Binary("lesserequal", BinaryFn::kLessEqual, {"le"}));
}

void AddOfSeveralSteps(Table& table) {
  // Any value but 0 is true: booleans are 0.0 and 1.0 on the device.
  table.push_back(Means(
      Pointwise("where", 3, 3, kBoth, {Select(Input(0), Input(1), Input(2))}, {"where3"}, "where3"),
      "the second operand where the first is not 0, else the third"));
  OpEntry clip = Means(Pointwise("clip", 1, 1, kBoth,
                                 {Apply(BinaryFn::kMax, Input(0), Constant(0)),
                                  Apply(BinaryFn::kMin, Step(0), Constant(1))},
                                 {"clamp"}, "", {{"clipMin", {}}, {"clipMax", {}}}),
                       "within `min` and `max`");
  clip.constants = {"min", "max"};
  table.push_back(std::move(clip));
  table.push_back(InBundlesOnly(Means(
      Pointwise(
          "softplus", 1, 1, kSen169Only,
          {Apply(BinaryFn::kMul, Input(0), Constant(0)), Apply(UnaryFn::kSoftplus, Step(0)),
           Apply(BinaryFn::kDiv, Step(1), Constant(0)),
           Apply(BinaryFn::kGreater, Step(0), Constant(1)), Select(Step(3), Input(0), Step(2))},
          {}, "", {{"softplusBeta", 1.0}, {"softplusThresh", 20.0}}),
      "log(1 + exp(beta x)) / beta, and x where beta x is above the threshold")));
  // Mean and scale are lane 0 of theirs; weight and bias may be absent.
  table.push_back(InBundlesOnly(Means(
      Pointwise(
          "layernormnorm", 3, 5, kBoth,
          {Apply(BinaryFn::kSub, Input(0), Input(1)), Apply(BinaryFn::kMul, Step(0), Input(2)),
           Apply(BinaryFn::kMul, Step(1), Input(3)), Apply(BinaryFn::kAdd, Step(2), Input(4))}),
      "(x - mean) * scale * weight + bias")));
  OpEntry scale =
      Pointwise("layernormscale", 1, 1, kBoth, {Apply(BinaryFn::kNormScale, Input(0), Constant(0))},
                {}, "", {{"eps", {}}});
  scale.op_funcs[0].op_class = OpFuncClass::kNormScale;
  table.push_back(
      InBundlesOnly(Means(scale, "1 / sqrt(E[x^2] - E[x]^2 + eps) of the pair that exx2 leaves")));
  // In lists the chain of the public front end, in bundles the card's own function.
  OpEntry silu = Composite("silu", 1, 1, "", {}, false);
  AddFunc(silu, "", OpFuncClass::kPointwise, kBoth).steps = {Apply(UnaryFn::kSilu, Input(0))};
  table.push_back(std::move(silu));
}

void AddReductions(Table& table) {
  const Constants factor = {{"scaling_factor", {}}};
  table.push_back(Reduction("sum", ReduceFn::kSum, "sum", "sumnonstick", "add", {"sumrow"}));
  table.push_back(
      Means(Reduction("mean", ReduceFn::kSum, "mean", "meannonstick", "add", {}, factor),
            "the sum times `scaling_factor`, or over the number of elements"));
  table.push_back(Reduction("amax", ReduceFn::kMax, "max", "maxnonstick", "maximum"));
  table.push_back(Reduction("amin", ReduceFn::kMin, "min", "minnonstick", "minimum"));
  table.push_back(Reduction("prod", ReduceFn::kProd, "prod", "prodnonstick", "mul"));
  table.push_back(
      InBundlesOnly(Reduction("absmax", ReduceFn::kAbsMax, "absmax", "absmaxnonstick", "")));
  OpEntry moments = InBundlesOnly(Entry("exx2", EntryKind::kReduction, 1, 1));
  OpFuncReduction& pair = AddTotal(moments, "exx2", OpFuncClass::kStickReduction, ReduceFn::kSum,
                                   {{"exx2scale", {}}, {"useZeroMean", 0.0}})
                              .reduction;
  pair.second = ReduceFn::kSumOfSquares;
  pair.zero_first = 1;
  OpFuncReduction& zero_mean = AddTotal(moments, "exx2_zeromean", OpFuncClass::kStickReduction,
                                        ReduceFn::kSum, {{"exx2scale", {}}})
                                   .reduction;
  zero_mean.second = ReduceFn::kSumOfSquares;
  zero_mean.always_zero_first = true;
  table.push_back(Means(moments, "the pair E[x], or 0, and E[x^2]: totals times `exx2scale`"));
  OpEntry quantiser = InBundlesOnly(Entry("quantscalepertokenfp8", EntryKind::kReduction, 1, 1));
  OpFunc& func = AddFunc(quantiser, "", OpFuncClass::kStickReduction, kSen169Only);
  func.reduction.first = ReduceFn::kAbsMax;
  func.constants = {{"clipMin", {}}, {"clipMax", {}}, {"mulConst", {}}};
  func.steps = {Apply(BinaryFn::kMul, Input(0), Constant(2)),
                Apply(BinaryFn::kMax, Step(0), Constant(0)),
                Apply(BinaryFn::kMin, Step(1), Constant(1))};
  table.push_back(Means(quantiser,
                        "the largest magnitude of a row times `mulConst`, within `clipMin` and "
                        "`clipMax`"));
}

void AddTopK(Table& table) {
  OpEntry values = Entry("topkvalue", EntryKind::kTopK, 1, 1);
  values.has_dim = true;
  AddFunc(values, "", OpFuncClass::kTopK, kBoth);
  table.push_back(Means(std::move(values),
                        "the largest along `dim`, as many as `into` has, largest first; NaN stays "
                        "where it is or is dropped"));
  OpEntry places = Entry("topkindex", EntryKind::kTopK, 1, 1);
  places.has_dim = true;
  AddFunc(places, "", OpFuncClass::kTopK, kBoth).gives_index = true;
  table.push_back(Means(std::move(places),
                        "where those of `topkvalue` stand, of equal ones the first, as a number of "
                        "the operand's type"));
}

void AddMovesAndConversions(Table& table) {
  OpEntry restickify = Means(Entry("restickify", EntryKind::kPointwise, 1, 1),
                             "the operand, with `dim` inside the stick");
  restickify.aliases = {"ReStickifyOpHBM"};
  restickify.has_dim = true;
  AddFunc(restickify, "ReStickifyOpHBM", OpFuncClass::kRestickify, false);
  table.push_back(std::move(restickify));

  OpEntry shuffle =
      Means(Entry("shuffle", EntryKind::kPointwise, 1, 1), "the operand, in slices of other cores");
  shuffle.listed = false;
  AddFunc(shuffle, "shuffle", OpFuncClass::kShuffle, false);
  table.push_back(std::move(shuffle));

  // In a list the types decide which OpFunc it is.
  OpEntry convert = Means(Entry("convert", EntryKind::kPointwise, 1, 1), "the operand as `dtype`");
  convert.aliases = {"to", "to_dtype"};
  AddConversion(convert, "dl16tofp32", ConvertFn::kDl16ToFp32);
  AddConversion(convert, "fp32todl16", ConvertFn::kFp32ToDl16);
  AddConversion(convert, "fp8todl16", ConvertFn::kFp8ToDl16);
  // ch and mb differ in where the two sticks come from, not in how they are packed.
  AddConversion(convert, "qfp8ch", ConvertFn::kDl16ToFp8);
  AddConversion(convert, "qfp8mb", ConvertFn::kDl16ToFp8);
  AddConversion(convert, "qfp8wt", ConvertFn::kDl16ToFp8Wt);
  table.push_back(std::move(convert));
  OpEntry quantise = InBundlesOnly(Entry("csqint8", EntryKind::kPointwise, 1, 1));
  const Constants affine = {{"scaleact", {}}, {"shiftact", {}}};
  AddConversion(quantise, "csqint8ch", ConvertFn::kDl16ToInt8, affine);
  AddConversion(quantise, "csqint8mb", ConvertFn::kDl16ToInt8, affine);
  AddConversion(quantise, "csqint8wt", ConvertFn::kDl16ToInt8Wt, affine);
  table.push_back(Means(quantise, "x * `scaleact` + `shiftact` as SENINT8"));
}

void AddComposites(Table& table) {
  OpEntry slice = Means(Entry("slice", EntryKind::kView, 1, 1),
                        "elements of `dim` from `start` on, as many as `into` has");
  slice.aliases = {"narrow"};
  slice.constants = {"start"};
  slice.has_dim = true;
  table.push_back(std::move(slice));
  constexpr int kMostParts = 256;
  OpEntry cat = Means(Entry("cat", EntryKind::kCat, 1, kMostParts),
                      "the operands one behind the other along `into`: of each the elements of its "
                      "`dim`, over which an operand without it is broadcast");
  cat.aliases = {"concat", "concatenate"};
  cat.has_dim = true;
  table.push_back(std::move(cat));
  OpEntry select = Means(Entry("index_select", EntryKind::kGather, 2, 2),
                         "of the first operand's `dim` the elements that the second, of int32, "
                         "numbers");
  select.aliases = {"embedding"};
  select.has_dim = true;
  table.push_back(std::move(select));
  OpEntry into =
      Means(Entry("index_copy", EntryKind::kScatter, 3, 3),
            "the first operand, with the third for the elements of `dim` that the second, "
            "of int32, numbers; of equal numbers the last one counts");
  into.has_dim = true;
  table.push_back(std::move(into));
  OpEntry outside =
      Means(Entry("extern", EntryKind::kExtern, 0, 16), "what `function` computes outside");
  outside.aliases = {"fallback"};
  table.push_back(std::move(outside));
  table.push_back(Composite("softmax", 1, 1, "exp(x - amax x) / sum of exp(x - amax x)", {}, true));
  table.push_back(Composite("layernorm", 1, 3,
                            "(x - mean) / sqrt(variance + eps), times a weight, plus a bias",
                            {"eps"}, true, {"layer_norm"}));
  table.push_back(Composite("rmsnorm", 1, 2, "x / sqrt(mean of x^2 + eps), times a weight", {"eps"},
                            true, {"rms_norm"}));
  table.push_back(Composite("swiglu", 2, 2, "silu(a) * b", {}, false));
  table.push_back(Composite("attention", 3, 4, "softmax(q k^T * scale + mask) v", {"scale"}, true,
                            {"sdpa", "scaled_dot_product_attention"}));
}

// What the real stack leaves to the host, because the card has no instruction for it.
void AddHostOperations(Table& table) {
  using Shape = OpEntry::HostShape;
  const auto add = [&table](std::string_view name, int inputs, Shape shape,
                            std::string_view meaning, NameList aliases = {}) -> OpEntry& {
    OpEntry entry = Means(Entry(name, EntryKind::kHost, inputs, inputs), meaning);
    entry.host_shape = shape;
    entry.has_dim = shape == Shape::kWithoutDim;
    entry.aliases = std::move(aliases);
    table.push_back(std::move(entry));
    return table.back();
  };
  add("sin", 1, Shape::kBroadcast, "the sine");
  add("cos", 1, Shape::kBroadcast, "the cosine");
  add("floordiv", 2, Shape::kBroadcast, "the largest integer <= a / b", {"floor_divide"});
  add("bitwise_and", 2, Shape::kBroadcast, "the bits that both integers have", {"and"});
  add("bitwise_or", 2, Shape::kBroadcast, "the bits that either integer has", {"or"});
  add("bitwise_xor", 2, Shape::kBroadcast, "the bits that one of two integers has", {"xor"});
  add("cumsum", 1, Shape::kOperand, "sums along `dim` up to each element").has_dim = true;
  add("sort", 1, Shape::kOperand, "the elements along `dim`, the smallest first").has_dim = true;
  OpEntry& order = add("argsort", 1, Shape::kOperand,
                       "where the elements of `sort` stand, of equal ones the first");
  order.has_dim = order.gives_int32 = true;
  for (const std::string_view name : {"tril", "triu"}) {
    OpEntry& part =
        add(name, 1, Shape::kOperand,
            name == "tril" ? "x where the column is at most the row plus `diagonal`, else 0; "
                             "`dim` names rows and columns"
                           : "x where the column is at least the row plus `diagonal`, else 0; "
                             "`dim` names rows and columns");
    part.has_dim = true;
    part.constants = {"diagonal"};
  }
  add("argmax", 1, Shape::kWithoutDim, "where the largest stands, of equal ones the first")
      .gives_int32 = true;
  add("gather", 2, Shape::kChosen,
      "of each element of the second, of int32, the one that it numbers along `dim` of the first")
      .has_dim = true;
  add("scatter", 3, Shape::kOperand,
      "the first operand, with each element of the third where the second, of int32, numbers it "
      "along `dim`")
      .has_dim = true;
  add("argmin", 1, Shape::kWithoutDim, "where the smallest stands, of equal ones the first")
      .gives_int32 = true;
}

// What all cards do together with a tensor of each (runtime/collectives/collective_call.h). The
// collective `gather` has another name here, because that one chooses by indices.
void AddCollectives(Table& table) {
  const auto add = [&table](std::string_view name, std::string_view meaning) -> OpEntry& {
    table.push_back(Means(Entry(name, EntryKind::kCollective, 1, 1), meaning));
    return table.back();
  };
  add("all_reduce", "the sum of the tensors of all cards");
  add("reduce", "on card `root` the sum of the tensors of all cards").constants = {"root"};
  add("reduce_scatter",
      "the sum of the tensors of all cards, of which each card has its part of `dim`")
      .has_dim = true;
  add("broadcast", "the tensor of card `root`").constants = {"root"};
  add("all_gather", "the tensors of all cards one behind the other along `into`").has_dim = true;
  OpEntry& gather = add("gather_to", "on card `root` what all_gather gives");
  gather.has_dim = true;
  gather.constants = {"root"};
  add("send", "on card `peer` the tensor of card `root`, on the others their own").constants = {
      "root", "peer"};
  add("barrier", "the tensor itself, when all cards have come so far");
}

// Where windows lie is part of their input (SdscWindow): to sums and products they are dimensions.
void AddWindows(Table& table) {
  table.push_back(InBundlesOnly(Means(Matmul("conv2d", "", MatmulFn::kSen169Fp16),
                                      "sums of products over windows and `in`")));
  OpEntry average = Entry("avgpoolfwd", EntryKind::kReduction, 1, 1);
  AddTotal(average, "", OpFuncClass::kNonstickReduction, ReduceFn::kSum, {{"nmap", std::nullopt}})
      .fp32 = kSen169Only;
  table.push_back(InBundlesOnly(Means(std::move(average), "sums over windows times `nmap`")));
  OpEntry most = Entry("maxpoolfwd", EntryKind::kReduction, 1, 1);
  AddTotal(most, "", OpFuncClass::kNonstickReduction, ReduceFn::kMax, {}).fp32 = kSen169Only;
  table.push_back(InBundlesOnly(Means(std::move(most), "the largest of each window")));
  OpEntry depthwise = Entry("depthwiseconv2dnative", EntryKind::kReduction, 2, 2);
  OpFunc& products = AddTotal(depthwise, "", OpFuncClass::kNonstickReduction, ReduceFn::kSum, {});
  products.fp32 = kSen169Only;
  products.reduction.of_products = true;
  table.push_back(InBundlesOnly(
      Means(std::move(depthwise), "sums over windows of products, each rounded to SEN169_FP16")));
}

void AddRefused(Table& table) {
  constexpr std::string_view kWindow =
      "convolutions over windows are supported in SEN169_FP16 only";
  for (const std::string_view name : {"conv2dfp8", "conv2dint4", "conv2dint8"})
    table.push_back(Refused(name, kWindow));
  table.push_back(Refused("avgpoolnmapfwd", "how its factors are given is not public"));
  constexpr std::string_view kScaled = "how its sums are scaled to SEN169_FP16 is not public";
  table.push_back(Refused("batchmatmulint4", kScaled));
  table.push_back(Refused("batchmatmulint8", kScaled));
  constexpr std::string_view kScan = "scans and indirect access are not supported";
  for (const std::string_view name : {"maskbyindex", "keepbyindex"})
    table.push_back(Refused(name, kScan));
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
  table.push_back(
      Means(Matmul("matmul", "batchmatmul", MatmulFn::kSen169Fp16, {"mm", "bmm", "batchmatmul"}),
            "sums of products over `dim`"));
  table.push_back(InBundlesOnly(Means(Matmul("batchmatmulfp8", "", MatmulFn::kSen143Fp8Wt),
                                      "sums of products of SEN143_FP8")));
  AddUnary(table);
  AddBinary(table);
  AddOfSeveralSteps(table);
  AddReductions(table);
  AddTopK(table);
  AddMovesAndConversions(table);
  AddComposites(table);
  AddHostOperations(table);
  AddCollectives(table);
  AddWindows(table);
  AddRefused(table);
  return table;
}

// Every pass asks for the entries of its operations.
using EntriesByName = std::unordered_map<std::string_view, const OpEntry*>;

const OpEntry* Find(const EntriesByName& index, std::string_view name) {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace

const std::vector<OpEntry>& OpEntries() {
  static const Table table = MakeTable();
  return table;
}

const OpEntry* FindNamedOperation(std::string_view name_or_alias) {
  static const EntriesByName index = [] {
    EntriesByName names;
    for (const OpEntry& entry : OpEntries()) {
      if (!entry.listed) continue;
      names[entry.name] = &entry;
      for (const std::string_view alias : entry.aliases) names[alias] = &entry;
    }
    return names;
  }();
  return Find(index, name_or_alias);
}

const OpEntry* FindEntryOf(std::string_view op_func) {
  static const EntriesByName index = [] {
    EntriesByName names;
    for (const OpEntry& entry : OpEntries())
      for (const OpFunc& func : entry.op_funcs) names[func.name] = &entry;
    return names;
  }();
  return Find(index, op_func);
}

std::string_view CombinerOf(std::string_view op_func) {
  const OpEntry* entry = FindEntryOf(op_func);
  return entry == nullptr ? "" : entry->combiner;
}

}  // namespace spyre::compiler
