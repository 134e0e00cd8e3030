// SPDX-License-Identifier: Apache-2.0
#include "model/common/functional_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace spyre::model::functional_queue_test {
namespace {

class FunctionalQueueTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(FunctionalQueueTest, WorkIsDoneInTheOrderInWhichItWasPushed) {
  constexpr uint32_t kWork = 100'000;  // many times what the queue holds
  FunctionalQueue queue(GetParam());
  std::vector<uint32_t> order;
  order.reserve(kWork);
  for (uint32_t i = 0; i < kWork; ++i) queue.Push({}, [&order, i] { order.push_back(i); });
  queue.Join();
  std::vector<uint32_t> expected(kWork);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST_P(FunctionalQueueTest, JoinReturnsWhenTheResultIsThere) {
  FunctionalQueue queue(GetParam());
  uint64_t sum = 0;
  for (uint64_t round = 1; round <= 2000; ++round) {
    queue.Push({}, [&sum, round] { sum += round; });
    queue.Join();
    ASSERT_EQ(sum, round * (round + 1) / 2) << "after round " << round;
  }
}

// Pauses about as long as the worker looks for work before it sleeps, so that some pushes meet it
// falling asleep.
TEST_P(FunctionalQueueTest, WorkIsNotForgottenWhenItComesAsTheWorkerFallsAsleep) {
  FunctionalQueue queue(GetParam());
  uint64_t done = 0, pushed = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (int i = 0; i <= round % 3; ++i, ++pushed) queue.Push({}, [&done] { ++done; });
    for (volatile int pause = round % 100 * 100; pause > 0; pause = pause - 1) {
    }
    if (round % 7 == 0) queue.Join();
  }
  queue.Join();
  EXPECT_EQ(done, pushed);
}

TEST_P(FunctionalQueueTest, JoinOfNothingReturnsAtOnce) {
  FunctionalQueue queue(GetParam());
  queue.Join();
  queue.Push({}, [] {});
  queue.Join();
  queue.Join();
}

TEST_P(FunctionalQueueTest, WorkPushedBeforeTheEndIsDone) {
  uint64_t done = 0;
  {
    FunctionalQueue queue(GetParam());
    for (int i = 0; i < 5000; ++i) queue.Push({}, [&done] { ++done; });
  }
  EXPECT_EQ(done, 5000u);
}

TEST_P(FunctionalQueueTest, TheLargestClosureArrivesWhole) {
  struct Operands {
    uint64_t words[(FunctionalQueue::kWorkBytes - sizeof(void*)) / sizeof(uint64_t)];
  };
  FunctionalQueue queue(GetParam());
  Operands sent{}, received{};
  std::iota(std::begin(sent.words), std::end(sent.words), 1000);
  queue.Push({}, [to = &received, sent] { *to = sent; });
  queue.Join();
  for (size_t i = 0; i < std::size(sent.words); ++i)
    EXPECT_EQ(received.words[i], 1000 + i) << "word " << i;
}

std::string NameOf(const ::testing::TestParamInfo<unsigned>& threads) {
  const char* const names[] = {"AtThePush", "OwnThread", "WithAHelper"};
  return names[threads.param];
}

INSTANTIATE_TEST_SUITE_P(Worker, FunctionalQueueTest, ::testing::Values(0U, 1U, 2U), NameOf);

TEST(FunctionalQueue, PushDoesNotWaitForTheWork) {
  FunctionalQueue queue(1);
  std::atomic<bool> begun{false}, open{false};
  std::thread::id worker;
  queue.Push({}, [&] {
    begun.store(true);
    while (!open.load()) std::this_thread::yield();
    worker = std::this_thread::get_id();
  });
  // Reached although the work cannot end before. A worker that sleeps is woken for more than this;
  // what none has begun, Join would do itself.
  while (!begun.load()) {
    queue.Push({}, [] {});
    std::this_thread::yield();
  }
  open.store(true);
  queue.Join();
  EXPECT_NE(worker, std::this_thread::get_id());
}

}  // namespace
}  // namespace spyre::model::functional_queue_test
