// SPDX-License-Identifier: Apache-2.0
// The rules of work division one by one, with the numbers worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/contract/memory_map.h"
#include "runtime/compiler/division/work_division.h"
#include "tests/unit/runtime/compiler/op_ir_fixture.h"

namespace spyre::compiler::work_division_rules_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kMiB = int64_t{1} << 20;

// y = f(x), both of `size`, walked in order.
OpIr Unary(const std::vector<int64_t>& size, DataFormat format = DataFormat::kIeeeFp16) {
  OpIr op;
  op.name = "neg";
  const std::vector<int64_t> strides = ContiguousStrides(size);
  for (size_t d = 0; d < size.size(); ++d) op.loops.push_back({"d" + std::to_string(d), size[d]});
  op.inputs = {Tensor("x", size, strides, format)};
  op.output = Tensor("y", size, strides, format);
  return op;
}

OpIr RowSum(int64_t rows, int64_t cols) {
  OpIr op;
  op.name = "sum";
  op.kind = OpIr::Kind::kReduction;
  op.reduction_type = "sum";
  op.loops = {{"r", rows}, {"c", cols}};
  op.inputs = {Tensor("x", {rows, cols}, {cols, 1})};
  op.output.name = "y";
  op.output.layout = MakeLayout({rows, 1}, {1, 1}, DataFormat::kSen169Fp16, {0, 1, -1});
  op.output.index.coefficient = {1, 0};
  return op;
}

// ---------------------------------------------------------------- iteration space

TEST(IterationSpace, IsTheLoopsOfTheResultAndThoseThatAreSummed) {
  const OpIr pointwise = Unary({3, 1, 128});
  EXPECT_THAT(WorkDivider(pointwise).iteration_space(), ElementsAre(0, 2)) << "of range above 1";
  EXPECT_THAT(WorkDivider(pointwise).size_in_sticks(), ElementsAre(3, 1, 2));
  const OpIr sum = RowSum(3, 128);
  EXPECT_THAT(WorkDivider(sum).iteration_space(), ElementsAre(0, 1)) << "all that it reads";
  EXPECT_THAT(WorkDivider(sum).size_in_sticks(), ElementsAre(3, 2));
}

// ---------------------------------------------------------------- spans

TEST(PerCoreSpan, CountsTheHostsItemSizeAlsoWhereTheDeviceStoresLess) {
  // [8, 32] int64 is [1, 8, 32] on the device, 32-bit there; 8 bytes count.
  const OpIr op = Unary({8, 32}, FormatFromName("int64"));
  EXPECT_EQ(WorkDivider(op).PerCoreSpan(0, {1, 1}), 8 * 32 * 8);
  const OpIr half = Unary({8, 64});
  EXPECT_EQ(WorkDivider(half).PerCoreSpan(0, {1, 1}), 8 * 64 * 2);
}

TEST(PerCoreSpan, OnlyTheFirstDeviceDimensionWithMoreThanOneIndexMatters) {
  // [64, 256] is [4, 64, 64] on the device: sticks are outermost.
  const OpIr op = Unary({64, 256});
  const WorkDivider divider(op);
  EXPECT_EQ(divider.PerCoreSpan(0, {1, 1}), 4 * 64 * 64 * 2);
  EXPECT_EQ(divider.PerCoreSpan(0, {32, 1}), 4 * 64 * 64 * 2) << "rows are inside the sticks";
  EXPECT_EQ(divider.PerCoreSpan(0, {1, 2}), 2 * 64 * 64 * 2);
  EXPECT_EQ(divider.PerCoreSpan(0, {1, 4}), 64 * 64 * 2) << "one stick: now the rows decide";
  EXPECT_EQ(divider.PerCoreSpan(0, {32, 4}), 2 * 64 * 2);
  EXPECT_EQ(divider.PerCoreSpan(0, {64, 4}), 2) << "nothing left: one item";
}

TEST(PerCoreSpan, StartsAtTheFirstIndexThatIsUsed) {
  OpIr op = Unary({64, 64});
  op.inputs[0] = Tensor("x", {1024, 64}, {64, 1});
  op.inputs[0].index.constant = 512 * 64;  // rows 512 .. 575
  EXPECT_EQ(WorkDivider(op).PerCoreSpan(0, {1, 1}), 64 * 64 * 2);
}

TEST(PerCoreSpan, UsesWholePartsOfTheElementRange) {
  const OpIr op = Unary({64, 100});  // two sticks, the second one partly filled
  EXPECT_EQ(WorkDivider(op).PerCoreSpan(0, {1, 2}), 64 * 64 * 2) << "50 elements: one stick";
}

// ---------------------------------------------------------------- sticks

TEST(Sticks, TheLargestStickOfAllTensorsCounts) {
  OpIr op = Unary({4, 256});
  op.output = Tensor("y", {4, 256}, {256, 1}, DataFormat::kIeeeFp32);  // 32 to a stick
  const WorkDivider divider(op);
  EXPECT_THAT(divider.elements_per_stick(), ElementsAre(0, 64));
  EXPECT_THAT(divider.size_in_sticks(), ElementsAre(4, 4));
}

TEST(Sticks, PartlyFilledSticksCountAsWhole) {
  EXPECT_THAT(WorkDivider(Unary({4, 65})).size_in_sticks(), ElementsAre(4, 2));
  EXPECT_THAT(WorkDivider(Unary({4, 1, 65})).iteration_space(), ElementsAre(0, 2));
}

// ---------------------------------------------------------------- what must be split

TEST(MustSplit, TakesTheLargestSpanWithinTheLimit) {
  // [6 * 2^20, 64] halves: 768 MiB. 3 slices give exactly 256 MiB.
  const OpIr op = Unary({6 * kMiB, 64});
  std::vector<std::string> log;
  EXPECT_THAT(WorkDivider(op).MustSplit(32, &log), ElementsAre(Pair(0, 3)));
  EXPECT_THAT(log, IsEmpty());
}

// v is 131 sticks of z, a prime, and each index of v is 64 KiB of y: no number of slices gives
// every core whole sticks of z and at most 256 MiB of y.
TEST(MustSplit, AStickThatNoNumberOfSlicesCutsLeavesASpanThatIsTooLong) {
  OpIr op;
  op.name = "copy";
  op.loops = {{"b", 512}, {"v", 131 * 64}, {"s", 64}};
  op.inputs = {Tensor("y", {512, 131 * 64, 64}, {131 * 64 * 64, 64, 1})};
  op.output = Tensor("z", {512, 64, 131 * 64}, {131 * 64 * 64, 1, 131 * 64});
  std::vector<std::string> log;
  WorkDivider(op).MustSplit(32, &log);
  EXPECT_FALSE(log.empty());
  const WorkDivision division = DivideWork(op, 32, false);
  ASSERT_FALSE(division.too_far.empty()) << "which the front end refuses, span_too_large";
  EXPECT_NE(division.too_far.front().find("'y'"), std::string::npos) << division.too_far.front();
}

TEST(MustSplit, WithTooFewCoresTakesTheSmallestSpanAndWarns) {
  const OpIr op = Unary({6 * kMiB, 64});
  std::vector<std::string> log;
  EXPECT_THAT(WorkDivider(op).MustSplit(2, &log), ElementsAre(Pair(0, 2)));
  EXPECT_FALSE(log.empty());
}

TEST(MustSplit, GoesToTheNextDimensionOnceTheOuterOneIsDownToOneIndex) {
  // [4 MiB, 128]: 2 sticks outermost, 512 MiB each: 2 slices leave 512 MiB of rows, 2 more cut
  // them.
  const OpIr op = Unary({4 * kMiB, 128});
  std::vector<std::string> log;
  EXPECT_THAT(WorkDivider(op).MustSplit(32, &log), ElementsAre(Pair(1, 2), Pair(0, 2)));
}

TEST(MustSplit, WhatOneTensorCommitsHoldsForTheNext) {
  OpIr op = Unary({6 * kMiB, 64});
  op.output = Tensor("y", {6 * kMiB, 64}, {64, 1}, DataFormat::kIeeeFp32);  // [2, rows, 32]
  std::vector<std::string> log;
  // x needs 3 slices of rows. y is 2 sticks of 768 MiB each: 2 slices of the sticks are not
  // possible (c is one stick of x), so its rows cannot be reached and it stays over the limit.
  EXPECT_THAT(WorkDivider(op).MustSplit(32, &log), ElementsAre(Pair(0, 3), Pair(1, 1)));
  EXPECT_EQ(log.size(), 1u);
}

TEST(SpanReduction, StoresNothingWhereEverySpanFits) {
  std::vector<std::string> log;
  const OpIr fits = Unary({kMiB, 64});  // 128 MiB
  EXPECT_FALSE(WorkDivider(fits).SpanReduction(32, &log).has_value());
  const OpIr large = Unary({6 * kMiB, 64});
  EXPECT_THAT(WorkDivider(large).SpanReduction(32, &log)->output, ElementsAre(Pair(64, 3)))
      << "by the coefficient of the rows";
}

TEST(SpanReduction, OneReductionLoopMayBeSplitAndThenNoOther) {
  OpIr op = RowSum(64, 64 * 65536);  // 65536 sticks outermost, 512 MiB in all
  const WorkDivision division = DivideWork(op, 32, false);
  EXPECT_EQ(division.splits[1], 2) << "committed, and not grown";
  EXPECT_EQ(division.splits[0], 16);
}

TEST(SpanReduction, ReductionLoopsRecordedWithOneSliceCountToo) {
  // [c, b, a] summed over c and b: c has 2 rows of 512 MiB; with 2 cores b is recorded with 1.
  OpIr op;
  op.name = "sum";
  op.kind = OpIr::Kind::kReduction;
  op.reduction_type = "sum";
  op.loops = {{"a", 64}, {"c", 2}, {"b", 4 * kMiB}};
  op.inputs = {Tensor("x", {4 * kMiB, 2, 64}, {1, 64, 128})};
  op.output.name = "y";
  op.output.layout = DefaultLayout({64}, DataFormat::kSen169Fp16);
  op.output.index.coefficient = {1, 0, 0};
  std::vector<std::string> log;
  EXPECT_THAT(WorkDivider(op).MustSplit(2, &log), ElementsAre(Pair(1, 2), Pair(2, 1)));
  try {
    DivideWork(op, 2, false);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "Unsupported");
    EXPECT_EQ(error.message_kind(), "split_multiple_reduction_dims");
  }
}

// ---------------------------------------------------------------- distribution

TEST(Distribution, CoresLeftOverByCommittedSplitsAreLost) {
  // 3 committed of 32 leave 10, of which 8 rows take 8.
  const SpaceSplit split = SplitIterationSpace({3, 8, 64}, 32, {1, 2}, {}, {{0, 3}});
  EXPECT_THAT(split.splits, ElementsAre(3, 8, 1));
}

TEST(Distribution, TheFirstDimensionMayBlockABetterProduct) {
  EXPECT_THAT(SplitIterationSpace({100, 64}, 32, {0, 1}, {}, {}).splits, ElementsAre(25, 1));
}

TEST(Distribution, OfReductionsTheMostSplittableAndOfEqualsTheFirst) {
  EXPECT_THAT(SplitIterationSpace({6, 8, 8}, 8, {}, {0, 1, 2}, {}).splits, ElementsAre(1, 8, 1));
  EXPECT_THAT(SplitIterationSpace({4, 7, 7}, 8, {0}, {1, 2}, {}).splits, ElementsAre(4, 1, 1))
      << "only 2 cores are left";
}

TEST(Distribution, AMinimumThatDoesNotFitIsSkippedWithACriticalLine) {
  const SpaceSplit split = SplitIterationSpace({8, 8}, 8, {}, {}, {{0, 5}, {1, 2}});
  EXPECT_THAT(split.splits, ElementsAre(5, 1));
  EXPECT_EQ(split.log.size(), 1u);
}

TEST(Distribution, LoopsSeenOnlyInTheStickOfTheOutputCountAsReductions) {
  const OpIr op = Unary({2, 64});  // one stick
  const WorkDivider divider(op);
  const WorkDivider::Priorities priorities = divider.Prioritize({1, 1});
  EXPECT_THAT(priorities.output, ElementsAre(0));
  EXPECT_THAT(priorities.reduction, ElementsAre(1));
}

TEST(Distribution, LargerLoopsGoFirstAndEqualOnesKeepTheirOrder) {
  const OpIr op = Unary({4, 16, 4, 64 * 32});
  const WorkDivider::Priorities priorities = WorkDivider(op).Prioritize({1, 1, 1, 1});
  EXPECT_THAT(priorities.output, ElementsAre(3, 1, 0, 2));
}

TEST(Distribution, TopKIsNeverDivided) {
  OpIr op = RowSum(64, 1024);
  op.reduction_type = "topkvalue";
  const WorkDivision division = DivideWork(op, 32, true);
  EXPECT_EQ(division.cores_used, 1);
  EXPECT_FALSE(division.k_fast_applied);
}

// ---------------------------------------------------------------- k-fast

bool KFastApplies(int64_t m, int64_t k, int64_t n, int cores) {
  return DivideWork(Matmul(m, k, n), cores, true).k_fast_applied;
}

TEST(Distribution, AMatmulDividesKOnlyWhereItsResultLeavesCores) {
  EXPECT_THAT(DivideWork(Matmul(32, 4096, 64), 32, false).splits, ElementsAre(32, 1, 1));
  EXPECT_THAT(DivideWork(Matmul(4, 4096, 128), 32, false).splits, ElementsAre(4, 2, 4))
      << "4 rows and 2 sticks of columns leave 4 cores each";
  EXPECT_THAT(DivideWork(Matmul(1, 4096, 64), 32, false).splits, ElementsAre(1, 1, 32));
}

TEST(KFast, NeedsOneTo16RowsPerCoreExactly) {
  EXPECT_TRUE(KFastApplies(32, 2048, 1024, 32));
  EXPECT_FALSE(KFastApplies(31, 2048, 1024, 32)) << "less than one row each";
  EXPECT_TRUE(KFastApplies(512, 2048, 1024, 32));
  EXPECT_FALSE(KFastApplies(520, 2048, 1024, 32)) << "16.25 rows each";
}

TEST(KFast, WithMoreThanFourRowsPerCoreNMustBeNarrow) {
  EXPECT_TRUE(KFastApplies(128, 2048, 2048, 32)) << "exactly 4 rows";
  EXPECT_FALSE(KFastApplies(132, 2048, 2048, 32)) << "4.125 rows, 32 sticks of n";
  EXPECT_TRUE(KFastApplies(132, 2048, 1920, 32)) << "30 sticks of n";
  EXPECT_FALSE(KFastApplies(132, 2048, 1984, 32)) << "31 sticks have no divisor of 32";
}

TEST(KFast, NeedsWholeSticksAndAStickOfKForEveryCore) {
  EXPECT_FALSE(KFastApplies(64, 2048, 1000, 32));
  EXPECT_FALSE(KFastApplies(64, 2050, 1024, 32));
  EXPECT_FALSE(KFastApplies(64, 1984, 1024, 32)) << "31 sticks";
}

TEST(KFast, TakesTheMostSlicesOfNWithBothRemaindersZero) {
  const WorkDivision division = DivideWork(Matmul(64, 2048, 12 * 64), 32, true);
  EXPECT_THAT(division.splits, ElementsAre(1, 4, 8)) << "12 sticks: 16 and 8 do not divide them";
  EXPECT_TRUE(division.k_fastest);
  EXPECT_EQ(division.slice[1], (std::vector<int>{0, 0, 1})) << "core 1 is the next slice of k";
}

TEST(KFast, NIsTheLargerOutputLoopAndTheFirstOfEquals) {
  EXPECT_THAT(DivideWork(Matmul(1024, 2048, 64), 32, true).splits, ElementsAre(16, 1, 2))
      << "the loop called m is the larger one";
  EXPECT_THAT(DivideWork(Matmul(64, 2048, 64), 2, true).splits, ElementsAre(2, 1, 1))
      << "32 rows each: not applied";
}

// ---------------------------------------------------------------- storage

TEST(SplitStorage, OutputAndReductionLoopsHaveMapsOfTheirOwn) {
  const IndexExpression write{0, {100, 1, 0}};
  const IndexExpression read{0, {0, 1, 100}};
  const EncodedSplits encoded = EncodeSplits({2, 1, 8}, write, read);
  EXPECT_THAT(encoded.output, ElementsAre(Pair(100, 2)));
  EXPECT_THAT(encoded.reduction, ElementsAre(Pair(100, 8)));
  EXPECT_THAT(DecodeSplits(encoded, write, read, {{"a", 4}, {"b", 4}, {"c", 8}}),
              ElementsAre(2, 1, 8));
}

TEST(SplitStorage, LoopsOfOneIterationReadBackAsUnsplit) {
  const IndexExpression index{0, {8, 1}};
  EXPECT_THAT(DecodeSplits(EncodeSplits({2, 2}, index, index), index, index, {{"a", 1}, {"b", 8}}),
              ElementsAre(1, 2));
}

TEST(SplitStorage, LoopsThatNeitherIndexUsesAreNotStored) {
  const IndexExpression index{0, {1, 0}};
  const EncodedSplits encoded = EncodeSplits({1, 4}, index, index);
  EXPECT_TRUE(encoded.output.empty() && encoded.reduction.empty());
}

}  // namespace
}  // namespace spyre::compiler::work_division_rules_test
