// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/run_path.h"

#include <gtest/gtest.h>

namespace spyre::cosim::run_path_test {
namespace {

using flex::CompletedOperation;
using trace::Cause;
using trace::PathTimes;

uint64_t Of(const PathTimes& path, Cause cause) { return path[static_cast<size_t>(cause)]; }

CompletedOperation Operation(Opcode opcode, uint64_t correlation, uint64_t queued, uint64_t fetched,
                             uint64_t started, uint64_t finished) {
  CompletedOperation operation;
  operation.opcode = opcode;
  operation.correlation = correlation;
  operation.executed = true;
  operation.queued_ps = queued;
  operation.fetched_ps = fetched;
  operation.started_ps = started;
  operation.finished_ps = finished;
  operation.posted_ps = finished + 10;
  return operation;
}

// Dispatch 20, a way over PCIe 30, host memory 5.
constexpr RunPathCosts kCosts{20, 30, 5};

PathTimes PathOf(const std::vector<CompletedOperation>& operations,
                 const std::vector<HostWait>& waits, uint64_t begin_ps,
                 std::unordered_map<uint64_t, PathTimes> kernels = {}) {
  return PathOfRun({operations, kernels, waits, kCosts}, begin_ps);
}

// One queued behind the other: the second starts 20 after the first has finished.
TEST(RunPath, WhatIsQueuedWaitsForTheEngineAndTheDispatch) {
  const PathTimes path = PathOf({Operation(Opcode::DMA_IN, 1, 100, 180, 200, 300),
                                 Operation(Opcode::DMA_OUT, 2, 100, 190, 320, 400)},
                                {{0, 40}}, 100);
  EXPECT_EQ(Of(path, Cause::kPcie), 80u + 100u + 65u) << "copies, and the entry's way";
  EXPECT_EQ(Of(path, Cause::kControl), 20u + 20u + 15u) << "two dispatches, and the decode";
  EXPECT_EQ(trace::TotalPs(path), 300u) << "from 100 to 400, without gap or overlap";
}

// The host waits for the first, works 90, and rings the doorbell of the second.
TEST(RunPath, TheHostIsOnThePathWhereTheCardWaitsForIt) {
  const PathTimes path = PathOf({Operation(Opcode::DMA_IN, 1, 100, 180, 200, 300),
                                 Operation(Opcode::DMA_OUT, 2, 460, 530, 550, 600)},
                                {{110, 340}}, 100);
  EXPECT_EQ(Of(path, Cause::kHost), 90u) << "from waking at 340 to the doorbell at 460 - 30";
  EXPECT_EQ(trace::TotalPs(path), 500u);
}

TEST(RunPath, AKernelBringsItsOwnPath) {
  PathTimes kernel{};
  kernel[static_cast<size_t>(Cause::kRing)] = 700;
  kernel[static_cast<size_t>(Cause::kPtRows)] = 280;
  const PathTimes path =
      PathOf({Operation(Opcode::COMPUTE, 7, 0, 70, 90, 1090)}, {}, 0, {{7, kernel}});
  EXPECT_EQ(Of(path, Cause::kRing), 700u);
  EXPECT_EQ(Of(path, Cause::kPtRows), 280u);
  EXPECT_EQ(trace::TotalPs(path), 1090u);
}

// A wait for a kernel of another stream, and a copy behind the wait.
TEST(RunPath, AWaitIsTheTimeOfWhatItWaitedFor) {
  PathTimes kernel{};
  kernel[static_cast<size_t>(Cause::kMemoryRead)] = 1000;
  const PathTimes path = PathOf({Operation(Opcode::COMPUTE, 7, 0, 70, 90, 1090),
                                 Operation(Opcode::EVENT_WAIT, 8, 0, 80, 100, 1095),
                                 Operation(Opcode::DMA_OUT, 9, 0, 85, 1115, 1200)},
                                {}, 0, {{7, kernel}});
  EXPECT_EQ(Of(path, Cause::kMemoryRead), 1000u);
  EXPECT_EQ(Of(path, Cause::kControl), 20u + 5u + 20u + 5u)
      << "two dispatches, the end of the wait, the decode of the kernel";
  EXPECT_EQ(trace::TotalPs(path), 1200u);
}

TEST(RunPath, WithoutOperationsThereIsNoPath) { EXPECT_EQ(trace::TotalPs(PathOf({}, {}, 0)), 0u); }

TEST(WindowShares, EveryMomentCountsOnce) {
  // The card works 200 to 400; the host sleeps 150 to 350 and 500 to 600.
  const WindowShares shares = SharesOfWindow({Operation(Opcode::COMPUTE, 1, 100, 150, 200, 400)},
                                             {{150, 350}, {500, 600}}, 100, 700);
  EXPECT_EQ(shares.window_ps, 600u);
  EXPECT_EQ(shares.card_ps, 200u);
  EXPECT_EQ(shares.host_ps, 50u + 100u + 100u) << "100 to 150, 400 to 500, 600 to 700";
  EXPECT_EQ(shares.idle_ps, 50u + 100u) << "150 to 200, 500 to 600";
}

}  // namespace
}  // namespace spyre::cosim::run_path_test
