// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/ready_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace spyre::runtime::ready_queue_test {
namespace {

using ::testing::ElementsAre;

TEST(ReadyQueue, FifoGrowsAndKeepsTheOrder) {
  const auto queue = MakeReadyQueue(ReadyPolicy::kFifo, 1, 0);
  TaskId next = 0;
  for (TaskId task = 0; task < 1000; ++task) {
    queue->Push(task, 0, 0);
    if (task % 3 == 0) {
      EXPECT_EQ(queue->Pop(0), next++);
    }
  }
  while (next < 1000) EXPECT_EQ(queue->Pop(0), next++);
  EXPECT_EQ(queue->Pop(0), kNoTask);
}

TEST(ReadyQueue, FifoRefusesWhatIsBeyondItsLimit) {
  const auto queue = MakeReadyQueue(ReadyPolicy::kFifo, 1, 2);
  EXPECT_TRUE(queue->Push(0, 0, 0));
  EXPECT_TRUE(queue->Push(1, 0, 0));
  EXPECT_FALSE(queue->Push(2, 0, 0));
  EXPECT_THAT(queue->Contents(), ElementsAre(0, 1));
}

TEST(ReadyQueue, PriorityTakesTheHighestAndOfEqualsTheFirst) {
  const auto queue = MakeReadyQueue(ReadyPolicy::kPriority, 1, 0);
  queue->Push(0, -1, 0);
  queue->Push(1, 7, 0);
  queue->Push(2, 0, 0);
  queue->Push(3, 7, 0);
  EXPECT_THAT(queue->Contents(), ElementsAre(1, 3, 2, 0));
  EXPECT_EQ(queue->Pop(0), 1);
  EXPECT_EQ(queue->Pop(0), 3);
  EXPECT_EQ(queue->Pop(0), 2);
}

TEST(ReadyQueue, StealingTakesTheOwnersYoungestAndTheVictimsOldest) {
  const auto queue = MakeReadyQueue(ReadyPolicy::kWorkSteal, 3, 0);
  queue->Push(0, 0, 0);
  queue->Push(1, 0, 0);
  queue->Push(2, 0, 2);
  queue->Push(3, 0, 2);
  EXPECT_EQ(queue->Pop(1), 2);  // the next worker on is 2
  EXPECT_EQ(queue->Pop(2), 3);
  EXPECT_EQ(queue->Pop(2), 0);
  EXPECT_EQ(queue->Pop(0), 1);
  EXPECT_EQ(queue->Pop(0), kNoTask);
}

TEST(ReadyQueue, RemovalKeepsTheOrderOfTheRest) {
  for (const ReadyPolicy policy :
       {ReadyPolicy::kFifo, ReadyPolicy::kWorkSteal, ReadyPolicy::kPriority}) {
    const auto queue = MakeReadyQueue(policy, 1, 0);
    for (TaskId task = 0; task < 6; ++task) queue->Push(task, 0, 0);
    std::vector<TaskId> left = queue->Contents();
    left.erase(std::remove_if(left.begin(), left.end(), [](TaskId task) { return task < 3; }),
               left.end());
    queue->Remove([](TaskId task) { return task < 3; });
    EXPECT_EQ(queue->Contents(), left);
    EXPECT_EQ(left.size(), 3u);
  }
}

}  // namespace
}  // namespace spyre::runtime::ready_queue_test
