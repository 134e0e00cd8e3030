// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/memory_rate.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/error_of.h"

namespace spyre::cosim::memory_rate_test {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const std::string& text, const std::vector<std::string>& sets) {
  return test::FailureOf([&] { ParseConfig(text, "run.toml", sets); });
}

TEST(MemoryRate, IsEnoughToChangeTheMemory) {
  const auto ccd_ps = [](const std::vector<std::string>& sets) {
    return ParseConfig("", "run.toml", sets).card.memory.t_ccd_l_ps;
  };
  // A burst of 16 transfers; two of them at 6400 MT/s take 5000 ps.
  EXPECT_EQ(ccd_ps({}), 5000u);
  EXPECT_EQ(ccd_ps({"card.memory.transfer_mts=12800"}), 2500u);
  EXPECT_EQ(ccd_ps({"card.memory.transfer_mts=3200"}), 10000u);
  EXPECT_EQ(ccd_ps({"card.memory.transfer_mts=12800", "card.memory.t_ccd_l_ps=1250"}), 1250u)
      << "what is given counts";
  EXPECT_THAT(MessageOf("[card.memory]\nt_ccd_l_ps = 5000\n", {"card.memory.transfer_mts=12800"}),
              HasSubstr("--set card.memory.t_ccd_l_ps=2500"));
  EXPECT_THAT(MessageOf("", {"card.memory.transfer_mts=8533"}),
              HasSubstr("card.memory.transfer_mts = 6400 or 12800 is possible"));
}

}  // namespace
}  // namespace spyre::cosim::memory_rate_test
