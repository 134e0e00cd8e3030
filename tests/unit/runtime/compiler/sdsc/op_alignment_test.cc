// SPDX-License-Identifier: Apache-2.0
// Tensors of one operation brought to one rank and one set of symbols.
#include "runtime/compiler/sdsc/op_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/compiler/ir/ir.h"
#include "tests/unit/runtime/compiler/bundle/emit_source.h"

namespace spyre::compiler::op_alignment_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Coordinates(const OpSpec& op, size_t arg) {
  std::vector<std::string> texts;
  for (const Expression& expression : op.args.at(arg).device_coordinates) {
    texts.push_back(ToString(expression));
  }
  return texts;
}

std::vector<std::string> Space(const OpSpec& op) {
  std::vector<std::string> texts;
  for (const IterationSymbol& symbol : op.iteration_space) {
    texts.push_back(symbol.name + ":" + std::to_string(symbol.range) + "/" +
                    std::to_string(symbol.split));
  }
  return texts;
}

// Twice is once: what is aligned stays.
OpSpec Align(const OpSpec& op) {
  const OpSpec aligned = AlignTensors(op);
  const OpSpec again = AlignTensors(aligned);
  EXPECT_EQ(Space(again), Space(aligned));
  for (size_t i = 0; i < op.args.size(); ++i) {
    EXPECT_EQ(Coordinates(again, i), Coordinates(aligned, i)) << "argument " << i;
    EXPECT_EQ(again.args[i].device_size, aligned.args[i].device_size) << "argument " << i;
  }
  return aligned;
}

TEST(AlignTensors, LeavesTensorsThatAgreeAlone) {
  const OpSpec op =
      MakeOp("add", {{"c0", 64, 4}, {"c1", 100, 1}},
             {MakeArg(0, {2, 64, 64}, RowsByColumns()), MakeArg(1, {2, 64, 64}, RowsByColumns())});
  const OpSpec aligned = Align(op);
  EXPECT_THAT(Space(aligned), ElementsAre("c0:64/4", "c1:100/1"));
  EXPECT_EQ(Coordinates(aligned, 0), Coordinates(op, 0));
  EXPECT_EQ(aligned.args[0].device_size, op.args[0].device_size);
}

TEST(AlignTensors, AddsDimensionsOfSizeOneOutside) {
  const OpSpec aligned = Align(MakeOp(
      "mul", {{"c0", 32, 4}, {"c1", 128, 1}},
      {MakeArg(0, {2, 32, 64}, RowsByColumns()),
       MakeArg(1, {2, 64}, {"floor(c1/64)", "Mod(c1, 64)"}), MakeArg(2, {1, 64}, {"0", "0"})}));
  EXPECT_THAT(aligned.args[1].device_size, ElementsAre(1, 2, 64));
  EXPECT_THAT(Coordinates(aligned, 1), ElementsAre("0", "floor(c1/64)", "Mod(c1, 64)"));
  EXPECT_THAT(aligned.args[2].device_size, ElementsAre(1, 1, 64));
}

TEST(AlignTensors, GivesASingleStickItsCount) {
  const OpSpec aligned = Align(MakeOp(
      "neg", {{"c0", 16, 1}, {"c1", 48, 1}},
      {MakeArg(0, {16, 1, 64}, {"c0", "0", "c1"}), MakeArg(1, {1, 16, 64}, {"0", "c0", "c1"})}));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(aligned.args[i].device_size, ElementsAre(1, 16, 64));
    EXPECT_THAT(Coordinates(aligned, i), ElementsAre("floor(c1/64)", "c0", "Mod(c1, 64)"));
  }
}

TEST(AlignTensors, SplitsASymbolWhereATensorCutsIt) {
  const OpSpec aligned =
      Align(MakeOp("add", {{"c0", 8, 2}, {"c1", 256, 4}},
                   {MakeArg(0, {4, 8, 64}, {"floor(c1/64)", "c0", "Mod(c1, 64)"}),
                    MakeArg(1, {2, 2, 8, 64},
                            {"floor(Mod(c1, 128)/64)", "floor(c1/128)", "c0", "Mod(c1, 64)"})}));
  EXPECT_THAT(Space(aligned), ElementsAre("c0:8/2", "c1:128/2", "z0:2/2"))
      << "the outer part is divided over cores first";
  EXPECT_THAT(Coordinates(aligned, 0), ElementsAre("z0", "floor(c1/64)", "c0", "Mod(c1, 64)"));
  EXPECT_THAT(aligned.args[0].device_size, ElementsAre(2, 2, 8, 64));
  EXPECT_THAT(Coordinates(aligned, 1), ElementsAre("floor(c1/64)", "z0", "c0", "Mod(c1, 64)"));
}

TEST(AlignTensors, FusesDimensionsThatOneSymbolWalksWithoutASeam) {
  const OpSpec aligned =
      Align(MakeOp("neg", {{"c0", 12, 1}, {"c1", 64, 1}},
                   {MakeArg(0, {3, 4, 64}, {"floor(c0/4)", "Mod(c0, 4)", "c1"}),
                    MakeArg(1, {3, 4, 64}, {"floor(c0/4)", "Mod(c0, 4)", "c1"})}));
  EXPECT_THAT(Space(aligned), ElementsAre("c0:12/1", "c1:64/1"));
  EXPECT_THAT(aligned.args[0].device_size, ElementsAre(1, 12, 64));
}

TEST(AlignTensors, NamesADimensionThatStandsStillInEveryTensor) {
  const OpSpec aligned =
      Align(MakeOp("neg", {{"c0", 8, 1}, {"c1", 128, 1}},
                   {MakeArg(0, {5, 2, 8, 64}, {"3", "floor(c1/64)", "c0", "Mod(c1, 64)"}),
                    MakeArg(1, {2, 8, 64}, RowsByColumns())}));
  EXPECT_THAT(Space(aligned), ElementsAre("c0:8/1", "c1:128/1", "z0:1/1"));
  EXPECT_THAT(Coordinates(aligned, 0), ElementsAre("z0 + 3", "floor(c1/64)", "c0", "Mod(c1, 64)"));
  EXPECT_THAT(Coordinates(aligned, 1), ElementsAre("z0", "floor(c1/64)", "c0", "Mod(c1, 64)"));
  EXPECT_THAT(aligned.args[1].device_size, ElementsAre(1, 2, 8, 64));
}

TEST(AlignTensors, MakesWhatAStepSkipsADimension) {
  const OpSpec aligned =
      Align(MakeOp("neg", {{"c0", 8, 1}, {"c1", 64, 1}},
                   {MakeArg(0, {16, 64}, {"2*c0 + 1", "c1"}), MakeArg(1, {8, 64}, {"c0", "c1"})}));
  EXPECT_THAT(aligned.args[0].device_size, ElementsAre(1, 8, 2, 64));
  EXPECT_THAT(Coordinates(aligned, 0), ElementsAre("floor(c1/64)", "c0", "z0 + 1", "Mod(c1, 64)"));
}

void ExpectUnsupported(const std::vector<int64_t>& size,
                       const std::vector<std::string>& coordinates) {
  const OpSpec op = MakeOp("neg", {{"c0", 8, 1}, {"c1", 128, 1}}, {MakeArg(0, size, coordinates)});
  try {
    AlignTensors(op);
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "Unsupported") << error.what();
  }
}

TEST(AlignTensors, RefusesWhatTheHardwareCannotWalk) {
  ExpectUnsupported({8, 64}, {"c0", "Mod(c1, 32)"});
  ExpectUnsupported({8, 64}, {"c0", "c1 + 1"});
  ExpectUnsupported({8, 64}, {"c0", "c0 + c1"});
  ExpectUnsupported({8, 64}, {"c0*c0", "0"});
  ExpectUnsupported({8, 64}, {"floor((c0 + c1)/2)", "0"});
  ExpectUnsupported({8, 64}, {"c7", "0"});
  ExpectUnsupported({8, 64}, {"3*floor(c0/2)", "0"});
}

TEST(AlignTensors, RefusesSizesThatMakeNoSense) {
  const auto refuses = [](const OpSpec& op) { EXPECT_THROW(AlignTensors(op), Error); };
  refuses(MakeOp("neg", {{"c0", 8, 1}}, {MakeArg(0, {64}, {"c0"})}));
  refuses(MakeOp("neg", {{"c0", 8, 1}}, {MakeArg(0, {8, 64}, {"c0"})}));
  refuses(MakeOp("neg", {{"c0", 8, 1}}, {MakeArg(0, {0, 64}, {"c0", "0"})}));
  refuses(MakeOp("neg", {{"c0", 0, 1}}, {MakeArg(0, {8, 64}, {"c0", "0"})}));
  refuses(MakeOp("neg", {{"c0", 8, 0}}, {MakeArg(0, {8, 64}, {"c0", "0"})}));
}

}  // namespace
}  // namespace spyre::compiler::op_alignment_test
