// SPDX-License-Identifier: Apache-2.0
#include "model/common/performance_counters.h"

#include <gtest/gtest.h>

namespace spyre::model::performance_counters_test {
namespace {

using Counter = PerformanceCounter;

constexpr uint64_t kMacsPerCycle = 1024;

TEST(PerformanceCounters, CountForTheFunctionAndForTheCard) {
  PerformanceCounters counters(3, kMacsPerCycle);
  counters.CountPcie(1, false, 4096, false);
  counters.CountPcie(2, true, 128, true);
  counters.CountMemory(1, true);
  counters.CountMemory(1, false);
  const CounterValues first = counters.Read(1, 7), second = counters.Read(2, 7);
  EXPECT_EQ(first[Counter::kTime], 7u);
  EXPECT_EQ(first[Counter::kPcieReceived], 4096u);
  EXPECT_EQ(first[Counter::kPcieReads], 1u);
  EXPECT_EQ(first[Counter::kPcieSent], 0u);
  EXPECT_EQ(first[Counter::kDeviceReads], 1u);
  EXPECT_EQ(first[Counter::kDeviceWrites], 1u);
  EXPECT_EQ(second[Counter::kPcieSent], 128u);
  EXPECT_EQ(second[Counter::kPeerWritten], 128u);
  EXPECT_EQ(second[Counter::kPeerWrites], 1u);
  EXPECT_EQ(second[Counter::kPeerRead], 0u);
  const CounterValues card = counters.ReadCard(7);
  EXPECT_EQ(card[Counter::kPcieReceived], 4096u);
  EXPECT_EQ(card[Counter::kPcieSent], 128u);
  EXPECT_EQ(card[Counter::kDeviceReads], 1u);
}

TEST(PerformanceCounters, WorkCountsWhileItIsDone) {
  PerformanceCounters counters(2, kMacsPerCycle);
  WorkDone work;
  counters.Begin(1, work, 100);
  work = {1000, 2000, 8192, 4096};
  CounterValues values = counters.Read(1, 150);
  EXPECT_EQ(values[Counter::kDeviceRead], 1000u);
  EXPECT_EQ(values[Counter::kDeviceWritten], 2000u);
  EXPECT_EQ(values[Counter::kMacs], 8192u);
  EXPECT_EQ(values[Counter::kPtActive], 4u) << "4096 at 1024 in a cycle";
  EXPECT_EQ(values[Counter::kBusy], 50u);
  EXPECT_EQ(values[Counter::kOperations], 1u);
  EXPECT_TRUE(counters.busy());
  counters.End(work, 170);
  EXPECT_FALSE(counters.busy());
  values = counters.Read(1, 1000);
  EXPECT_EQ(values[Counter::kDeviceRead], 1000u) << "not twice";
  EXPECT_EQ(values[Counter::kBusy], 70u);
  EXPECT_EQ(counters.ReadCard(1000)[Counter::kDeviceRead], 1000u);
}

TEST(PerformanceCounters, BusyTimeOfOperationsBesideEachOtherCountsOnce) {
  PerformanceCounters counters(2, kMacsPerCycle);
  WorkDone a, b;
  counters.Begin(0, a, 100);
  counters.Begin(1, b, 150);
  counters.End(a, 200);
  counters.End(b, 300);
  EXPECT_EQ(counters.Read(0, 500)[Counter::kBusy], 100u);
  EXPECT_EQ(counters.Read(1, 500)[Counter::kBusy], 150u);
  EXPECT_EQ(counters.ReadCard(500)[Counter::kBusy], 200u);
}

TEST(PerformanceCounters, ANewUserFindsNothingOfTheOneBefore) {
  PerformanceCounters counters(2, kMacsPerCycle);
  WorkDone old_work{10, 20, 30, 1024 * 5};
  counters.CountPcie(1, true, 77, false);
  counters.Begin(1, old_work, 100);
  counters.Restart(1, 200);
  for (size_t i = 1; i < kPerformanceCounters; ++i)
    EXPECT_EQ(counters.Read(1, 250).at(i), 0u) << "counter " << i;
  WorkDone new_work{1, 2, 3, 4};
  counters.Begin(1, new_work, 300);
  old_work.bytes_read = 1000;
  counters.End(old_work, 400);  // it was still on its way
  counters.End(new_work, 500);
  const CounterValues values = counters.Read(1, 600);
  EXPECT_EQ(values[Counter::kDeviceRead], 1u);
  EXPECT_EQ(values[Counter::kBusy], 200u);
  const CounterValues card = counters.ReadCard(600);
  EXPECT_EQ(card[Counter::kDeviceRead], 1001u);
  EXPECT_EQ(card[Counter::kPcieSent], 77u);
  EXPECT_EQ(card[Counter::kBusy], 400u) << "from 100 to 500";
}

TEST(PerformanceCounters, OfTheCardStartAgainWithWhatIsDoneAfterwards) {
  PerformanceCounters counters(1, kMacsPerCycle);
  WorkDone work{100, 0, 0, 0};
  counters.Begin(0, work, 0);
  counters.RestartAll(1000);
  work.bytes_read = 130;
  counters.End(work, 1500);
  const CounterValues card = counters.ReadCard(2000);
  EXPECT_EQ(card[Counter::kDeviceRead], 30u);
  EXPECT_EQ(card[Counter::kBusy], 500u);
  EXPECT_EQ(counters.Read(0, 2000)[Counter::kDeviceRead], 0u);
}

TEST(PerformanceCounters, TellOfEachBegin) {
  PerformanceCounters counters(1, kMacsPerCycle);
  int begun = 0;
  counters.OnBegin([&] {
    ++begun;
    EXPECT_EQ(counters.busy(), begun > 1);
  });
  WorkDone a, b;
  counters.Begin(0, a, 0);
  counters.Begin(0, b, 0);
  EXPECT_EQ(begun, 2);
}

}  // namespace
}  // namespace spyre::model::performance_counters_test
