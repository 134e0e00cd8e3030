// SPDX-License-Identifier: Apache-2.0
// What an SDSC says of one operation: names, padding, masks, scales, gaps, layouts and cores.
#include "runtime/compiler/sdsc/sdsc_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/runtime/compiler/bundle/emit_source.h"

namespace spyre::compiler::sdsc_draft_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kDlfNinfNegative = 0xFFFF;

std::vector<std::string> DimNames(const SuperDsc& dsc) {
  std::vector<std::string> names;
  for (const SdscDim& dim : dsc.dims) names.push_back(dim.name);
  return names;
}

std::vector<std::string> Order(const SuperDsc& dsc, size_t tensor) {
  std::vector<std::string> names;
  for (int dim : dsc.tensors.at(tensor).dim_order) {
    names.push_back(dsc.dims.at(static_cast<size_t>(dim)).name);
  }
  return names;
}

OpSpec Matmul(int64_t rows, int64_t columns, int64_t inner, std::vector<int> splits) {
  const auto sticks = [](int64_t size) { return (size + 63) / 64; };
  return MakeOp(
      "batchmatmul",
      {{"c0", rows, splits[0]}, {"c1", columns, splits[1]}, {"c2", inner, splits[2]}},
      {MakeArg(0, {sticks(inner), rows, 64}, {"floor(c2/64)", "c0", "Mod(c2, 64)"}),
       MakeArg(1, {sticks(columns), sticks(inner) * 64, 64}, {"floor(c1/64)", "c2", "Mod(c1, 64)"}),
       MakeArg(2, {sticks(columns), rows, 64}, {"floor(c1/64)", "c0", "Mod(c1, 64)"})},
      true);
}

OpSpec RowReduction(const std::string& name, int64_t rows, int64_t columns, int split) {
  return MakeOp(name, {{"c0", rows, split}, {"c1", columns, 1}},
                {MakeArg(0, {(columns + 63) / 64, rows, 64}, RowsByColumns()),
                 MakeArg(1, {1, rows, 64}, {"0", "c0", "0"})},
                true);
}

TEST(SdscDims, ArePlacesInTheLoopOrderEndingWithOut) {
  const SuperDsc dsc =
      Emit(MakeOp("neg", {{"c0", 3, 1}, {"c1", 16, 1}, {"c2", 128, 1}},
                  {MakeArg(0, {16, 2, 3, 64}, {"c1", "floor(c2/64)", "c0", "Mod(c2, 64)"}),
                   MakeArg(1, {16, 2, 3, 64}, {"c1", "floor(c2/64)", "c0", "Mod(c2, 64)"})}));
  EXPECT_THAT(DimNames(dsc), ElementsAre("mb", "x", "out"));
  EXPECT_THAT(Order(dsc, 0), ElementsAre("mb", "out", "x")) << "innermost first";
}

TEST(SdscDims, OfAMatmulEndWithOutAndIn) {
  EXPECT_THAT(DimNames(Emit(Matmul(32, 128, 128, {1, 1, 1}))), ElementsAre("mb", "out", "in"));
}

TEST(SdscLayouts, OfAMatmulAreNamedAfterTheRoles) {
  const SuperDsc dsc = Emit(Matmul(32, 128, 128, {1, 1, 1}));
  EXPECT_EQ(dsc.tensors[0].type, "INPUT");
  EXPECT_EQ(dsc.tensors[1].type, "KERNEL");
  EXPECT_EQ(dsc.tensors[2].type, "OUTPUT");
  EXPECT_EQ(dsc.unit, "pt");
}

TEST(SdscLayouts, ThatDifferInTheStickAreTwoOfThem) {
  const SuperDsc dsc =
      Emit(MakeOp("ReStickifyOpHBM", {{"c0", 128, 2}, {"c1", 192, 1}},
                  {MakeArg(0, {3, 128, 64}, RowsByColumns()),
                   MakeArg(1, {2, 192, 64}, {"floor(c0/64)", "c1", "Mod(c0, 64)"})}));
  EXPECT_EQ(dsc.tensors[0].type, "OUTPUT");
  EXPECT_EQ(dsc.tensors[1].type, "KERNEL");
  EXPECT_THAT(dsc.tensors[1].stick_dims, ElementsAre(0));
  EXPECT_THAT(Order(dsc, 1), ElementsAre("out", "mb"));
  EXPECT_THAT(dsc.tensors[1].start, ElementsAre(kTestSegment, kTestSegment + 192 * 128))
      << "half of the rows is one stick of every column";
}

TEST(SdscScales, OfABroadcastOperandAreMinusOneWhereItDoesNotMove) {
  const SuperDsc dsc = Emit(MakeOp("mul", {{"c0", 32, 4}, {"c1", 128, 1}},
                                   {MakeArg(0, {2, 32, 64}, RowsByColumns()),
                                    MakeArg(1, {2, 64}, {"floor(c1/64)", "Mod(c1, 64)"}),
                                    MakeArg(2, {2, 32, 64}, RowsByColumns())}));
  EXPECT_THAT(Order(dsc, 1), ElementsAre("out", "mb"));
  EXPECT_THAT(dsc.tensors[1].scale, ElementsAre(1, -1));
  EXPECT_THAT(dsc.tensors[1].start,
              ElementsAre(kTestSegment, kTestSegment, kTestSegment, kTestSegment))
      << "all cores read the same row";
}

TEST(SdscScales, OfAScalarAreMinusOneAndMinusTwoInTheStick) {
  const SuperDsc dsc =
      Emit(MakeOp("add", {{"c0", 32, 4}, {"c1", 128, 1}},
                  {MakeArg(0, {2, 32, 64}, RowsByColumns()), MakeArg(1, {1, 64}, {"0", "0"}),
                   MakeArg(2, {2, 32, 64}, RowsByColumns())}));
  EXPECT_THAT(dsc.tensors[1].scale, ElementsAre(-1, -2));
}

TEST(SdscReduction, OverTheStickKeepsItsNameAndListsNoOutputAmongItsInputs) {
  const SuperDsc dsc = Emit(RowReduction("sum", 32, 256, 4));
  EXPECT_EQ(dsc.name, "0_sum");
  EXPECT_THAT(dsc.inputs, ElementsAre(0));
  EXPECT_THAT(dsc.tensors[1].scale, ElementsAre(1, -2));
  EXPECT_THAT(dsc.masks, IsEmpty());
  EXPECT_THAT(dsc.constants, IsEmpty());
}

TEST(SdscReduction, AlongAnotherDimensionIsNamedNonstick) {
  const SuperDsc dsc = Emit(MakeOp("sum", {{"c0", 256, 4}, {"c1", 32, 1}},
                                   {MakeArg(0, {4, 32, 64}, {"floor(c0/64)", "c1", "Mod(c0, 64)"}),
                                    MakeArg(1, {4, 64}, {"floor(c0/64)", "Mod(c0, 64)"})},
                                   true));
  EXPECT_EQ(dsc.op, "sumnonstick");
  EXPECT_THAT(Order(dsc, 1), ElementsAre("mb", "out"));
  EXPECT_THAT(dsc.tensors[1].scale, ElementsAre(1, -1));
  EXPECT_THAT(dsc.tensors[1].start, ElementsAre(kTestSegment, kTestSegment + 128,
                                                kTestSegment + 256, kTestSegment + 384));
}

struct MaskCase {
  const char* op;
  uint32_t bits;
};

TEST(SdscMask, OfAReducedPartlyFilledStickHoldsTheIdentity) {
  for (const auto& [op, bits] :
       {MaskCase{"max", kDlfNinfNegative}, MaskCase{"min", kDlfNan}, MaskCase{"sum", 0}}) {
    const SuperDsc dsc = Emit(RowReduction(op, 10, 100, 2));
    EXPECT_EQ(dsc.dims[1].size, 128) << op << ": two whole sticks";
    ASSERT_EQ(dsc.masks.size(), 1U) << op;
    EXPECT_EQ(dsc.masks[0].dim, 1);
    EXPECT_EQ(dsc.masks[0].start, 100);
    EXPECT_EQ(dsc.masks[0].count, 28);
    ASSERT_EQ(dsc.constants.size(), 1U);
    EXPECT_EQ(dsc.constants[0].name, "samv-maskvalue");
    EXPECT_EQ(dsc.constants[0].bits, bits) << op;
  }
}

TEST(SdscMask, ComesBehindTheConstantsOfTheOperation) {
  OpSpec op = RowReduction("mean", 10, 100, 1);
  op.constants = {{"scaling_factor", 0.00390625}, {"another", 1e-5}};
  const SuperDsc dsc = Emit(op);
  ASSERT_EQ(dsc.constants.size(), 3U);
  EXPECT_EQ(dsc.constants[0].bits, 11776U);
  EXPECT_EQ(dsc.constants[1].bits, 7327U);
  EXPECT_EQ(dsc.constants[2].name, "samv-maskvalue");
}

TEST(SdscMask, IsNotNeededWhereThePaddingIsDroppedOrStays) {
  const SuperDsc pointwise = Emit(
      MakeOp("add", {{"c0", 10, 2}, {"c1", 100, 1}},
             {MakeArg(0, {2, 10, 64}, RowsByColumns()), MakeArg(1, {2, 10, 64}, RowsByColumns())}));
  EXPECT_EQ(pointwise.dims[1].size, 128);
  EXPECT_THAT(pointwise.masks, IsEmpty());
  const SuperDsc rows = Emit(MakeOp("sum", {{"c0", 100, 1}, {"c1", 32, 1}},
                                    {MakeArg(0, {2, 32, 64}, {"floor(c0/64)", "c1", "Mod(c0, 64)"}),
                                     MakeArg(1, {2, 64}, {"floor(c0/64)", "Mod(c0, 64)"})},
                                    true));
  EXPECT_EQ(rows.dims[0].size, 128);
  EXPECT_THAT(rows.masks, IsEmpty());
}

TEST(SdscMask, CoversThePaddingOfExpInTheNewestFormOnly) {
  const OpSpec op =
      MakeOp("exp", {{"c0", 10, 2}, {"c1", 100, 1}},
             {MakeArg(0, {2, 10, 64}, RowsByColumns()), MakeArg(1, {2, 10, 64}, RowsByColumns())});
  EXPECT_THAT(Emit(op, BundleDialect::kSymbolicConstants).masks, IsEmpty());
  const SuperDsc newest = Emit(op, BundleDialect::kSymbolicArguments);
  ASSERT_EQ(newest.masks.size(), 1U);
  EXPECT_EQ(newest.constants.at(0).bits, kDlfNinfNegative);
}

TEST(SdscPadding, OfAMatmulMakesTheContractionWholeSticksAndMasksNothing) {
  const SuperDsc dsc = Emit(Matmul(16, 100, 70, {2, 1, 1}));
  EXPECT_EQ(dsc.dims[2].size, 128) << "in: 70 rounded up";
  EXPECT_EQ(dsc.dims[1].size, 128) << "out: 100 rounded up";
  EXPECT_THAT(dsc.masks, IsEmpty());
  for (const SdscTensor& tensor : dsc.tensors)
    EXPECT_THAT(tensor.back_gap, IsEmpty()) << tensor.name;
}

TEST(SdscMask, CoversTheEndOfAContractionWhereTheFrontEndAsksForIt) {
  OpSpec op = Matmul(16, 100, 70, {2, 1, 1});
  op.constants.push_back({kMaskContraction, 1});
  const SuperDsc dsc = Emit(op);
  ASSERT_EQ(dsc.masks.size(), 1U);
  EXPECT_EQ(dsc.masks[0].dim, 2);
  EXPECT_EQ(dsc.masks[0].start, 70);
  EXPECT_EQ(dsc.masks[0].count, 58);
  ASSERT_EQ(dsc.constants.size(), 1U);
  EXPECT_EQ(dsc.constants[0].bits, 0U) << "what is masked counts as 0";
}

TEST(SdscPadding, RoundsToTheSticksOfFp32) {
  const std::vector<std::string> coordinates = {"floor(c1/32)", "c0", "Mod(c1, 32)"};
  const SuperDsc dsc = Emit(MakeOp("add", {{"c0", 10, 2}, {"c1", 100, 1}},
                                   {MakeArg(0, {4, 10, 32}, coordinates, DataFormat::kIeeeFp32),
                                    MakeArg(1, {4, 10, 32}, coordinates, DataFormat::kIeeeFp32)}));
  EXPECT_EQ(dsc.dims[1].size, 128);
  EXPECT_EQ(dsc.format, DataFormat::kIeeeFp32);
  EXPECT_EQ(dsc.tensors[0].word_bytes, 4);
  EXPECT_THAT(dsc.tensors[0].stick_sizes, ElementsAre(32));
  EXPECT_THAT(dsc.tensors[0].start, ElementsAre(0, 5 * 128));
}

TEST(SdscConversion, PadsBothFormatsAndGivesABareVectorARow) {
  const SuperDsc dsc =
      Emit(MakeOp("dl16tofp32", {{"c0", 70, 1}},
                  {MakeArg(0, {2, 64}, {"floor(c0/64)", "Mod(c0, 64)"}),
                   MakeArg(1, {3, 32}, {"floor(c0/32)", "Mod(c0, 32)"}, DataFormat::kIeeeFp32)}));
  EXPECT_THAT(DimNames(dsc), UnorderedElementsAre("mb", "out"));
  EXPECT_EQ(dsc.dims[0].size, 128);
  EXPECT_THAT(Order(dsc, 0), ElementsAre("mb", "out"));
  EXPECT_EQ(dsc.tensors[0].type, "OUTPUT");
  EXPECT_EQ(dsc.tensors[1].type, "KERNEL") << "sticks of another size are another layout";
}

TEST(SdscGaps, AreWhatTheDeviceHasBehindThePartThatIsRead) {
  const SuperDsc dsc =
      Emit(MakeOp("neg", {{"c0", 8, 2}, {"c1", 128, 1}},
                  {MakeArg(0, {4, 32, 64}, {"floor(c1/64) + 2", "c0 + 4", "Mod(c1, 64)"}),
                   MakeArg(1, {2, 8, 64}, RowsByColumns())}));
  EXPECT_THAT(dsc.tensors[0].back_gap, UnorderedElementsAre(Pair(0, 24), Pair(1, 128)));
  constexpr int64_t kView = (2 * 32 + 4) * 128;
  EXPECT_THAT(dsc.tensors[0].start, ElementsAre(kView, kView + 4 * 128));
  EXPECT_THAT(dsc.tensors[1].back_gap, IsEmpty());
}

TEST(SdscGaps, OfADimensionThatStandsStillGetASymbolOfRangeOne) {
  const SuperDsc dsc =
      Emit(MakeOp("neg", {{"c0", 8, 2}, {"c1", 128, 1}},
                  {MakeArg(0, {5, 2, 8, 64}, {"3", "floor(c1/64)", "c0", "Mod(c1, 64)"}),
                   MakeArg(1, {2, 8, 64}, RowsByColumns())}));
  EXPECT_THAT(DimNames(dsc), ElementsAre("mb", "x", "out"));
  EXPECT_EQ(dsc.dims[2].size, 1);
  EXPECT_THAT(dsc.tensors[0].back_gap, ElementsAre(Pair(2, 4)));
  EXPECT_EQ(dsc.tensors[0].start.at(0), 3 * 2 * 8 * 128);
}

TEST(SdscStick, OfAnOperationOnSparseSticksIsADimensionOfItsOwn) {
  const SuperDsc dsc = Emit(MakeOp(
      "rsqrt", {{"c0", 32, 4}},
      {MakeArg(0, {1, 32, 64}, {"0", "c0", "0"}), MakeArg(1, {1, 32, 64}, {"0", "c0", "0"})}));
  EXPECT_THAT(DimNames(dsc), ElementsAre("out", "x"));
  EXPECT_EQ(dsc.dims[1].size, 64);
  EXPECT_THAT(dsc.tensors[0].stick_dims, ElementsAre(1));
  EXPECT_THAT(dsc.tensors[0].scale, ElementsAre(1, 1));
}

TEST(SdscStick, OfTheFirstOperandOfLayernormscaleIsReduced) {
  const SuperDsc dsc = Emit(MakeOp(
      "layernormscale", {{"c0", 32, 4}},
      {MakeArg(0, {1, 32, 64}, {"0", "c0", "0"}), MakeArg(1, {1, 32, 64}, {"0", "c0", "0"})}));
  EXPECT_THAT(dsc.tensors[0].scale, ElementsAre(1, -2));
  EXPECT_THAT(dsc.tensors[1].scale, ElementsAre(1, 1));
}

TEST(SdscCores, CountThroughTheDimensionsFirstFastest) {
  const SuperDsc dsc = Emit(Matmul(32, 192, 128, {4, 3, 1}));
  ASSERT_EQ(dsc.cores.size(), 12U);
  EXPECT_THAT(dsc.slice[1], ElementsAre(1, 0, 0));
  EXPECT_THAT(dsc.slice[4], ElementsAre(0, 1, 0));
  EXPECT_THAT(dsc.slice[11], ElementsAre(3, 2, 0));
}

TEST(SdscCores, ThatShareAContractionAreNeighbours) {
  const SuperDsc dsc = Emit(Matmul(16, 128, 256, {2, 2, 4}));
  ASSERT_EQ(dsc.cores.size(), 16U);
  EXPECT_THAT(dsc.slice[1], ElementsAre(0, 0, 1));
  EXPECT_THAT(dsc.slice[4], ElementsAre(1, 0, 0));
  EXPECT_THAT(dsc.slice[8], ElementsAre(0, 1, 0));
  for (size_t core = 0; core < 4; ++core) {
    EXPECT_EQ(dsc.tensors[2].start[core], 2 * kTestSegment) << "partial sums of one result";
  }
}

TEST(SdscCores, AreNoMoreThanDivideTheDimension) {
  EXPECT_EQ(Emit(RowReduction("sum", 10, 128, 4)).cores.size(), 2U);
}

TEST(SdscCores, BeginWithAStick) {
  const std::vector<std::string> coordinates = {"floor(c1/64)", "c0", "Mod(c1, 64)"};
  for (const auto& [columns, split] : {std::pair{64, 2}, std::pair{128, 4}, std::pair{192, 2}}) {
    const int64_t sticks = columns / 64;
    const OpSpec op = MakeOp("neg", {{"c0", 8, 1}, {"c1", columns, split}},
                             {MakeArg(0, {sticks, 8, 64}, coordinates, DataFormat::kSen169Fp16),
                              MakeArg(1, {sticks, 8, 64}, coordinates, DataFormat::kSen169Fp16)});
    try {
      Emit(op);
      FAIL() << columns << " columns in " << split << " slices cut a stick";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("not a whole number of sticks of 64"));
    }
  }
}

TEST(SdscCores, AreDividedAsTheFrontEndSays) {
  OpSpec op = Matmul(32, 192, 128, {4, 3, 1});
  op.core_slices = {ParseExpression("floor(core_id/3)"), ParseExpression("Mod(core_id, 3)"),
                    ParseExpression("0")};
  EXPECT_THAT(Emit(op).slice[1], ElementsAre(0, 1, 0));
  op.core_slices[0] = ParseExpression("core_id");
  EXPECT_THROW(Emit(op), Error) << "core 4 has slice 4 of 4";
}

TEST(SdscFormats, CallInt32OfAnIdentityFp32) {
  const std::vector<std::string> coordinates = {"floor(c1/32)", "c0", "Mod(c1, 32)"};
  const OpSpec op = MakeOp("identity", {{"c0", 8, 1}, {"c1", 64, 1}},
                           {MakeArg(0, {2, 8, 32}, coordinates, DataFormat::kIeeeInt32),
                            MakeArg(1, {2, 8, 32}, coordinates, DataFormat::kIeeeInt32)});
  EXPECT_EQ(Emit(op).tensors[0].format, DataFormat::kIeeeFp32);
}

void ExpectRefused(const OpSpec& op, const std::string& type, const std::string& kind) {
  try {
    Emit(op);
    FAIL() << kind << " was accepted";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), type) << error.what();
    EXPECT_EQ(error.message_kind(), kind) << error.what();
  }
}

TEST(SdscErrors, NameTheKindOfThePublicEmitter) {
  OpSpec too_many = MakeOp("neg", {}, {MakeArg(0, {2, 64}, {"0", "0"})});
  for (int i = 0; i < 8; ++i) too_many.iteration_space.push_back({"d" + std::to_string(i), 2, 1});
  ExpectRefused(too_many, "Unsupported", "dimensions");

  ExpectRefused(
      MakeOp("add", {{"c0", 8, 1}, {"c1", 64, 1}},
             {MakeArg(0, {64, 8, 64}, {"c1", "c0", "0"}), MakeArg(1, {1, 8, 64}, RowsByColumns())}),
      "Unsupported", "stick_expression");

  OpSpec sub_byte =
      MakeOp("neg", {{"c0", 256, 1}},
             {MakeArg(0, {1, 256}, {"floor(c0/256)", "Mod(c0, 256)"}, DataFormat::kSenInt4)});
  ExpectRefused(sub_byte, "RuntimeError", "sub_byte_format");
}

TEST(SdscErrors, RefuseTooManyCores) {
  EXPECT_THROW(Emit(RowReduction("sum", 33, 64, 33)), Error);
  EXPECT_NO_THROW(Emit(RowReduction("sum", 32, 64, 32)));
}

}  // namespace
}  // namespace spyre::compiler::sdsc_draft_test
