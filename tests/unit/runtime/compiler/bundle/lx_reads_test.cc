// SPDX-License-Identifier: Apache-2.0
// What a bundle must bring with it so that it can run alone.
#include "runtime/compiler/bundle/lx_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace spyre::compiler::lx_reads_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// 8 rows of a stick each on two cores, in LX from `start` on, or in memory.
SdscTensor Rows(bool in_lx, int64_t start) {
  SdscTensor tensor;
  tensor.name = in_lx ? "scratch" : "argument";
  tensor.dim_order = {0, 1};
  tensor.scale = {1, 1};
  tensor.stick_dims = {1};
  tensor.stick_sizes = {64};
  tensor.in_lx = in_lx;
  tensor.start = {start, start};
  return tensor;
}

// A copy of memory to LX at `written`, if that is not negative, and one from LX at 1024 to memory.
Bundle Copies(int64_t written) {
  Bundle bundle;
  bundle.name = "copies";
  for (const bool first : {true, false}) {
    if (first && written < 0) continue;
    SuperDsc dsc;
    dsc.op = "identity";
    dsc.dims = {{"mb", 8, 4, 2}, {"out", 64, 64, 1}};
    dsc.cores = {0, 1};
    dsc.slice = {{0, 0}, {1, 0}};
    dsc.tensors = {Rows(!first, 1024), Rows(first, written)};
    dsc.inputs = {0};
    dsc.outputs = {1};
    bundle.files.push_back("sdsc_" + std::to_string(bundle.dscs.size()) + ".json");
    bundle.dscs.push_back(std::move(dsc));
  }
  return bundle;
}

std::string Refusal(const Bundle& bundle) {
  try {
    CheckLxReads(bundle);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

TEST(LxReads, WhatAnEarlierBundleLeftIsNotThere) {
  EXPECT_EQ(Refusal(Copies(1024)), "");
  EXPECT_EQ(Refusal(Copies(1024 + 384)), "") << "a part of it is enough";
  EXPECT_THAT(Refusal(Copies(-1)),
              AllOf(HasSubstr("copies: sdsc_0.json, operation 'identity': scratch is bytes 1024 to "
                              "1535 of the LX of core 0, where no operation of the bundle writes"),
                    HasSubstr("it needs what an earlier bundle left there")));
  EXPECT_THAT(Refusal(Copies(1024 + 512)), HasSubstr("sdsc_1.json"));
}

TEST(LxReads, WhatTheBundleWritesLaterIsNotThereYet) {
  Bundle bundle = Copies(1024);
  std::swap(bundle.dscs[0], bundle.dscs[1]);
  EXPECT_THAT(Refusal(bundle), HasSubstr("where no operation of the bundle writes before"));
  bundle.dscs[0].outputs = {0};  // as a reduction that lists its output among its inputs
  EXPECT_EQ(Refusal(bundle), "");
}

TEST(LxReads, OfABundleThatRunsAloneComeFromAnArgumentMore) {
  Bundle bundle = Copies(-1);
  bundle.arguments.emplace_back();
  const std::vector<std::string> lines = TakeLxFromArgument(bundle);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("scratch is bytes 1024 to 1535 of the LX of core 0"),
                              HasSubstr("the argument 'lx' holds what an earlier bundle left")));
  ASSERT_EQ(bundle.arguments.size(), 2u);
  EXPECT_EQ(bundle.arguments.back().name, "lx");
  CheckLxReads(bundle);
  EXPECT_TRUE(TakeLxFromArgument(bundle).empty()) << "now the bundle writes it";
  // Four sticks of each core, those of core 1 behind those of core 0.
  const auto& copy = std::get<BundleExecute>(bundle.body.front());
  const SuperDsc& dsc = bundle.dscs.at(static_cast<size_t>(copy.dsc));
  ASSERT_EQ(dsc.tensors.size(), 2u);
  EXPECT_EQ(copy.symbols.at(dsc.tensors[0].start.at(1)).argument, 1);
  EXPECT_EQ(copy.symbols.at(dsc.tensors[0].start.at(1)).constant, 512);
  EXPECT_EQ(dsc.tensors[1].start, (std::vector<int64_t>{1024, 1024}));
  EXPECT_EQ(FootprintBytes(dsc, dsc.tensors[1]), 512);
}

TEST(LxResults, OfABundleThatWritesNoArgumentGoToOneMore) {
  Bundle bundle = Copies(1024);
  bundle.dscs.pop_back();
  bundle.files.pop_back();
  const std::vector<std::string> lines = GiveLxToArgument(bundle);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("sdsc_0.json, operation 'identity': scratch stays in LX"));
  ASSERT_EQ(bundle.arguments.size(), 1u);
  EXPECT_EQ(bundle.arguments.back().name, "lx_results");
  const auto& copy = std::get<BundleExecute>(bundle.body.back());
  EXPECT_EQ(copy.dsc, 1);
  const SuperDsc& dsc = bundle.dscs.at(1);
  EXPECT_EQ(dsc.tensors.at(static_cast<size_t>(dsc.inputs.at(0))).start,
            (std::vector<int64_t>{1024, 1024}));
}

TEST(LxResults, ThatTheBundleReadsAgainAreNone) {
  Bundle bundle = Copies(1024);
  EXPECT_TRUE(GiveLxToArgument(bundle).empty());
}

TEST(LxReads, ThatTheBundleHasWrittenNeedNoArgument) {
  Bundle bundle = Copies(1024);
  EXPECT_TRUE(TakeLxFromArgument(bundle).empty());
  EXPECT_EQ(bundle.dscs.size(), 2u);
  EXPECT_TRUE(bundle.arguments.empty());
}

}  // namespace
}  // namespace spyre::compiler::lx_reads_test
