// SPDX-License-Identifier: Apache-2.0
// Threads of the host on a graph, and the simulation's dispatch and timing.
#include "runtime/graph/graph_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/unit/error_of.h"

namespace spyre::runtime::graph_workers_test {
namespace {

using test::ErrorOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `chains` chains of `length` tasks; task n of a chain adds n to its number and doubles it.
std::unique_ptr<TaskGraph> Chains(int64_t chains, int64_t length, uint32_t pools = 1) {
  TaskGraphOptions options;
  options.pools = pools;
  auto graph = TaskGraph::Create(options);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t c = 0; c < chains; ++c) {
      const TaskId task =
          graph->Alloc({graph->Function("step"), static_cast<uint32_t>((i + c) % pools), 0, 10});
      graph->AddInOut(task, {static_cast<TensorId>(c), 0, 0, 8, 8});
      graph->Submit(task);
    }
  }
  return graph;
}

class GraphThreads : public testing::TestWithParam<uint32_t> {};

TEST_P(GraphThreads, LeaveTheSameWhateverTheirNumber) {
  constexpr int64_t kChains = 5, kLength = 40;
  const auto graph = Chains(kChains, kLength, 2);
  std::vector<uint64_t> numbers(kChains);
  const GraphRun run = RunOnThreads(*graph, GetParam(), [&](TaskId task, uint32_t worker) {
    EXPECT_LT(worker, GetParam());
    uint64_t& number = numbers[static_cast<size_t>(task % kChains)];
    number = number * 3 + static_cast<uint64_t>(task);
  });
  EXPECT_EQ(run.tasks, kChains * kLength);
  EXPECT_TRUE(graph->Finished());
  for (int64_t c = 0; c < kChains; ++c) {
    uint64_t expected = 0;
    for (int64_t i = 0; i < kLength; ++i)
      expected = expected * 3 + static_cast<uint64_t>(i * kChains + c);
    EXPECT_EQ(numbers[static_cast<size_t>(c)], expected) << "chain " << c;
  }
}
INSTANTIATE_TEST_SUITE_P(Numbers, GraphThreads, testing::Values(1, 2, 7));

TEST(GraphThreads, PassOnWhatATaskThrows) {
  const auto graph = Chains(2, 10);
  std::atomic<int> ran{0};
  EXPECT_THROW(RunOnThreads(*graph, 3,
                            [&](TaskId task, uint32_t) {
                              ++ran;
                              if (task == 6) throw std::runtime_error("six");
                            }),
               std::runtime_error);
  EXPECT_LT(ran, 20);
}

TEST(GraphThreads, SayWhenTasksCanNeverRun) {
  auto graph = Chains(1, 1);
  graph->Alloc({graph->Function("never submitted"), 0, 0, 1});
  EXPECT_THAT(
      ErrorOf(ErrorKind::kBadInput, [&] { RunOnThreads(*graph, 2, [](TaskId, uint32_t) {}); }),
      HasSubstr("never submitted"));
  EXPECT_THAT(
      ErrorOf(ErrorKind::kBadInput, [&] { RunOnThreads(*graph, 0, [](TaskId, uint32_t) {}); }),
      HasSubstr("0 threads"));
}

std::vector<int64_t> Starts(const Simulation& simulation) {
  std::vector<int64_t> starts(simulation.trace.size());
  for (const TraceEntry& entry : simulation.trace)
    starts[static_cast<size_t>(entry.task)] = entry.start_cycle;
  return starts;
}

TEST(SimulatedTiming, ATaskStartsWhenTheHostHasIssuedItsBatch) {
  SimulationWorkers workers;
  workers.total = 8;
  workers.issue_cycles = 3;
  EXPECT_THAT(Starts(Chains(4, 1)->Simulate(workers)), ElementsAre(3, 6, 9, 12));
  workers.batch = 2;
  EXPECT_THAT(Starts(Chains(4, 1)->Simulate(workers)), ElementsAre(6, 6, 12, 12));
  workers.issue_cycles = 0;
  EXPECT_THAT(Starts(Chains(4, 1)->Simulate(workers)), ElementsAre(0, 0, 0, 0));
}

TEST(SimulatedDispatch, RoundRobinKeepsATaskWaitingForItsWorker) {
  SimulationWorkers workers;
  workers.total = 2;
  workers.fixed = true;
  const auto graph = TaskGraph::Create({});
  for (const int64_t cycles : {100, 1, 1, 1})  // 0 and 2 are worker 0's
    graph->Submit(graph->Alloc({graph->Function("f"), 0, 0, cycles}));
  EXPECT_THAT(Starts(graph->Simulate(workers)), ElementsAre(0, 0, 100, 1));
}

}  // namespace
}  // namespace spyre::runtime::graph_workers_test
