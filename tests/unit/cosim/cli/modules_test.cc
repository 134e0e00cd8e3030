// SPDX-License-Identifier: Apache-2.0
// Which modules a run opens.
#include "cosim/cli/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace spyre::cosim::modules_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Modules, ATimedCardNeedsNone) { EXPECT_THAT(ModulesOf(RunConfig()), IsEmpty()); }

TEST(Modules, EachBlockInRtlNeedsTheRtlBlocks) {
  for (const char* block : {"control", "management", "pt"}) {
    const RunConfig config = ParseConfig("", "", {std::string("card.") + block + ".fidelity=rtl"});
    EXPECT_THAT(ModulesOf(config), ElementsAre("spyre_rtl_blocks")) << block;
  }
}

TEST(Modules, ABundleNeedsTheReaderOfMlirIfItHasABundleMlir) {
  const std::filesystem::path bundle = ::testing::TempDir() + "modules_test_bundle";
  std::filesystem::create_directories(bundle);
  RunConfig config = ParseConfig("", "", {"card.control.fidelity=rtl"});
  config.workload.bundle = bundle;
  EXPECT_THAT(ModulesOf(config), ElementsAre("spyre_rtl_blocks"));
  std::ofstream(bundle / "bundle.mlir") << "module {}\n";
  EXPECT_THAT(ModulesOf(config), ElementsAre("spyre_bundle_mlir", "spyre_rtl_blocks"));
}

}  // namespace
}  // namespace spyre::cosim::modules_test
