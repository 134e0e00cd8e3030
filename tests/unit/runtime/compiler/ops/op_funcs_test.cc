// SPDX-License-Identifier: Apache-2.0
// The table of OpFuncs: complete, well formed, and right where a definition has a closed form.
#include "runtime/compiler/ops/op_funcs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "model/contract/op_table.h"
#include "runtime/compiler/ir/ir.h"
#include "tests/unit/runtime/compiler/op_func_values.h"

namespace spyre::compiler::op_funcs_test {
namespace {

using ::testing::HasSubstr;

double Of(std::string_view name, const std::vector<double>& inputs,
          const std::map<std::string_view, double>& given = {}) {
  return harness::StepsValue(RequireOpFunc(name), inputs, given);
}

std::string Refusal(std::string_view name) {
  try {
    RequireOpFunc(name);
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "Unsupported");
    EXPECT_EQ(error.message_kind(), "unsupported_op");
    return error.what();
  }
  return "";
}

TEST(OpFuncs, EveryNameIsThereOnceAndItsStepsReferToWhatIsBeforeThem) {
  std::set<std::string_view> names;
  for (const OpFunc& op : OpFuncs()) {
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    EXPECT_EQ(op.op_class == OpFuncClass::kRefused, !op.refusal.empty()) << op.name;
    EXPECT_LE(op.min_inputs, op.inputs) << op.name;
    const auto check = [&](OpFuncValue v, size_t step) {
      const size_t limit = v.kind == OpFuncValue::Kind::kInput      ? op.inputs
                           : v.kind == OpFuncValue::Kind::kConstant ? op.constants.size()
                                                                    : step;
      EXPECT_LT(static_cast<size_t>(v.index), limit) << op.name << " step " << step;
    };
    for (size_t i = 0; i < op.steps.size(); ++i) {
      const OpFuncStep& step = op.steps[i];
      EXPECT_TRUE(IsKnownFn(step.op == Op::kVunary ? FnSet::kUnary : FnSet::kBinary, step.fn));
      check(step.a, i);
      if (step.op == Op::kVbinary) check(step.b, i);
      if (step.fn == FnByte(BinaryFn::kSelect)) check(step.otherwise, i);
    }
    EXPECT_LT(op.reduction.scale, static_cast<int>(op.constants.size())) << op.name;
    EXPECT_LT(op.reduction.zero_first, static_cast<int>(op.constants.size())) << op.name;
  }
}

// As the public specification lists them.
TEST(OpFuncs, EveryPublicNameIsInTheTable) {
  for (const char* name : {"batchmatmulfp8",
                           "batchmatmul",
                           "batchmatmulint4",
                           "batchmatmulint8",
                           "conv2dfp8",
                           "conv2d",
                           "conv2dint4",
                           "conv2dint8",
                           "add",
                           "batchnormfwd",
                           "biasadd",
                           "equal",
                           "fnms",
                           "greaterequal",
                           "layernormnorm",
                           "lesserequal",
                           "maximum",
                           "minimum",
                           "mul",
                           "notequal",
                           "realdiv",
                           "revsub",
                           "sub",
                           "where3",
                           "abs",
                           "clip",
                           "exp",
                           "fastexp",
                           "fastsigmoid",
                           "floor",
                           "gelufwd",
                           "identity",
                           "layernormscale",
                           "leakyrelufwd",
                           "log",
                           "mish",
                           "neg",
                           "reciprocal",
                           "relufwd",
                           "relu6fwd",
                           "rsqrt",
                           "sigmoid",
                           "softplus",
                           "silu",
                           "sqrt",
                           "tanh",
                           "absmaxnonstick",
                           "absmax",
                           "exx2_zeromean",
                           "exx2",
                           "maxnonstick",
                           "max",
                           "meannonstick",
                           "mean",
                           "minnonstick",
                           "min",
                           "quantscalepertokenfp8",
                           "quantscalepertoken",
                           "sumnonstick",
                           "sum",
                           "avgpoolfwd",
                           "avgpoolnmapfwd",
                           "depthwiseconv2dnative",
                           "maxpoolfwd",
                           "maskbyindex",
                           "topkindex",
                           "topkvalue",
                           "csqint4wt",
                           "csqint4",
                           "csqint8ch",
                           "csqint8mb",
                           "csqint8wt",
                           "dl16tofp32",
                           "fp32todl16",
                           "fp8todl16",
                           "qfp8ch",
                           "qfp8mb",
                           "qfp8wt",
                           "ReStickifyOpHBM"}) {
    EXPECT_NE(FindOpFunc(name), nullptr) << name;
  }
}

TEST(OpFuncs, PointwiseDefinitionsGiveTheirClosedForms) {
  EXPECT_EQ(Of("revsub", {3, 5}), 2);
  EXPECT_EQ(Of("realdiv", {3, 4}), 0.75);
  EXPECT_EQ(Of("lesserequal", {3, 3}), 1);
  EXPECT_EQ(Of("where3", {1, 7, 8}), 7);
  EXPECT_EQ(Of("where3", {0, 7, 8}), 8);
  EXPECT_EQ(Of("layernormnorm", {5, 1, 0.5, 3, 10}), 16);
  EXPECT_EQ(Of("clip", {5}, {{"clipMin", -1}, {"clipMax", 2}}), 2);
  EXPECT_EQ(Of("clip", {-5}, {{"clipMin", -1}, {"clipMax", 2}}), -1);
  EXPECT_EQ(Of("identity", {-5}), -5);
  EXPECT_NEAR(Of("silu", {2}), 2 / (1 + std::exp(-2)), 1e-12);
  for (const double x : {-3.0, 0.5, 4.0, 9.0, 11.0}) {
    const double expected = 2 * x > 20 ? x : std::log1p(std::exp(2 * x)) / 2;
    EXPECT_NEAR(Of("softplus", {x}, {{"softplusBeta", 2}}), expected, 1e-6) << x;
  }
  EXPECT_NEAR(Of("softplus", {1}, {{"softplusThresh", 0.5}}), 1, 0) << "linear above the threshold";
}

TEST(OpFuncs, ReductionsNameTheirTotalsAndConstants) {
  const OpFunc& moments = RequireOpFunc("exx2");
  EXPECT_EQ(moments.op_class, OpFuncClass::kStickReduction);
  EXPECT_EQ(moments.reduction.first, ReduceFn::kSum);
  EXPECT_EQ(moments.reduction.second, ReduceFn::kSumOfSquares);
  EXPECT_EQ(moments.constants.at(moments.reduction.scale).name, "exx2scale");
  EXPECT_EQ(moments.constants.at(moments.reduction.zero_first).name, "useZeroMean");
  const OpFunc& mean = RequireOpFunc("meannonstick");
  EXPECT_EQ(mean.op_class, OpFuncClass::kNonstickReduction);
  EXPECT_EQ(mean.constants.at(mean.reduction.scale).name, "scaling_factor");
  // 3.0 was the largest magnitude.
  EXPECT_EQ(
      Of("quantscalepertokenfp8", {3}, {{"clipMin", 0.1}, {"clipMax", 9}, {"mulConst", 0.25}}),
      0.75);
}

TEST(OpFuncs, WhatCannotBeComputedIsRefusedByNameAndReason) {
  EXPECT_THAT(Refusal("fnms"), HasSubstr("'fnms' cannot be executed: the roles of its three"));
  EXPECT_THAT(Refusal("fastexp"), HasSubstr("approximation is not public"));
  EXPECT_THAT(Refusal("conv2dfp8"), HasSubstr("SEN169_FP16 only"));
  EXPECT_THAT(Refusal("realdvi"), HasSubstr("'realdvi' is not an OpFunc that is known; did you "
                                            "mean 'realdiv'?"));
  EXPECT_EQ(Refusal("add"), "");
}

}  // namespace
}  // namespace spyre::compiler::op_funcs_test
