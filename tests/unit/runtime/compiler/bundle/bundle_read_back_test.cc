// SPDX-License-Identifier: Apache-2.0
// A bundle that was written and read is the bundle that was emitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/runtime/compiler/bundle/emit_source.h"

namespace spyre::compiler::bundle_read_back_test {
namespace {

using ::testing::SizeIs;

void ExpectEqual(const std::vector<BundleNode>& actual, const std::vector<BundleNode>& expected) {
  ASSERT_THAT(actual, SizeIs(expected.size()));
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].index(), expected[i].index());
    if (const auto* loop = std::get_if<BundleLoop>(&actual[i])) {
      EXPECT_EQ(loop->count, std::get<BundleLoop>(expected[i]).count);
      ExpectEqual(loop->body, std::get<BundleLoop>(expected[i]).body);
      continue;
    }
    const auto& execute = std::get<BundleExecute>(actual[i]);
    const auto& other = std::get<BundleExecute>(expected[i]);
    EXPECT_EQ(execute.dsc, other.dsc);
    ASSERT_THAT(execute.symbols, SizeIs(other.symbols.size()));
    for (const auto& [id, address] : execute.symbols) {
      ASSERT_EQ(other.symbols.count(id), 1U) << id;
      EXPECT_EQ(address.argument, other.symbols.at(id).argument) << id;
      EXPECT_EQ(address.constant, other.symbols.at(id).constant) << id;
      EXPECT_EQ(address.loop_stride, other.symbols.at(id).loop_stride) << id;
    }
  }
}

std::string Print(const SuperDsc& dsc) {
  return ToSdscJson(dsc, BundleDialect::kSymbolicArguments);
}

void ExpectReadBack(const KernelSource& source) {
  for (BundleDialect dialect : {BundleDialect::kSymbolicConstants, BundleDialect::kBakedAddresses,
                                BundleDialect::kSymbolicArguments}) {
    SCOPED_TRACE("dialect " + std::to_string(static_cast<int>(dialect)));
    const Bundle emitted = EmitBundle(source, dialect);
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::filesystem::path directory =
        std::filesystem::path(::testing::TempDir()) /
        (std::string(test->name()) + std::to_string(static_cast<int>(dialect)));
    WriteBundle(emitted, dialect, directory);
    const Bundle read = ReadBundle(directory);
    std::filesystem::remove_all(directory);

    EXPECT_EQ(read.files, emitted.files);
    ASSERT_THAT(read.dscs, SizeIs(emitted.dscs.size()));
    for (size_t i = 0; i < read.dscs.size(); ++i) {
      EXPECT_EQ(Print(read.dscs[i]), Print(emitted.dscs[i])) << emitted.files[i];
    }
    ASSERT_THAT(read.arguments, SizeIs(emitted.arguments.size()));
    for (size_t i = 0; i < read.arguments.size(); ++i) {
      EXPECT_EQ(read.arguments[i].name, emitted.arguments[i].name);
      EXPECT_EQ(read.arguments[i].kind, emitted.arguments[i].kind);
    }
    ExpectEqual(read.body, emitted.body);
    EXPECT_EQ(BundleMlir(read, dialect), BundleMlir(emitted, dialect));
  }
}

TEST(ReadBack, LoopsWithPoolLxAndPartsOfArguments) {
  const std::vector<std::string>& rows = RowsByColumns();
  const std::vector<int64_t> whole = {64, 1024, 64};
  OpSpec first =
      MakeOp("add", {{"c0", 512, 32}, {"c1", 1024, 1}},
             {MakeArg(0, whole, rows), MakeArg(1, {64, 64}, {"floor(c1/64)", "Mod(c1, 64)"}),
              MakeScratch(Memory::kLx, 4096, {16, 512, 64}, rows)});
  first.args[2].per_tile_fixed = true;
  OpSpec second = MakeOp("mul", {{"c0", 512, 32}, {"c1", 1024, 1}},
                         {MakeScratch(Memory::kLx, 4096, {16, 512, 64}, rows),
                          MakeArg(2, {64, 2048, 64}, {"floor(c1/64)", "c0 + 256", "Mod(c1, 64)"}),
                          MakeScratch(Memory::kPool, 1 << 20, whole, rows)});
  second.args[0].per_tile_fixed = true;
  first.tiled_symbols = second.tiled_symbols = {{"c0"}, {"c1"}};
  const OpSpec last = MakeOp("max", {{"c0", 1024, 32}, {"c1", 4090, 1}},
                             {MakeScratch(Memory::kPool, 1 << 20, whole, rows),
                              MakeArg(3, {1, 1024, 64}, {"0", "c0", "0"})},
                             true);
  ExpectReadBack(SourceOf({LoopSpec{int64_t{2}, {LoopSpec{int64_t{4}, {first, second}}}}, last}));
}

TEST(ReadBack, MatmulsWithDividedContractions) {
  OpSpec op = MakeOp("batchmatmul", {{"c0", 3, 3}, {"c1", 16, 1}, {"c2", 128, 2}, {"c3", 256, 4}},
                     {MakeArg(0, {16, 4, 3, 64}, {"c1", "floor(c3/64)", "c0", "Mod(c3, 64)"}),
                      MakeArg(1, {256, 2, 3, 64}, {"c3", "floor(c2/64)", "c0", "Mod(c2, 64)"}),
                      MakeArg(2, {16, 2, 3, 64}, {"c1", "floor(c2/64)", "c0", "Mod(c2, 64)"})},
                     true);
  ExpectReadBack(SourceOf({op}));
}

TEST(ReadBack, ConstantsMasksAndTwoFormats) {
  OpSpec mean = MakeOp(
      "mean", {{"c0", 10, 2}, {"c1", 100, 1}},
      {MakeArg(0, {2, 10, 64}, RowsByColumns()), MakeArg(1, {1, 10, 64}, {"0", "c0", "0"})}, true);
  mean.constants = {{"scaling_factor", 0.01}};
  const OpSpec wide = MakeOp(
      "dl16tofp32", {{"c0", 10, 2}, {"c1", 128, 1}},
      {MakeArg(0, {2, 10, 64}, RowsByColumns()),
       MakeArg(2, {4, 10, 32}, {"floor(c1/32)", "c0", "Mod(c1, 32)"}, DataFormat::kIeeeFp32)});
  ExpectReadBack(SourceOf({mean, wide}));
}

}  // namespace
}  // namespace spyre::compiler::bundle_read_back_test
