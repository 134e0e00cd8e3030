// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/progress_bar.h"

#include <gtest/gtest.h>

namespace spyre::cosim::progress_bar_test {
namespace {

TEST(ProgressText, ShowsThePhaseAndHowMuchOfItIsDone) {
  EXPECT_EQ(ProgressText("verify", 0, 0, 0.4, 80), "verify");
  EXPECT_EQ(ProgressText("launch", 3, 12, 0.4, 80),
            "launch [#######.......................] 3 of 12");
  EXPECT_EQ(ProgressText("launch", 12, 12, 0, 80),
            "launch [##############################] 12 of 12");
}

TEST(ProgressText, APhaseThatIsLongShowsThatTimePasses) {
  EXPECT_EQ(ProgressText("verify", 0, 0, 2.6, 80), "verify, 3 s");
}

TEST(ProgressText, FitsTheTerminal) {
  EXPECT_EQ(ProgressText("copy inputs and program", 1, 2, 0, 11), "copy inputs");
}

}  // namespace
}  // namespace spyre::cosim::progress_bar_test
