// SPDX-License-Identifier: Apache-2.0
// What the card and the environment give to the compiler.
#include "cosim/workload/compile_settings.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace spyre::cosim::compile_settings_test {
namespace {

TEST(CompileSettings, SencoresLimitsTheCoresAndIsChecked) {
  const RunConfig config = ParseConfig("[card]\ncores = 16\n", "run.toml");
  EXPECT_EQ(MaxCores(config, nullptr), 16);
  EXPECT_EQ(MaxCores(config, "8"), 8);
  EXPECT_EQ(MaxCores(config, "32"), 16) << "the card has no more";
  for (const char* bad : {"0", "33", "-1", "8x", "", "many", "99999999999"})
    EXPECT_THROW(MaxCores(config, bad), Error) << bad;
}

}  // namespace
}  // namespace spyre::cosim::compile_settings_test
