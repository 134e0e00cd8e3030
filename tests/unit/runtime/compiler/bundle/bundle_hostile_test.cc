// SPDX-License-Identifier: Apache-2.0
// Kernel sources that make no sense are refused, and nothing worse: random sizes, coordinates,
// splits, addresses and loops, most of them wrong.
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/random_cases.h"
#include "tests/unit/runtime/compiler/bundle/emit_source.h"

namespace spyre::compiler::bundle_hostile_test {
namespace {

// Mostly sizes that fit each other, now and then anything.
int64_t RandomNumber(std::mt19937& random) {
  if (random() % 8 > 0) return test::DrawOf<int64_t>(random, {0, 1, 2, 4, 32, 64, 100, 128});
  return test::DrawOf<int64_t>(
      random,
      {-1, -128, int64_t{1} << 31, (int64_t{1} << 31) + 1, int64_t{1} << 40, int64_t{1} << 62,
       std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()});
}

Expression RandomExpression(std::mt19937& random, int depth) {
  Expression expression;
  const auto kind = static_cast<int>(random() % (depth == 0 ? 2 : 7));
  expression.kind = static_cast<Expression::Kind>(kind);
  if (kind == 0) return Expression::Number(RandomNumber(random));
  if (kind == 1) return Expression::Symbol("c" + std::to_string(random() % 4));
  const int operands = expression.kind == Expression::Kind::kFloor ? 1 : 2;
  for (int i = 0; i < operands; ++i)
    expression.operands.push_back(RandomExpression(random, depth - 1));
  return expression;
}

Expression RandomCoordinate(std::mt19937& random, int symbol) {
  if (random() % 6 == 0) return RandomExpression(random, 3);
  const std::string name = "c" + std::to_string(symbol);
  const std::vector<std::string> forms = {name,
                                          "0",
                                          "1",
                                          "floor(" + name + "/64)",
                                          "Mod(" + name + ", 64)",
                                          name + " + 2",
                                          "floor(Mod(" + name + ", 128)/64)",
                                          "2*" + name};
  return ParseExpression(forms[random() % forms.size()]);
}

TensorArg RandomArg(std::mt19937& random) {
  TensorArg arg;
  arg.arg_index = test::Draw(random, -1, 8);
  arg.device_format =
      test::DrawOf(random, {DataFormat::kSen169Fp16, DataFormat::kIeeeFp32, DataFormat::kSenInt4,
                            DataFormat::kInvalid, DataFormat::kSen143Fp8});
  const int rank = test::Draw(random, 0, 4);
  for (int d = 0; d < rank; ++d) {
    arg.device_size.push_back(RandomNumber(random));
    arg.device_coordinates.push_back(RandomCoordinate(random, test::Draw(random, 0, 2)));
  }
  if (random() % 6 > 0) {
    arg.device_size.push_back(64);
    arg.device_coordinates.push_back(
        ParseExpression(test::DrawOf(random, {"0", "c1", "Mod(c1, 64)"})));
  }
  arg.memory = test::DrawOf(random, {Memory::kHbm, Memory::kPool, Memory::kLx});
  arg.address = RandomNumber(random);
  arg.per_tile_fixed = test::DrawBool(random);
  if (random() % 4 == 0) arg.tile_advance = RandomExpression(random, 2);
  return arg;
}

OpSpec RandomOp(std::mt19937& random) {
  OpSpec op;
  op.op = test::DrawOf(random, {"add", "batchmatmul", "sum", "max", "exp", "topkvalue",
                                "layernormscale", "dl16tofp32", "ReStickifyOpHBM", ""});
  op.is_reduction = test::DrawBool(random);
  const int dims = test::Draw(random, 0, 3);
  for (int i = 0; i < dims; ++i) {
    const int64_t range = RandomNumber(random);
    op.iteration_space.push_back({"c" + std::to_string(i), range, test::Draw(random, 0, 39)});
  }
  const int args = test::Draw(random, 0, 4);
  for (int i = 0; i < args; ++i) op.args.push_back(RandomArg(random));
  if (random() % 5 == 0)
    op.core_slices = {RandomExpression(random, 2), RandomExpression(random, 1)};
  op.tiled_symbols = {{"c0", "c3"}, {"c1"}};
  return op;
}

TEST(HostileSource, IsEmittedOrRefused) {
  test::ForSeeds(100, [](std::mt19937& random) {
    std::vector<SpecNode> body = {RandomOp(random)};
    const int loops = test::Draw(random, 0, 2);
    for (int i = 0; i < loops; ++i) {
      LoopSpec loop;
      loop.count = test::Draw<int64_t>(random, -1, 3);
      loop.body = std::move(body);
      body = {std::move(loop)};
    }
    const KernelSource source = SourceOf(std::move(body));
    for (BundleDialect dialect : {BundleDialect::kSymbolicConstants, BundleDialect::kBakedAddresses,
                                  BundleDialect::kSymbolicArguments}) {
      try {
        const Bundle bundle = EmitBundle(source, dialect);
        for (const SuperDsc& dsc : bundle.dscs) {
          EXPECT_LE(dsc.cores.size(), 32U);
          ToSdscJson(dsc, dialect);
        }
        BundleMlir(bundle, dialect);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
      }
    }
  });
}

}  // namespace
}  // namespace spyre::compiler::bundle_hostile_test
