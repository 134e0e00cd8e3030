// SPDX-License-Identifier: Apache-2.0
// Bundles from kernel sources: the public emitter's own output, symbols, loops, arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.h"
#include "tests/paths.h"
#include "tests/unit/runtime/compiler/bundle/emit_source.h"

namespace spyre::compiler::bundle_emit_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string WithoutSpace(std::string text) {
  text.erase(
      std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); }),
      text.end());
  return text;
}

struct Sample {
  std::filesystem::path directory;
  BundleDialect dialect;
};

std::vector<Sample> Samples() {
  const std::map<std::string, BundleDialect> dialects = {
      {"symbolic_constants", BundleDialect::kSymbolicConstants},
      {"flat_baked_addresses", BundleDialect::kBakedAddresses},
      {"symbolic_args", BundleDialect::kSymbolicArguments}};
  std::vector<Sample> samples;
  for (const auto& [name, dialect] : dialects) {
    const auto root = std::filesystem::path(SPYRE_SOURCE_DIR) / "tests/data/bundles" / name;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().filename() == "op_spec.py.txt") {
        samples.push_back({entry.path().parent_path(), dialect});
      }
    }
  }
  return samples;
}

size_t CountSdscFiles(const std::filesystem::path& directory) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    count += entry.path().extension() == ".json" ? 1 : 0;
  }
  return count;
}

TEST(EmitBundle, WritesWhatThePublicEmitterWrites) {
  const std::vector<Sample> samples = Samples();
  ASSERT_GE(samples.size(), 18U);
  for (const auto& [directory, dialect] : samples) {
    const std::string source = (directory / "op_spec.py.txt").string();
    const Bundle bundle = EmitBundle(ParseOpSpecSource(ReadText(source), source), dialect);
    ASSERT_EQ(bundle.files.size(), CountSdscFiles(directory)) << directory;
    for (size_t i = 0; i < bundle.files.size(); ++i) {
      const auto expected = SortedJsonOf(ReadText(directory / bundle.files[i]));
      const auto actual = SortedJsonOf(ToSdscJson(bundle.dscs[i], dialect));
      EXPECT_EQ(actual, expected) << directory / bundle.files[i] << ":\n"
                                  << nlohmann::json::diff(expected, actual).dump(1);
    }
    EXPECT_EQ(WithoutSpace(BundleMlir(bundle, dialect)),
              WithoutSpace(ReadText(directory / "bundle.mlir")))
        << directory;
  }
}

// Tiles of `rows` x `columns` of a [1024, 4096] tensor.
std::vector<TensorArg> TiledArgs(int count) {
  std::vector<TensorArg> args;
  for (int i = 0; i < count; ++i) args.push_back(MakeArg(i, {64, 1024, 64}, RowsByColumns()));
  return args;
}

OpSpec Tiled(OpSpec op, std::vector<std::vector<std::string>> symbols) {
  op.tiled_symbols = std::move(symbols);
  return op;
}

const BundleExecute& OnlyExecute(const Bundle& bundle) {
  const std::vector<BundleNode>* nodes = &bundle.body;
  while (const auto* loop = std::get_if<BundleLoop>(&nodes->at(0))) nodes = &loop->body;
  return std::get<BundleExecute>(nodes->at(0));
}

std::vector<int64_t> Constants(const BundleExecute& execute) {
  std::vector<int64_t> constants;
  for (auto it = execute.symbols.rbegin(); it != execute.symbols.rend(); ++it) {
    constants.push_back(it->second.constant);
  }
  return constants;
}

TEST(EmitSymbols, AreSharedByEqualAddressesOfOneOperationButNotBetweenTwo) {
  OpSpec square =
      MakeOp("mul", {{"c0", 64, 2}, {"c1", 128, 1}},
             {MakeArg(0, {2, 64, 64}, RowsByColumns()), MakeArg(0, {2, 64, 64}, RowsByColumns()),
              MakeArg(1, {2, 64, 64}, RowsByColumns())});
  const Bundle bundle = EmitBundle(SourceOf({square, square}), BundleDialect::kSymbolicConstants);
  EXPECT_THAT(bundle.dscs[0].tensors[0].start, ElementsAre(-1, -2));
  EXPECT_THAT(bundle.dscs[0].tensors[1].start, ElementsAre(-1, -2));
  EXPECT_THAT(bundle.dscs[0].tensors[2].start, ElementsAre(-3, -4));
  EXPECT_THAT(bundle.dscs[1].tensors[0].start, ElementsAre(-5, -6));
  EXPECT_THAT(Constants(std::get<BundleExecute>(bundle.body[0])),
              ElementsAre(0, 4096, kTestSegment, kTestSegment + 4096));
}

TEST(EmitSymbols, OfTheNewestFormCountTheBaseOfAnArgumentThatIsReadInPart) {
  const OpSpec op = MakeOp("neg", {{"c0", 8, 2}, {"c1", 128, 1}},
                           {MakeArg(0, {2, 32, 64}, {"floor(c1/64)", "c0 + 4", "Mod(c1, 64)"}),
                            MakeArg(1, {2, 8, 64}, RowsByColumns())});
  const Bundle bundle = EmitBundle(SourceOf({op}), BundleDialect::kSymbolicArguments);
  EXPECT_THAT(bundle.dscs[0].tensors[0].start, ElementsAre(-2, -3));
  EXPECT_THAT(bundle.dscs[0].tensors[1].start, ElementsAre(-4, -5));
  const std::string mlir = BundleMlir(bundle, BundleDialect::kSymbolicArguments);
  EXPECT_NE(mlir.find("%arg_0_slice_512 = arith.addi %arg_0, %arg_0_slice_offset_512"),
            std::string::npos)
      << mlir;
  EXPECT_NE(mlir.find("%arg_0_slice_512_core_512 = arith.addi %arg_0_slice_512, "
                      "%arg_0_slice_512_core_offset_512"),
            std::string::npos)
      << mlir;
  EXPECT_NE(mlir.find("\"symbol_ids\"=[-2, -3, -4, -5]"), std::string::npos) << mlir;
}

TEST(EmitArguments, AreThePoolAndThenTheArgumentsByIndex) {
  const std::vector<std::string>& coordinates = RowsByColumns();
  const OpSpec first = MakeOp("neg", {{"c0", 64, 2}, {"c1", 128, 1}},
                              {MakeArg(3, {2, 64, 64}, coordinates),
                               MakeScratch(Memory::kPool, 8192, {2, 64, 64}, coordinates)});
  const OpSpec second = MakeOp("neg", {{"c0", 64, 2}, {"c1", 128, 1}},
                               {MakeScratch(Memory::kPool, 8192, {2, 64, 64}, coordinates),
                                MakeArg(1, {2, 64, 64}, coordinates)});
  const Bundle bundle = EmitBundle(SourceOf({first, second}), BundleDialect::kSymbolicArguments);
  ASSERT_EQ(bundle.arguments.size(), 3U);
  EXPECT_EQ(bundle.arguments[0].name, "pool");
  EXPECT_EQ(bundle.arguments[1].name, "arg_1");
  EXPECT_EQ(bundle.arguments[2].name, "arg_3");
  const auto& execute = std::get<BundleExecute>(bundle.body[0]);
  EXPECT_EQ(execute.symbols.at(-1).argument, 2);
  EXPECT_EQ(execute.symbols.at(-3).argument, 0);
  EXPECT_EQ(execute.symbols.at(-3).constant, 8192);
  EXPECT_NE(BundleMlir(bundle, BundleDialect::kSymbolicArguments)
                .find("%pool_addr_8192 = arith.addi %pool, %pool_offset_8192"),
            std::string::npos);
}

TEST(EmitArguments, TakeTheirNumbersOrTheirSegments) {
  OpSpec by_number =
      MakeOp("neg", {{"c0", 64, 2}, {"c1", 128, 1}},
             {MakeArg(0, {2, 64, 64}, RowsByColumns()), MakeArg(1, {2, 64, 64}, RowsByColumns())});
  by_number.args[0].address = 0;
  by_number.args[1].address = 1;
  const SuperDsc dsc = Emit(by_number);
  EXPECT_THAT(dsc.tensors[1].start, ElementsAre(kTestSegment, kTestSegment + 4096));
  by_number.args.insert(by_number.args.begin(),
                        MakeScratch(Memory::kPool, 0, {2, 64, 64}, RowsByColumns()));
  EXPECT_THAT(Emit(by_number).tensors[1].start, ElementsAre(kTestSegment, kTestSegment + 4096))
      << "the pool has segment 0, the first argument the next";
}

TEST(EmitArguments, StayWhereTheSourcePutsThem) {
  OpSpec op = MakeOp("add", {{"c0", 64, 2}, {"c1", 128, 1}},
                     {MakeArg(0, {2, 64, 64}, RowsByColumns()),
                      MakeScratch(Memory::kHbm, 5 * kTestSegment, {2, 64, 64}, RowsByColumns()),
                      MakeArg(1, {2, 64, 64}, RowsByColumns())});
  op.args[2].address = 3 * kTestSegment + 8192;
  const SuperDsc dsc = Emit(op);
  EXPECT_THAT(dsc.tensors[0].start, ElementsAre(0, 4096));
  EXPECT_THAT(dsc.tensors[1].start, ElementsAre(5 * kTestSegment, 5 * kTestSegment + 4096));
  EXPECT_THAT(dsc.tensors[2].start, ElementsAre(3 * kTestSegment + 8192, 3 * kTestSegment + 12288));
  EXPECT_EQ(EmitBundle(SourceOf({op}), BundleDialect::kSymbolicArguments).arguments.at(0).name,
            "pool");
}

TEST(EmitArguments, AreAtMostSevenOrSixBesideAPool) {
  const auto kernel = [](int arguments, bool pool) {
    std::vector<SpecNode> body;
    for (int i = 0; i < arguments; ++i) {
      body.emplace_back(MakeOp("neg", {{"c0", 64, 1}, {"c1", 64, 1}},
                               {MakeArg(i, {1, 64, 64}, RowsByColumns()),
                                pool ? MakeScratch(Memory::kPool, 0, {1, 64, 64}, RowsByColumns())
                                     : MakeArg(0, {1, 64, 64}, RowsByColumns())}));
    }
    return SourceOf(std::move(body));
  };
  const auto refused = [&](int arguments, bool pool) {
    try {
      EmitBundle(kernel(arguments, pool), BundleDialect::kSymbolicConstants);
      return false;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.type(), "IndexError") << error.what();
      return true;
    }
  };
  EXPECT_FALSE(refused(7, false));
  EXPECT_TRUE(refused(8, false));
  EXPECT_FALSE(refused(6, true));
  EXPECT_TRUE(refused(7, true));
  EXPECT_NO_THROW(EmitBundle(kernel(8, false), BundleDialect::kSymbolicArguments))
      << "arguments of the newest form have no segments";
}

TEST(EmitLoops, AdvanceByDeviceStrides) {
  const OpSpec op =
      Tiled(MakeOp("neg", {{"c0", 512, 32}, {"c1", 1024, 1}}, TiledArgs(2)), {{"c0"}, {"c1"}});
  const KernelSource source = SourceOf({LoopSpec{int64_t{2}, {LoopSpec{int64_t{4}, {op}}}}});
  const Bundle bundle = EmitBundle(source, BundleDialect::kSymbolicConstants);
  EXPECT_THAT(OnlyExecute(bundle).symbols.at(-1).loop_stride, ElementsAre(65536, 2097152));
}

TEST(EmitLoops, LeaveOutTheLevelsThatDoNotTileTheTensor) {
  OpSpec op =
      Tiled(MakeOp("mul", {{"c0", 512, 32}, {"c1", 1024, 1}}, TiledArgs(3)), {{"c0"}, {"c1"}});
  op.args[1] = MakeArg(1, {64, 64}, {"floor(c1/64)", "Mod(c1, 64)"});
  op.args[2].per_tile_fixed = true;
  const KernelSource source = SourceOf({LoopSpec{int64_t{2}, {LoopSpec{int64_t{4}, {op}}}}});
  const Bundle bundle = EmitBundle(source, BundleDialect::kSymbolicConstants);
  const BundleExecute& execute = OnlyExecute(bundle);
  EXPECT_THAT(execute.symbols.at(-33).loop_stride, ElementsAre(0, 16 * 128)) << "a broadcast row";
  EXPECT_THAT(execute.symbols.at(-34).loop_stride, ElementsAre(0, 0)) << "fixed";
  const std::string mlir = BundleMlir(bundle, BundleDialect::kSymbolicConstants);
  EXPECT_NE(mlir.find("#map_1 = affine_map<(d0)[s0] -> (s0 + 2048*d0)>"), std::string::npos)
      << mlir;
  EXPECT_NE(mlir.find("affine.apply #map_1(%i_1)[%sym_33]"), std::string::npos) << mlir;
}

TEST(EmitLoops, AlongOneSymbolAreRefusedBecauseItDoesNotSayHowFarTheOuterOneSteps) {
  const OpSpec op =
      Tiled(MakeOp("neg", {{"c0", 512, 32}, {"c1", 1024, 1}}, TiledArgs(2)), {{"c0"}, {"c0"}});
  for (const BundleDialect dialect :
       {BundleDialect::kBakedAddresses, BundleDialect::kSymbolicConstants}) {
    try {
      EmitBundle(SourceOf({LoopSpec{int64_t{2}, {LoopSpec{int64_t{1}, {op}}}}}), dialect);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("two loops around it advance 'c0'"));
    }
  }
}

TEST(EmitLoops, OfTheNewestFormAdvanceAsTheArgumentSays) {
  OpSpec op =
      Tiled(MakeOp("neg", {{"c0", 512, 32}, {"c1", 1024, 1}}, TiledArgs(2)), {{"t0"}, {"t1"}});
  op.args[0].tile_advance = ParseExpression("floor(32768*t0) + floor(1048576*t1)");
  const KernelSource source = SourceOf({LoopSpec{int64_t{2}, {LoopSpec{int64_t{4}, {op}}}}});
  const Bundle bundle = EmitBundle(source, BundleDialect::kSymbolicArguments);
  EXPECT_THAT(OnlyExecute(bundle).symbols.at(-1).loop_stride, ElementsAre(65536, 2097152));
  EXPECT_THAT(OnlyExecute(bundle).symbols.at(-33).loop_stride, ElementsAre(0, 0));

  op.args[1] = MakeScratch(Memory::kLx, 0, {16, 512, 64}, RowsByColumns());
  op.args[1].is_input = false;
  op.args[1].tile_advance = ParseExpression("64*t1");
  const KernelSource advancing_lx = SourceOf({LoopSpec{int64_t{2}, {LoopSpec{int64_t{4}, {op}}}}});
  try {
    EmitBundle(advancing_lx, BundleDialect::kSymbolicArguments);
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "NotImplementedError") << error.what();
  }
}

TEST(EmitLoops, WithASymbolicCountAreRefusedByName) {
  const KernelSource source = SourceOf({LoopSpec{
      std::string("s0"), {MakeOp("neg", {{"c0", 512, 1}, {"c1", 1024, 1}}, TiledArgs(2))}}});
  const auto type = [&](BundleDialect dialect) -> std::string {
    try {
      EmitBundle(source, dialect);
      return "accepted";
    } catch (const CompileError& error) {
      return error.type();
    }
  };
  EXPECT_EQ(type(BundleDialect::kSymbolicConstants), "NotImplementedError");
  EXPECT_EQ(type(BundleDialect::kSymbolicArguments), "NotImplementedError");
  EXPECT_EQ(type(BundleDialect::kBakedAddresses), "ValueError");
}

TEST(EmitLoops, WrittenOutHaveTheAddressOfEveryIteration) {
  OpSpec op = Tiled(MakeOp("neg", {{"c0", 256, 1}, {"c1", 4096, 1}}, TiledArgs(2)), {{"c0"}});
  const KernelSource source = SourceOf({LoopSpec{int64_t{4}, {op}}});
  const Bundle bundle = EmitBundle(source, BundleDialect::kBakedAddresses);
  ASSERT_EQ(bundle.dscs.size(), 4U);
  ASSERT_EQ(bundle.body.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(bundle.dscs[i].tensors[0].start, ElementsAre(static_cast<int64_t>(i) * 256 * 128));
    EXPECT_FALSE(bundle.dscs[i].tensors[0].symbolic);
    EXPECT_THAT(std::get<BundleExecute>(bundle.body[i]).symbols, IsEmpty());
    EXPECT_EQ(bundle.files[i], "sdsc_" + std::to_string(i) + ".json");
  }
}

TEST(EmitLoops, OfTheNewestFormCanBeWrittenOut) {
  OpSpec op =
      Tiled(MakeOp("neg", {{"c0", 512, 1}, {"c1", 1024, 1}}, TiledArgs(2)), {{"t0"}, {"t1"}});
  for (TensorArg& arg : op.args) {
    arg.address = arg.arg_index;
    arg.tile_advance = ParseExpression("floor(32768*t0) + floor(1048576*t1)");
  }
  const KernelSource source = SourceOf({LoopSpec{int64_t{2}, {LoopSpec{int64_t{2}, {op}}}}});
  const Bundle bundle = EmitBundle(source, BundleDialect::kBakedAddresses);
  std::vector<int64_t> starts;
  for (const SuperDsc& dsc : bundle.dscs)
    starts.push_back(dsc.tensors[1].start.at(0) - kTestSegment);
  EXPECT_THAT(starts, ElementsAre(0, 2097152, 65536, 65536 + 2097152));
}

TEST(EmitBundle, RefusesOperationsThatTheFrontEndCouldNotLower) {
  const OpSpec op = MakeOp("neg", {{"c0", 512, 1}, {"c1", 1024, 1}}, TiledArgs(2));
  for (const BundleDialect dialect :
       {BundleDialect::kSymbolicConstants, BundleDialect::kBakedAddresses}) {
    try {
      EmitBundle(SourceOf({LoopSpec{int64_t{2}, {UnimplementedOp{"aten.foo"}, op}}}), dialect);
      FAIL() << "accepted: the bundle would lack an operation";
    } catch (const CompileError& error) {
      EXPECT_EQ(error.message_kind(), "unimplemented_op");
      EXPECT_THAT(error.what(), ::testing::HasSubstr("'aten.foo' is an UnimplementedOp"));
    }
  }
}

TEST(EmitBundle, RefusesAddressesAndCountsOutOfRange) {
  OpSpec op = MakeOp("neg", {{"c0", 512, 1}, {"c1", 1024, 1}}, TiledArgs(2));
  const auto refuses = [](const KernelSource& source) {
    EXPECT_THROW(EmitBundle(source, BundleDialect::kSymbolicConstants), Error);
  };
  refuses(SourceOf({LoopSpec{int64_t{0}, {op}}}));
  op.args[0].address = -128;
  refuses(SourceOf({op}));
  op.args[0].address = int64_t{1} << 62;
  refuses(SourceOf({op}));
  op.args[0] = MakeArg(3, {64, 1024, 64}, RowsByColumns());
  op.args[0].address = 2;
  refuses(SourceOf({op}));
  op.args[0].memory = Memory::kLx;
  op.args[0].address = 2 << 20;  // LX has 2 MiB
  refuses(SourceOf({op}));
}

}  // namespace
}  // namespace spyre::compiler::bundle_emit_test
