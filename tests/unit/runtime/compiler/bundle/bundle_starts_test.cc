// SPDX-License-Identifier: Apache-2.0
// Bundles whose cores do not begin where the layout of a tensor puts them are refused.
#include "runtime/compiler/bundle/bundle_starts.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "tests/paths.h"

namespace spyre::compiler::bundle_starts_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kBundles = fs::path(SPYRE_SOURCE_DIR) / "tests/data/bundles";
const fs::path kReal = fs::path(SPYRE_SOURCE_DIR) / "tests/data/real_bundles";

// [64, 128]: four cores, 16 rows each. A row has a stick, and a column of sticks 64 of them.
Bundle Addition() { return ReadBundle(kBundles / "symbolic_args/add_64x128_rows4/flat"); }

std::string Refusal(const Bundle& bundle) {
  try {
    CheckStarts(bundle);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

AddressExpression& Start(Bundle& bundle, int64_t symbol) {
  return std::get<BundleExecute>(bundle.body.front()).symbols.at(symbol);
}

TEST(BundleStarts, OfThePublicFrontEndAreThoseOfTheLayout) {
  int bundles = 0;
  for (const fs::path& from : {kBundles, kReal}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
      if (entry.path().filename() != "sdsc_0.json") continue;
      ++bundles;
      EXPECT_EQ(Refusal(ReadBundle(entry.path().parent_path())), "") << entry.path();
    }
  }
  EXPECT_GT(bundles, 15);
}

TEST(BundleStarts, ACoreThatBeginsInsideTheRowsOfAnotherIsRefused) {
  Bundle bundle = Addition();
  Start(bundle, -2).constant = 8 * 128;
  EXPECT_THAT(Refusal(bundle),
              HasSubstr("sdsc_0.json: Tensor0: cores 0 and 1 begin 1024 bytes apart, and by its "
                        "layout their slices of 'mb' are 2048 bytes apart"));
}

TEST(BundleStarts, ACoreThatBeginsBehindAGapThatTheLayoutDoesNotHaveIsRefused) {
  Bundle bundle = Addition();
  Start(bundle, -12).constant += 128;
  EXPECT_THAT(Refusal(bundle), HasSubstr("Tensor2: cores 0 and 3 begin 6272 bytes apart"));
}

TEST(BundleStarts, OfCoresWithOneRowEachMayLieAnywhereAsNoStepDependsOnTheLayout) {
  Bundle bundle = Addition();
  SdscDim& rows =
      bundle.dscs.front().dims.at(static_cast<size_t>(bundle.dscs.front().FindDim("mb")));
  rows.size = 4;
  rows.per_core = 1;
  Start(bundle, -2).constant = 8 * 128;
  EXPECT_EQ(Refusal(bundle), "");
}

// A walk of 64 rows of which 13 are in memory (gap 51), eight times, each on two cores.
Bundle Transposition() {
  return ReadBundle(fs::path(SPYRE_SOURCE_DIR) /
                    "tests/data/captured_bundles/transposition_of_13_rows");
}

int64_t Rows(const Bundle& bundle) {
  const SuperDsc& dsc = bundle.dscs.front();
  return dsc.dims.at(static_cast<size_t>(dsc.FindDim("x"))).size;
}

// As the file has it.
void PadAgain(Bundle& bundle) {
  SuperDsc& dsc = bundle.dscs.front();
  const int rows = dsc.FindDim("x");
  SdscDim& walked = dsc.dims.at(static_cast<size_t>(rows));
  walked.size = walked.per_core = 64;
  dsc.tensors.front().back_gap = {{rows, 51}};
}

TEST(PaddedWalks, OfAChangeOfSticksHaveTheRowsThatAreInMemory) {
  const Bundle bundle = Transposition();
  EXPECT_EQ(Rows(bundle), 13);
  EXPECT_TRUE(bundle.dscs.front().tensors.front().back_gap.empty());
}

TEST(PaddedWalks, AreWholeWhereTheCoresBeginBehindTheGap) {
  Bundle bundle = Transposition();
  PadAgain(bundle);
  const SuperDsc& dsc = bundle.dscs.front();
  const int heads = dsc.FindDim("mb");
  for (size_t core = 0; core < dsc.cores.size(); ++core) {
    const int64_t head = dsc.slice[core][static_cast<size_t>(heads)];
    Start(bundle, dsc.tensors.front().start[core]).constant += head * (64 + 51 - 13) * 256;
  }
  ResolvePaddedWalks(bundle);
  EXPECT_EQ(Rows(bundle), 64);
}

TEST(PaddedWalks, InLxHaveTheRowsThatAreThere) {
  Bundle bundle = Transposition();
  PadAgain(bundle);
  bundle.dscs.front().tensors.front().in_lx = true;
  ResolvePaddedWalks(bundle);
  EXPECT_EQ(Rows(bundle), 13);
  EXPECT_TRUE(bundle.dscs.front().tensors.front().back_gap.empty());
}

TEST(PaddedWalks, OfOtherOperationsAreLeftAsTheyAre) {
  Bundle bundle = Transposition();
  PadAgain(bundle);
  bundle.dscs.front().op = "identity";
  ResolvePaddedWalks(bundle);
  EXPECT_EQ(Rows(bundle), 64);
}

// 4 x 128 numbers of SEN169 to fp32: two cores, which take a column of sticks each, and make two.
Bundle Widening(int64_t second) {
  Bundle bundle;
  SuperDsc dsc;
  dsc.op = "dl16tofp32";
  dsc.dims = {{"mb", 4, 4, 1}, {"out", 128, 64, 2}};
  dsc.cores = {0, 1};
  dsc.slice = {{0, 0}, {0, 1}};
  BundleExecute execute;
  for (const bool wide : {false, true}) {
    SdscTensor tensor;
    tensor.name = wide ? "wide" : "narrow";
    tensor.format = wide ? DataFormat::kIeeeFp32 : DataFormat::kSen169Fp16;
    tensor.dim_order = {0, 1};
    tensor.scale = {1, 1};
    tensor.stick_dims = {1};
    tensor.stick_sizes = {wide ? 32 : 64};
    tensor.symbolic = true;
    for (const int64_t core : {0, 1}) {
      tensor.start.push_back(-1 - core - (wide ? 2 : 0));
      execute.symbols[tensor.start.back()] = {wide ? 1 : 0, core * (wide ? second : 512), {}};
    }
    dsc.tensors.push_back(std::move(tensor));
  }
  dsc.inputs = {0};
  dsc.outputs = {1};
  bundle.files = {"sdsc_0.json"};
  bundle.dscs.push_back(std::move(dsc));
  bundle.arguments.resize(2);
  bundle.body.emplace_back(execute);
  return bundle;
}

// Byte at which core 1 begins on a side.
int64_t SecondStart(const Bundle& bundle, size_t tensor) {
  const auto& execute = std::get<BundleExecute>(bundle.body.front());
  return execute.symbols.at(bundle.dscs.front().tensors[tensor].start.at(1)).constant;
}

TEST(ConversionStarts, OfOneSideThatContradictItsLayoutAreThoseOfTheLayout) {
  for (const int64_t second : {768, 512, 192}) {
    Bundle bundle = Widening(second);
    EXPECT_NE(Refusal(bundle), "");
    const std::vector<std::string> notes = ResolveConversionStarts(bundle);
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_THAT(notes[0], HasSubstr("wide: cores 0 and 1 begin " + std::to_string(second) +
                                    " bytes apart, and by its layout their slices are 1024"));
    EXPECT_EQ(SecondStart(bundle, 1), 1024);
    EXPECT_EQ(SecondStart(bundle, 0), 512);
    EXPECT_EQ(Refusal(bundle), "");
  }
}

TEST(ConversionStarts, ThatAgreeAreLeftAsTheyAre) {
  Bundle bundle = Widening(1024);
  EXPECT_TRUE(ResolveConversionStarts(bundle).empty());
  EXPECT_EQ(bundle.dscs.front().tensors[1].start, (std::vector<int64_t>{-3, -4}));
}

TEST(ConversionStarts, OfBothSidesThatContradictAreRefused) {
  Bundle bundle = Widening(768);
  Start(bundle, -2).constant = 256;
  EXPECT_TRUE(ResolveConversionStarts(bundle).empty());
  EXPECT_NE(Refusal(bundle), "");
  bundle = Widening(768);
  bundle.dscs.front().op = "identity";
  EXPECT_TRUE(ResolveConversionStarts(bundle).empty()) << "what its starts mean is not known";
}

}  // namespace
}  // namespace spyre::compiler::bundle_starts_test
