// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/unroll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/compiler/ir/device_coordinates.h"
#include "runtime/compiler/ir/ir.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::unroll_test {
namespace {

using ::testing::HasSubstr;
using Sizes = std::vector<int64_t>;

TensorArg Arg(const Sizes& device_size, const std::vector<std::string>& coordinates,
              int64_t address = 0) {
  TensorArg arg;
  arg.device_size = device_size;
  for (const std::string& text : coordinates) {
    arg.device_coordinates.push_back(ParseExpression(text));
  }
  arg.address = address;
  return arg;
}

// [rows, columns] in sticks of 64 along the columns, c0 rows and c1 columns.
TensorArg Matrix(int64_t rows, int64_t columns, int64_t address = 0) {
  return Arg({columns / 64, rows, 64}, {"floor(c1/64)", "c0", "Mod(c1, 64)"}, address);
}

OpSpec Op(std::vector<IterationSymbol> space, std::vector<TensorArg> args) {
  OpSpec op;
  op.op = "add";
  op.iteration_space = std::move(space);
  op.args = std::move(args);
  return op;
}

using Symbols = std::vector<std::string>;

// Puts `level` around what the operations say already.
void TileBy(const Symbols& level, std::vector<SpecNode>& body) {
  for (SpecNode& node : body) {
    if (auto* op = std::get_if<OpSpec>(&node)) {
      op->tiled_symbols.insert(op->tiled_symbols.begin(), level);
    } else if (auto* loop = std::get_if<LoopSpec>(&node)) {
      TileBy(level, loop->body);
    }
  }
}

// A loop that advances `symbols` in all its operations.
LoopSpec Loop(int64_t count, const Symbols& symbols, std::vector<SpecNode> body) {
  TileBy(symbols, body);
  return {count, std::move(body)};
}

OpSpec Tiled(OpSpec op, std::vector<Symbols> levels) {
  op.tiled_symbols = std::move(levels);
  return op;
}

std::vector<OpSpec> Unrolled(LoopSpec loop) {
  std::vector<OpSpec> ops;
  for (SpecNode& node : UnrollLoops({"k", {std::move(loop)}}).body) {
    ops.push_back(std::get<OpSpec>(node));
  }
  return ops;
}

Sizes Addresses(const std::vector<OpSpec>& ops, size_t arg = 0) {
  Sizes addresses;
  for (const OpSpec& op : ops) addresses.push_back(op.args[arg].address);
  return addresses;
}

// facts: [1024, 4096] fp16, tiles of 512 rows and 1024 columns.
TEST(Unroll, StridesAreThoseOfTheDeviceLayout) {
  const TensorArg arg = Matrix(1024, 4096);
  EXPECT_EQ(TileStrideBytes(arg, "c0", 512), 65'536);
  EXPECT_EQ(TileStrideBytes(arg, "c1", 1024), 2'097'152);
  EXPECT_EQ(TileStrideBytes(arg, "c7", 512), 0) << "a symbol that the tensor does not know";
}

TEST(Unroll, AnArgumentThatSaysHowItAdvancesIsBelieved) {
  TensorArg arg = Matrix(1024, 4096);
  arg.tile_advance = ParseExpression("32768*t0 + 1048576*t1");
  EXPECT_EQ(TileStrideBytes(arg, "t0", 7), 65'536);
  EXPECT_EQ(TileStrideBytes(arg, "t1", 7), 2'097'152);
  EXPECT_EQ(TileStrideBytes(arg, "c0", 7), 0);
}

TEST(Unroll, ATileOfOneStickHasNoStickCountToCountAndIsTakenByTheElement) {
  EXPECT_EQ(TileStrideBytes(Arg({8, 16, 64}, {"0", "c0", "c1"}), "c1", 64), 128);
}

TEST(Unroll, BodiesAreCopiedInOrderInnerLoopsFirst) {
  OpSpec a = Op({{"c0", 4, 1}, {"c1", 128, 1}}, {Matrix(8, 256, 1'000'000)});
  OpSpec b = a;
  a.op = "a";
  b.op = "b";
  const auto ops = Unrolled(Loop(2, {"c0"}, {a, Loop(2, {"c1"}, {b})}));
  std::string order;
  for (const OpSpec& op : ops) order += op.op;
  EXPECT_EQ(order, "abbabb");
  // Rows are 128 bytes apart, two columns of 8 sticks are a tile.
  EXPECT_EQ(Addresses(ops),
            (Sizes{1'000'000, 1'000'000, 1'002'048, 1'000'512, 1'000'512, 1'002'560}));
}

TEST(Unroll, FlatCopiesHaveNoTiledSymbols) {
  OpSpec op = Op({{"c0", 4, 1}, {"c1", 128, 1}}, {Matrix(8, 128)});
  for (const OpSpec& copy : Unrolled(Loop(2, {"c0"}, {op}))) {
    EXPECT_TRUE(copy.tiled_symbols.empty());
    EXPECT_EQ(copy.iteration_space[0].range, 4);
  }
}

TEST(Unroll, NamesAreLocalToAnOperationSoEachAdvancesByItsOwn) {
  const OpSpec op = Op({{"c0", 4, 1}, {"c1", 128, 1}}, {Matrix(8, 256)});
  const auto ops = Unrolled({int64_t{2}, {Tiled(op, {{"c0"}}), Tiled(op, {{"c1"}}), op}});
  // Rows are 128 bytes apart, two columns of 8 sticks are a tile.
  EXPECT_EQ(Addresses(ops), (Sizes{0, 0, 0, 512, 2048, 0}))
      << "rows, columns, and an operation that does the same in every iteration";
}

TEST(Unroll, AnOperationThatLacksALevelStaysInItWhateverItsNeighboursDo) {
  const OpSpec op = Op({{"c0", 4, 1}, {"c1", 128, 1}}, {Matrix(8, 256)});
  const LoopSpec inner{int64_t{2}, {Tiled(op, {{"c0"}, {"c1"}}), Tiled(op, {{}, {"c0"}})}};
  EXPECT_EQ(Addresses(Unrolled({int64_t{2}, {inner}})),
            (Sizes{0, 0, 2048, 512, 512, 0, 2560, 512}));
}

TEST(Unroll, FixedArgumentsStayAndAllOthersAdvanceWhateverTheirMemory) {
  std::vector<TensorArg> args(4, Matrix(8, 128));
  args[0].per_tile_fixed = true;
  args[1].memory = Memory::kPool;
  args[2].memory = Memory::kLx;
  const auto ops = Unrolled(Loop(2, {"c0"}, {Op({{"c0", 4, 1}, {"c1", 128, 1}}, args)}));
  EXPECT_EQ(Addresses(ops, 0), (Sizes{0, 0}));
  for (size_t arg : {1, 2, 3}) EXPECT_EQ(Addresses(ops, arg), (Sizes{0, 512})) << arg;
}

TEST(Unroll, SymbolsThatAnOperationLacksLeaveItInPlace) {
  const auto ops =
      Unrolled(Loop(3, {"c9"}, {Op({{"c0", 4, 1}, {"c1", 128, 1}}, {Matrix(8, 128)})}));
  EXPECT_EQ(Addresses(ops), (Sizes{0, 0, 0}));
  EXPECT_EQ(ops[2].args[0].device_size, (Sizes{2, 8, 64}));
}

TEST(Unroll, BroadcastArgumentsStay) {
  const TensorArg weight = Arg({2, 1, 64}, {"floor(c1/64)", "0", "Mod(c1, 64)"}, 4096);
  const auto ops = Unrolled(Loop(2, {"c0"}, {Op({{"c0", 4, 1}, {"c1", 128, 1}}, {weight})}));
  EXPECT_EQ(Addresses(ops), (Sizes{4096, 4096}));
}

// device_size of the copies of a loop over `symbol`.
Sizes TileSize(const TensorArg& arg, const std::string& symbol, int64_t range) {
  return Unrolled(Loop(2, {symbol}, {Op({{symbol, range, 1}}, {arg})}))[0].args[0].device_size;
}

TEST(Unroll, AnOutermostDimensionShrinksToTheTile) {
  EXPECT_EQ(TileSize(Arg({16, 4, 8, 64}, {"c0", "floor(c2/64)", "c1", "Mod(c2, 64)"}), "c0", 4),
            (Sizes{4, 4, 8, 64}));
}

TEST(Unroll, ADimensionInsideAnotherKeepsItsSizeBecauseItIsAStride) {
  EXPECT_EQ(TileSize(Arg({16, 4, 8, 64}, {"c0", "floor(c2/64)", "c1", "Mod(c2, 64)"}), "c1", 2),
            (Sizes{16, 4, 8, 64}));
  EXPECT_EQ(TileSize(Matrix(8, 128), "c0", 4), (Sizes{2, 8, 64}));
}

TEST(Unroll, DimensionsOfSizeOneOutsideDoNotCount) {
  EXPECT_EQ(TileSize(Arg({1, 8, 64}, {"0", "c0", "Mod(c1, 64)"}), "c0", 4), (Sizes{1, 4, 64}));
}

TEST(Unroll, SymbolsInsideTheStickShrinkNothing) {
  EXPECT_EQ(TileSize(Matrix(8, 512), "c1", 128), (Sizes{8, 8, 64}));
  EXPECT_EQ(TileSize(Arg({8, 64}, {"floor(c0/64)", "Mod(c0, 64)"}), "c0", 128), (Sizes{8, 64}));
}

TEST(Unroll, FixedAndUnmovedArgumentsKeepTheirSizes) {
  TensorArg arg = Arg({16, 8, 64}, {"c0", "0", "c1"});
  arg.per_tile_fixed = true;
  EXPECT_EQ(TileSize(arg, "c0", 4), (Sizes{16, 8, 64}));
}

TEST(Unroll, WhatIsNoOperationIsCopiedUnchanged) {
  const KernelSource flat =
      UnrollLoops({"k", {Loop(2, {"c0"}, {UnimplementedOp{"sort"}}), UnimplementedOp{"top"}}});
  ASSERT_EQ(flat.body.size(), 3U);
  EXPECT_EQ(std::get<UnimplementedOp>(flat.body[1]).op, "sort");
  EXPECT_EQ(flat.name, "k");
}

TEST(Unroll, SymbolicCountsAreValueErrors) {
  const LoopSpec loop{std::string("s0"), {}};
  try {
    UnrollLoops({"k", {loop}});
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "ValueError");
    EXPECT_THAT(error.what(), HasSubstr("s0"));
  }
}

TEST(Unroll, EmptyLoopsAndLoopsOfNoTripsAreNothing) {
  EXPECT_TRUE(UnrollLoops({"k", {Loop(1'000'000'000'000, {}, {})}}).body.empty());
  EXPECT_TRUE(UnrollLoops({"k", {Loop(0, {}, {UnimplementedOp{"x"}})}}).body.empty());
}

TEST(Unroll, MoreOperationsThanAnybodyWantsAreRefusedBeforeTheyAreMade) {
  for (const int64_t count : {int64_t{1'100'000}, int64_t{1'000'000'000'000}, INT64_MAX}) {
    EXPECT_THROW(UnrollLoops({"k", {Loop(count, {}, {UnimplementedOp{"x"}})}}), Error) << count;
  }
  const LoopSpec loop = Loop(600'000, {}, {UnimplementedOp{"x"}});
  EXPECT_EQ(UnrollLoops({"k", {loop}}).body.size(), 600'000U);
  EXPECT_THROW(UnrollLoops({"k", {loop, loop}}), Error);
  EXPECT_THROW(UnrollLoops({"k", {Loop(1 << 11, {}, {Loop(1 << 10, {}, {UnimplementedOp{"x"}})})}}),
               Error);
  EXPECT_THROW(UnrollLoops({"k", {Loop(-1, {}, {UnimplementedOp{"x"}})}}), Error);
}

TEST(Unroll, AddressesThatLeave64BitsAreRefused) {
  const OpSpec op = Op({{"c0", 4, 1}}, {Arg({8, 64}, {"c0", "0"}, INT64_MAX - 100)});
  EXPECT_THROW(UnrollLoops({"k", {Loop(2, {"c0"}, {op})}}), Error);
}

// A tensor in default layout, cut along one or two dimensions: the address of a tile is that of its
// first element in the whole tensor, for tiles of whole sticks that are more than one.
TEST(Unroll, EveryTileBeginsWhereItsFirstElementLies) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto rank = test::Draw<size_t>(random, 1, 4);
    Sizes tile;
    Sizes count;
    OpIr op;
    for (size_t d = 0; d < rank; ++d) {
      const bool stick = d + 1 == rank;
      tile.push_back(test::Draw<int64_t>(random, 2, 5) * (stick ? 64 : 1));
      count.push_back(test::Draw<int64_t>(random, 1, 3));
      op.loops.push_back({"c" + std::to_string(d), tile[d]});
    }
    Sizes size;
    for (size_t d = 0; d < rank; ++d) size.push_back(tile[d] * count[d]);
    const StickLayout layout = DefaultLayout(size, DataFormat::kSen169Fp16);
    const IndexExpression index{0, layout.host_stride};
    TensorArg arg;
    arg.device_size = layout.device_size;
    for (const Coordinate& coordinate : DeviceCoordinates(layout, index, op.loops)) {
      arg.device_coordinates.push_back(ParseExpression(ToString(coordinate, op.loops)));
    }
    // One loop per dimension, the first outermost.
    OpSpec body = Op({}, {arg});
    for (const LoopVariable& loop : op.loops)
      body.iteration_space.push_back({loop.name, loop.range, 1});
    KernelSource source{"k", {body}};
    for (size_t d = rank; d-- > 0;) {
      LoopSpec loop = Loop(count[d], {op.loops[d].name}, source.body);
      source.body = {loop};
    }
    const KernelSource flat = UnrollLoops(source);
    int64_t tiles = 1;
    for (const int64_t c : count) tiles *= c;
    ASSERT_EQ(flat.body.size(), static_cast<size_t>(tiles));
    Sizes at(rank, 0);  // tile numbers, the last fastest
    for (const SpecNode& node : flat.body) {
      int64_t expected = 0;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t first = at[d] * tile[d] / (d + 1 == rank ? 64 : 1);
        expected += first * layout.DeviceByteStride(static_cast<int>(d));
      }
      ASSERT_EQ(std::get<OpSpec>(node).args[0].address, expected);
      for (size_t d = rank; d-- > 0 && ++at[d] == count[d];) at[d] = 0;
    }
  });
}

}  // namespace
}  // namespace spyre::compiler::unroll_test
