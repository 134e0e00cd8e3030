// SPDX-License-Identifier: Apache-2.0
// What safe orders and refuses, case by case; task_order_test.cc has the random programs.
#include <gmock/gmock.h>

#include "tests/unit/runtime/graph/graph_fixture.h"

namespace spyre::runtime::safe_graph_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<TaskId>;

TEST(SafeGraph, OrdersWriteAfterReadAndWriteAfterWrite) {
  const auto graph = TaskGraph::Create(Safe());
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {In(TileOf(1))});
  Task(*graph, {In(TileOf(1))});
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {Out(TileOf(1))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1, 2));  // 3 waits for it through 1 and 2
  EXPECT_THAT(Consumers(*graph, 1), ElementsAre(3));
  EXPECT_THAT(Consumers(*graph, 2), ElementsAre(3));
  EXPECT_THAT(Consumers(*graph, 3), ElementsAre(4));
}

TEST(SafeGraph, TheOrderOfArgumentsDoesNotMatter) {
  const auto graph = TaskGraph::Create(Safe());
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {Out(TileOf(1)), In(TileOf(1))});
  Task(*graph, {InOut(TileOf(1))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1));
  EXPECT_THAT(Consumers(*graph, 1), ElementsAre(2));
}

TEST(SafeGraph, OneEdgeForSeveralRegionsOfOneProducer) {
  const auto graph = TaskGraph::Create(Safe());
  Task(*graph, {Out(TileOf(1)), Out(TileOf(2)), Out(TileOf(3))});
  Task(*graph, {In(TileOf(1)), In(TileOf(2)), InOut(TileOf(3))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1));
  EXPECT_EQ(graph->View(1).fanin, 1);
}

TEST(SafeGraph, FanoutHasNoLimit) {
  TaskGraphOptions options = Safe("exact", 1024);
  options.max_fanout = 4;
  const auto graph = TaskGraph::Create(options);
  Task(*graph, {Out(TileOf(1))});
  Ids readers;
  for (int i = 0; i < 600; ++i) readers.push_back(Task(*graph, {In(TileOf(1))}));
  const TaskId writer = Task(*graph, {Out(TileOf(1))});
  EXPECT_EQ(Consumers(*graph, 0), readers);
  const Ids order = RunAll(*graph);
  EXPECT_EQ(order.size(), 602u);
  EXPECT_EQ(order.back(), writer);
}

TEST(SafeGraph, ATaskBecomesReadyOnce) {
  const auto graph = TaskGraph::Create(Safe("hybrid"));
  Task(*graph, {Out(TileOf(1))});
  const TaskId consumer = Alloc(*graph);
  graph->AddInput(consumer, TileOf(1));
  graph->After(consumer, 0);
  graph->Complete(graph->Pop(0));
  EXPECT_EQ(graph->Pop(0), kNoTask);
  graph->Submit(consumer);
  EXPECT_THAT(graph->Ready(0), ElementsAre(consumer));
}

TEST(SafeGraph, RefusesCallsOutOfOrder) {
  const auto graph = TaskGraph::Create(Safe());
  const TaskId task = Alloc(*graph);
  EXPECT_THAT(Refusal([&] { graph->Submit(7); }), HasSubstr("no task 7; 1 are allocated"));
  EXPECT_THAT(Refusal([&] { graph->Complete(task); }), HasSubstr("not submitted"));
  graph->Submit(task);
  EXPECT_THAT(Refusal([&] { graph->Submit(task); }), HasSubstr("ready"));
  EXPECT_THAT(Refusal([&] { graph->AddInput(task, TileOf(1)); }), HasSubstr("ready"));
  EXPECT_THAT(Refusal([&] { graph->Complete(task); }), HasSubstr("has not been popped"));
  graph->Complete(graph->Pop(0));
  EXPECT_THAT(Refusal([&] { graph->Complete(task); }), HasSubstr("is completed"));
  EXPECT_EQ(graph->completed(), 1);
  EXPECT_EQ(graph->active(), 0);
}

TEST(SafeGraph, RefusesMoreArgumentsThanTheLimitAndKeepsTheRest) {
  TaskGraphOptions options = Safe();
  options.max_args = 2;
  const auto graph = TaskGraph::Create(options);
  const TaskId task = Alloc(*graph);
  graph->AddInput(task, TileOf(1));
  graph->AddInOut(task, TileOf(2));  // counts once
  EXPECT_THAT(Refusal([&] { graph->AddOutput(task, TileOf(3)); }), HasSubstr("2 arguments"));
  EXPECT_EQ(graph->Arguments(task).size(), 2u);
  EXPECT_EQ(graph->Arguments(task)[1].access, Access::kInOut);
  EXPECT_EQ(graph->Arguments(task)[1].region, Region::Of(TileOf(2)));
}

TEST(SafeGraph, ExplicitEdgesHoldWhateverTheTasksTouch) {
  const auto graph = TaskGraph::Create(Safe("explicit"));
  const TaskId first = Alloc(*graph);
  const TaskId second = Alloc(*graph);
  graph->AddOutput(first, TileOf(1));
  graph->AddInput(second, TileOf(1));  // means nothing here
  graph->Submit(second);
  EXPECT_EQ(graph->Pop(0), second);
  const TaskId third = Alloc(*graph);
  graph->After(third, first);
  graph->After(third, second);
  graph->Submit(third);
  graph->Submit(first);
  graph->Complete(second);
  EXPECT_EQ(RunAll(*graph), (Ids{first, third}));
}

TEST(SafeGraph, RefusesCyclesOfExplicitEdges) {
  const auto graph = TaskGraph::Create(Safe("explicit"));
  for (int i = 0; i < 4; ++i) Alloc(*graph);
  EXPECT_THAT(Refusal([&] { graph->After(1, 1); }), HasSubstr("a cycle"));
  EXPECT_THAT(Refusal([&] { graph->After(1, 9); }), HasSubstr("does not exist"));
  graph->After(1, 0);
  graph->After(2, 1);
  graph->After(3, 1);
  EXPECT_THAT(Refusal([&] { graph->After(0, 3); }), AllOf(HasSubstr("task 0"), HasSubstr("cycle")));
  for (TaskId task = 0; task < 4; ++task) graph->Submit(task);
  EXPECT_EQ(RunAll(*graph), (Ids{0, 1, 2, 3}));  // the refused edge left nothing behind
}

TEST(SafeGraph, RefusesACycleOfAnExplicitAndAnInferredEdge) {
  const auto graph = TaskGraph::Create(Safe("hybrid"));
  const TaskId early = Alloc(*graph);
  const TaskId late = Alloc(*graph);
  graph->After(early, late);
  graph->AddOutput(early, TileOf(1));
  graph->AddInput(late, TileOf(1));
  graph->Submit(early);
  EXPECT_THAT(Refusal([&] { graph->Submit(late); }), HasSubstr("a cycle"));
  EXPECT_THAT(Refusal([&] { graph->RequireProgress(); }), HasSubstr("2 tasks"));
}

TEST(SafeGraph, AStuckGraphIsAnErrorThatNamesTheOldestTask) {
  const auto graph = TaskGraph::Create(Safe("explicit"));
  const TaskId never = Alloc(*graph);
  const TaskId waits = Alloc(*graph);
  graph->After(waits, never);
  graph->Submit(waits);
  const auto stuck = AllOf(HasSubstr("2 tasks have not completed"), HasSubstr("not submitted"));
  EXPECT_THAT(Refusal([&] { graph->RequireProgress(); }), stuck);
  EXPECT_THAT(Refusal([&] { graph->Simulate({}); }), stuck);
  graph->Submit(never);
  EXPECT_EQ(Refusal([&] { graph->RequireProgress(); }), "");
}

TEST(SafeGraph, AFullWindowStallsUntilTheOldestCompletes) {
  const auto graph = TaskGraph::Create(Safe("exact", 2));
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {Out(TileOf(2))});
  EXPECT_EQ(Alloc(*graph), kNoTask);
  EXPECT_EQ(graph->Pop(0), 0);
  EXPECT_EQ(graph->Pop(0), 1);
  graph->Complete(1);
  EXPECT_EQ(Alloc(*graph), kNoTask);
  graph->Complete(0);
  EXPECT_EQ(Alloc(*graph), 2);
  EXPECT_EQ(Alloc(*graph), 3);
  EXPECT_THAT(Refusal([&] { Alloc(*graph); }), HasSubstr("not submitted"));  // stalled for ever
}

TEST(SafeGraph, AFullWindowBehindTheStartGateIsAnError) {
  TaskGraphOptions options = Safe("exact", 2);
  options.start = StartPolicy::AfterOrchestration();
  const auto graph = TaskGraph::Create(options);
  Task(*graph, {});
  Task(*graph, {});
  EXPECT_EQ(graph->Pop(0), kNoTask);
  EXPECT_THAT(Refusal([&] { Alloc(*graph); }), HasSubstr("start policy"));
  graph->FinishOrchestration();
  EXPECT_EQ(RunAll(*graph), (Ids{0, 1}));
  EXPECT_TRUE(graph->Finished());
}

TEST(SafeGraph, TheThresholdOpensTheGateWhenMoreTasksAreAllocated) {
  TaskGraphOptions options = Safe();
  options.start = StartPolicy::Threshold(2);
  const auto graph = TaskGraph::Create(options);
  Task(*graph, {});
  Task(*graph, {});
  EXPECT_EQ(graph->Pop(0), kNoTask);
  Task(*graph, {});
  EXPECT_EQ(graph->Pop(0), 0);
  EXPECT_FALSE(graph->Finished());
}

TEST(SafeGraph, AbortLeavesTheTasksOfTheWindowAndIsFinal) {
  const auto graph = TaskGraph::Create(Safe("exact", 2, WindowOverflow::kAbort));
  Task(*graph, {});
  Task(*graph, {});
  EXPECT_EQ(Alloc(*graph), kNoTask);
  EXPECT_TRUE(graph->aborted());
  EXPECT_EQ(RunAll(*graph), (Ids{0, 1}));
  EXPECT_EQ(Alloc(*graph), kNoTask) << "also when there is room again";
}

TEST(SafeGraph, BenchmarkTakesTheOlderHalfAsCompleted) {
  const auto graph = TaskGraph::Create(Safe("exact", 4, WindowOverflow::kBenchmark));
  Task(*graph, {Out(TileOf(1))});
  for (int i = 0; i < 3; ++i) Task(*graph, {In(TileOf(1))});
  EXPECT_EQ(Task(*graph, {Out(TileOf(1))}), 4);
  EXPECT_EQ(graph->oldest(), 2);
  EXPECT_EQ(graph->completed(), 2);
  EXPECT_THAT(graph->Ready(0), ElementsAre(2, 3));
  EXPECT_EQ(graph->View(4).fanin, 2);
  EXPECT_EQ(RunAll(*graph), (Ids{2, 3, 4}));
  EXPECT_THAT(Refusal([&] { graph->Complete(0); }), HasSubstr("left the window"));
}

TEST(SafeGraph, WideRegionsConflictWhenEqualAndTwoDimensionsAreTheFastPath) {
  const auto graph = TaskGraph::Create(Safe());
  const auto task = [&](Access access, const Region& region) {
    const TaskId id = Alloc(*graph);
    graph->Add(id, access, region);
    graph->Submit(id);
    return id;
  };
  task(Access::kOut, Region::Of(1, {0, 8, 0}, {4, 8, 16}));
  task(Access::kIn, Region::Of(1, {0, 8, 0}, {4, 8, 16}));
  task(Access::kIn, Region::Of(1, {0, 8, 0}, {4, 8, 15}));
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1));
  const TaskId flat = task(Access::kOut, Region::Of(2, {8, 16}, {8, 8}));
  const TaskId same = Task(*graph, {In(TileOf(2, 8, 16))});
  EXPECT_THAT(Consumers(*graph, flat), ElementsAre(same));
  EXPECT_THAT(Consumers(*graph, 1), IsEmpty());
}

TEST(SafeGraph, BytesFindOverlapsThatEqualRegionsMiss) {
  const auto graph = TaskGraph::Create(Safe("bytes"));
  graph->PlaceTensor({1, 0x1000, 2, {16, 16}});
  graph->PlaceTensor({2, 0x1000, 2, {256}});  // the same bytes in one dimension
  Task(*graph, {Out({1, 0, 0, 8, 8})});
  Task(*graph, {Out({1, 0, 8, 8, 8})});
  Task(*graph, {In({1, 7, 7, 2, 1})});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(2));
  EXPECT_THAT(Consumers(*graph, 1), IsEmpty());
  const TaskId flat = Alloc(*graph);
  graph->Add(flat, Access::kOut, Region::Of(2, {0}, {256}));  // covers all that came before
  graph->Submit(flat);
  EXPECT_EQ(graph->View(flat).fanin, 3);
  Task(*graph, {In({1, 0, 0, 1, 1})});
  EXPECT_EQ(graph->View(4).fanin, 1);
  EXPECT_EQ(RunAll(*graph), (Ids{0, 1, 2, 3, 4}));
}

TEST(SafeGraph, RefusesRegionsOutsideTheirTensor) {
  const auto graph = TaskGraph::Create(Safe());
  graph->PlaceTensor({1, 0, 4, {16, 16}});
  const TaskId task = Alloc(*graph);
  const auto refusal = [&](const Region2d& region) {
    return Refusal([&] { graph->AddInput(task, region); });
  };
  EXPECT_THAT(refusal({1, 9, 0, 8, 8}), HasSubstr("dimension 0"));
  EXPECT_THAT(refusal({1, 0, -1, 8, 8}), HasSubstr("dimension 1"));
  EXPECT_THAT(refusal({1, 0, 0, 8, 0}), HasSubstr("dimension 1"));
  EXPECT_THAT(refusal({1, INT64_MAX, 0, INT64_MAX, 8}), HasSubstr("dimension 0"));
  EXPECT_EQ(refusal({1, 8, 8, 8, 8}), "");
  EXPECT_EQ(graph->Arguments(task).size(), 1u);
  EXPECT_THAT(Refusal([&] { graph->PlaceTensor({1, 0, 4, {1}}); }), HasSubstr("already"));
  EXPECT_THAT(Refusal([&] { graph->PlaceTensor({2, 0, 4, {INT64_MAX, 8}}); }), HasSubstr("bytes"));
  EXPECT_THAT(Refusal([&] { graph->PlaceTensor({2, 0, 4, {}}); }), HasSubstr("0 dimensions"));
}

TEST(SafeGraph, SimulationIsInOrderOfTimeOnTheWorkersOfEachPool) {
  TaskGraphOptions options = Safe();
  options.pools = 2;
  const auto graph = TaskGraph::Create(options);
  const FunctionId function = graph->Function("f");
  const auto task = [&](uint32_t pool, int64_t cycles, const std::vector<Use>& uses) {
    const TaskId id = graph->Alloc({function, pool, 0, cycles});
    for (const Use& use : uses) graph->Add(id, use.access, use.region);
    graph->Submit(id);
  };
  task(1, 100, {Out(TileOf(1))});
  task(0, 10, {In(TileOf(1))});
  task(0, 30, {});
  const Simulation result = graph->Simulate({0, {1, 1}});
  ASSERT_EQ(result.trace.size(), 3u);
  EXPECT_EQ(result.trace[0].task, 2);  // does not wait behind task 1
  EXPECT_EQ(result.trace[2].task, 1);
  EXPECT_EQ(result.trace[2].start_cycle, 100);
  EXPECT_EQ(result.end_cycle, 110);
  EXPECT_EQ(graph->View(1).earliest_cycle, 100);
  EXPECT_TRUE(graph->Finished());
  EXPECT_THAT(Refusal([&] { graph->Simulate({0, {1, 0}}); }), HasSubstr("pool 1 has no workers"));
}

TEST(SafeGraph, BadOptionsAreNamed) {
  TaskGraphOptions options = Safe();
  options.window.tasks = 100;
  EXPECT_THAT(Refusal([&] { TaskGraph::Create(options); }), HasSubstr("power of two"));
  options = Safe();
  options.pools = 0;
  EXPECT_THAT(Refusal([&] { TaskGraph::Create(options); }), HasSubstr("pools is 0"));
  const auto graph = TaskGraph::Create(Safe());
  EXPECT_THAT(Refusal([&] { graph->Alloc({}); }), HasSubstr("no function 0"));
  options = Safe();
  options.pools = 3;
  EXPECT_THAT(Refusal([&] { Alloc(*TaskGraph::Create(options), 3); }), HasSubstr("no pool 3"));
}

}  // namespace
}  // namespace spyre::runtime::safe_graph_test
