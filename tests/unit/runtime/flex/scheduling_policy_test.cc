#include "runtime/flex/scheduling_policy.h"

#include <gtest/gtest.h>

#include "model/contract/error.h"

namespace spyre::flex {
namespace {

TEST(SchedulingPolicy, FifoTakesTheOldestOperation) {
  const auto policy = MakeSchedulingPolicy("fifo");
  EXPECT_EQ(policy->Pick({{0, 7, false}, {3, 5, false}, {40, 9, true}}), 3u);
}

TEST(SchedulingPolicy, RoundRobinTakesStreamsInTurn) {
  const auto policy = MakeSchedulingPolicy("round_robin");
  const std::vector<ReadyStream> ready{{0, 1, false}, {2, 2, false}, {5, 3, false}};
  std::vector<uint32_t> picked;
  for (int i = 0; i < 5; ++i) picked.push_back(policy->Pick(ready));
  EXPECT_EQ(picked, (std::vector<uint32_t>{0, 2, 5, 0, 2}));
}

TEST(SchedulingPolicy, RoundRobinServesHighPriorityFirst) {
  const auto policy = MakeSchedulingPolicy("round_robin");
  const std::vector<ReadyStream> ready{{0, 1, false}, {33, 2, true}, {40, 3, true}};
  EXPECT_EQ(policy->Pick(ready), 33u);
  EXPECT_EQ(policy->Pick(ready), 40u);
  EXPECT_EQ(policy->Pick(ready), 33u);
}

TEST(SchedulingPolicy, UnknownNameListsTheKnownOnes) {
  try {
    MakeSchedulingPolicy("lottery");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fifo, round_robin"), std::string::npos);
  }
}

}  // namespace
}  // namespace spyre::flex
