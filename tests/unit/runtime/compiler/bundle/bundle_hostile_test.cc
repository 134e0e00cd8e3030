// SPDX-License-Identifier: Apache-2.0
// Kernel sources that make no sense are refused, and nothing worse: random sizes, coordinates,
// splits, addresses and loops, most of them wrong.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tests/unit/runtime/compiler/bundle/emit_source.h"

namespace spyre::compiler::bundle_hostile_test {
namespace {

// Mostly sizes that fit each other, now and then anything.
int64_t RandomNumber() {
  if (*rc::gen::inRange(0, 8) > 0) return *rc::gen::element<int64_t>(0, 1, 2, 4, 32, 64, 100, 128);
  return *rc::gen::element<int64_t>(
      -1, -128, int64_t{1} << 31, (int64_t{1} << 31) + 1, int64_t{1} << 40, int64_t{1} << 62,
      std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min());
}

Expression RandomExpression(int depth) {
  Expression expression;
  const int kind = depth == 0 ? *rc::gen::inRange(0, 2) : *rc::gen::inRange(0, 7);
  expression.kind = static_cast<Expression::Kind>(kind);
  if (kind == 0) return Expression::Number(RandomNumber());
  if (kind == 1) return Expression::Symbol("c" + std::to_string(*rc::gen::inRange(0, 4)));
  const int operands = expression.kind == Expression::Kind::kFloor ? 1 : 2;
  for (int i = 0; i < operands; ++i) expression.operands.push_back(RandomExpression(depth - 1));
  return expression;
}

Expression RandomCoordinate(int symbol) {
  if (*rc::gen::inRange(0, 6) == 0) return RandomExpression(3);
  const std::string name = "c" + std::to_string(symbol);
  const std::vector<std::string> forms = {name,
                                          "0",
                                          "1",
                                          "floor(" + name + "/64)",
                                          "Mod(" + name + ", 64)",
                                          name + " + 2",
                                          "floor(Mod(" + name + ", 128)/64)",
                                          "2*" + name};
  return ParseExpression(*rc::gen::elementOf(forms));
}

TensorArg RandomArg() {
  TensorArg arg;
  arg.arg_index = *rc::gen::inRange(-1, 9);
  arg.device_format =
      *rc::gen::element(DataFormat::kSen169Fp16, DataFormat::kIeeeFp32, DataFormat::kSenInt4,
                        DataFormat::kInvalid, DataFormat::kSen143Fp8);
  const int rank = *rc::gen::inRange(0, 5);
  for (int d = 0; d < rank; ++d) {
    arg.device_size.push_back(RandomNumber());
    arg.device_coordinates.push_back(RandomCoordinate(*rc::gen::inRange(0, 3)));
  }
  if (*rc::gen::inRange(0, 6) > 0) {
    arg.device_size.push_back(64);
    arg.device_coordinates.push_back(
        ParseExpression(*rc::gen::element<std::string>("0", "c1", "Mod(c1, 64)")));
  }
  arg.memory = *rc::gen::element(Memory::kHbm, Memory::kPool, Memory::kLx);
  arg.address = RandomNumber();
  arg.per_tile_fixed = *rc::gen::arbitrary<bool>();
  if (*rc::gen::inRange(0, 4) == 0) arg.tile_advance = RandomExpression(2);
  return arg;
}

OpSpec RandomOp() {
  OpSpec op;
  op.op = *rc::gen::element<std::string>("add", "batchmatmul", "sum", "max", "exp", "topkvalue",
                                         "layernormscale", "dl16tofp32", "ReStickifyOpHBM", "");
  op.is_reduction = *rc::gen::arbitrary<bool>();
  const int dims = *rc::gen::inRange(0, 4);
  for (int i = 0; i < dims; ++i) {
    op.iteration_space.push_back(
        {"c" + std::to_string(i), RandomNumber(), *rc::gen::inRange(0, 40)});
  }
  const int args = *rc::gen::inRange(0, 5);
  for (int i = 0; i < args; ++i) op.args.push_back(RandomArg());
  if (*rc::gen::inRange(0, 5) == 0) op.core_slices = {RandomExpression(2), RandomExpression(1)};
  op.tiled_symbols = {{"c0", "c3"}, {"c1"}};
  return op;
}

RC_GTEST_PROP(HostileSource, IsEmittedOrRefused, ()) {
  std::vector<SpecNode> body = {RandomOp()};
  const int loops = *rc::gen::inRange(0, 3);
  for (int i = 0; i < loops; ++i) {
    LoopSpec loop;
    loop.count = *rc::gen::element<int64_t>(0, 1, 2, 3, -1);
    loop.body = std::move(body);
    body = {std::move(loop)};
  }
  const KernelSource source = SourceOf(std::move(body));
  for (BundleDialect dialect : {BundleDialect::kSymbolicConstants, BundleDialect::kBakedAddresses,
                                BundleDialect::kSymbolicArguments}) {
    try {
      const Bundle bundle = EmitBundle(source, dialect);
      for (const SuperDsc& dsc : bundle.dscs) {
        RC_ASSERT(dsc.cores.size() <= 32U);
        ToSdscJson(dsc, dialect);
      }
      BundleMlir(bundle, dialect);
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kBadInput);
    }
  }
}

}  // namespace
}  // namespace spyre::compiler::bundle_hostile_test
