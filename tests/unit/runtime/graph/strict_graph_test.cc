// SPDX-License-Identifier: Apache-2.0
// What the public pto-isa runtime does, quirk by quirk; docs/task-graph.md has the same list.
#include <gmock/gmock.h>

#include "tests/unit/runtime/graph/graph_fixture.h"

namespace spyre::runtime::strict_graph_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<TaskId>;

std::vector<Diagnostic::Kind> Kinds(TaskGraph& graph) {
  std::vector<Diagnostic::Kind> kinds;
  for (const Diagnostic& diagnostic : graph.TakeDiagnostics()) kinds.push_back(diagnostic.kind);
  return kinds;
}

TEST(StrictGraph, OrdersReadAfterWriteOnly) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {In(TileOf(1))});
  Task(*graph, {Out(TileOf(1))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1));
  EXPECT_THAT(Consumers(*graph, 1), IsEmpty());
  EXPECT_THAT(graph->Ready(0), ElementsAre(0, 2));
}

TEST(StrictGraph, AnotherShapeOfTheSameBytesIsAnotherRegion) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {Out({1, 0, 0, 8, 8})});
  Task(*graph, {In({1, 0, 0, 4, 16}), In({1, 0, 0, 8, 9}), In({2, 0, 0, 8, 8})});
  EXPECT_THAT(Consumers(*graph, 0), IsEmpty());
}

TEST(StrictGraph, OutputBeforeInputOfOneTaskLosesTheEdge) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {In(TileOf(1)), Out(TileOf(1))});
  Task(*graph, {Out(TileOf(1)), In(TileOf(1))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1));
  EXPECT_THAT(Consumers(*graph, 1), IsEmpty());
  EXPECT_EQ(graph->View(2).fanin, 0);
}

TEST(StrictGraph, InOutIsAnInputThenAnOutput) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {InOut(TileOf(1))});
  Task(*graph, {InOut(TileOf(1))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1));
  EXPECT_EQ(graph->View(1).args, 2u);
}

TEST(StrictGraph, TwoInputsFromOneProducerAreTwoEdges) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {Out(TileOf(1)), Out(TileOf(2))});
  Task(*graph, {In(TileOf(1)), In(TileOf(2))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1, 1));
  EXPECT_EQ(graph->View(1).fanin, 2);
  EXPECT_EQ(RunAll(*graph), (Ids{0, 1}));
}

TEST(StrictGraph, AFullFanoutDropsTheEdgeButCountsIt) {
  TaskGraphOptions options = Strict();
  options.max_fanout = 1;
  const auto graph = TaskGraph::Create(options);
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {In(TileOf(1))});
  Task(*graph, {In(TileOf(1))});
  EXPECT_THAT(Consumers(*graph, 0), ElementsAre(1));
  EXPECT_EQ(graph->View(2).fanin, 1);
  EXPECT_EQ(RunAll(*graph), (Ids{0, 1}));
  EXPECT_THAT(Kinds(*graph), ElementsAre(Diagnostic::Kind::kFanoutFull));
  graph->Simulate({});
  EXPECT_EQ(graph->completed(), 0);  // the simulation counts its own
  EXPECT_THAT(Kinds(*graph), ElementsAre(Diagnostic::Kind::kDeadlock));
}

TEST(StrictGraph, AProducerThatCompletesBeforeTheSubmitQueuesItsConsumerTwice) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {Out(TileOf(1))});
  const TaskId consumer = Alloc(*graph);
  graph->AddInput(consumer, TileOf(1));
  graph->Complete(graph->Pop(0));
  graph->Submit(consumer);
  EXPECT_THAT(graph->Ready(0), ElementsAre(1, 1));
}

TEST(StrictGraph, ACompletedProducerThatIsNotTheOldestMakesNoEdge) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {Out(TileOf(2))});
  graph->Complete(1);
  EXPECT_EQ(graph->oldest(), 0);
  Task(*graph, {In(TileOf(2))});
  EXPECT_EQ(graph->View(2).fanin, 0);
  graph->Complete(0);
  EXPECT_EQ(graph->oldest(), 2);
}

TEST(StrictGraph, ALateOutputOfAnOldTaskReplacesTheProducer) {
  const auto graph = TaskGraph::Create(Strict());
  const TaskId first = Alloc(*graph);
  const TaskId second = Alloc(*graph);
  graph->AddOutput(second, TileOf(1));
  graph->AddInput(first, TileOf(1));  // the older waits for the younger
  EXPECT_THAT(Consumers(*graph, second), ElementsAre(first));
  graph->AddOutput(first, TileOf(1));
  Task(*graph, {In(TileOf(1))});
  EXPECT_THAT(Consumers(*graph, first), ElementsAre(2));
  // The second sweep of a simulation gets to the older.
  const Simulation result = graph->Simulate({1, {}});
  EXPECT_EQ(result.tasks, 3);
  EXPECT_EQ(result.trace[0].task, second);
}

TEST(StrictGraph, BenchmarkReusesSlotsOfUnfinishedTasks) {
  const auto graph = TaskGraph::Create(Strict(4, WindowOverflow::kBenchmark));
  for (TensorId tensor = 0; tensor < 4; ++tensor) Task(*graph, {Out(TileOf(tensor))});
  EXPECT_EQ(Task(*graph, {In(TileOf(1)), In(TileOf(3))}), 4);  // tensor 1: producer is stale
  EXPECT_EQ(graph->oldest(), 2);
  EXPECT_EQ(graph->active(), 5);
  EXPECT_EQ(graph->View(4).slot, 0u);
  EXPECT_EQ(graph->View(4).fanin, 1);
  // Completing the forgotten task 0 completes what is in its slot.
  graph->Complete(0);
  EXPECT_TRUE(graph->View(4).complete);
}

TEST(StrictGraph, CompletingTwiceTakesFaninBelowZero) {
  const auto graph = TaskGraph::Create(Strict());
  Task(*graph, {Out(TileOf(1))});
  Task(*graph, {In(TileOf(1))});
  graph->Complete(0);
  graph->Complete(0);
  EXPECT_EQ(graph->View(1).fanin, -1);
  EXPECT_EQ(graph->active(), 0);
  EXPECT_EQ(graph->completed(), 2);
  graph->Submit(1);  // not ready any more, but it was queued once
  EXPECT_THAT(graph->Ready(0), ElementsAre(0, 1));
}

TEST(StrictGraph, ReadyTasksGoToTheQueueOfTheirUnit) {
  TaskGraphOptions options = Strict();
  options.pools = 2;
  const auto graph = TaskGraph::Create(options);
  const TaskId cube = Alloc(*graph, 1);
  graph->AddOutput(cube, TileOf(1));
  graph->Submit(cube);
  const TaskId vector = Alloc(*graph, 0);
  graph->AddInput(vector, TileOf(1));
  graph->Submit(vector);
  EXPECT_EQ(graph->Pop(0), kNoTask);
  EXPECT_EQ(graph->Pop(1), cube);
  graph->Complete(cube);
  EXPECT_EQ(graph->Pop(0), vector);
}

TEST(StrictGraph, SimulationUsesTheWorkerThatIsFreeFirst) {
  const auto graph = TaskGraph::Create(Strict());
  const FunctionId function = graph->Function("f");
  for (const int64_t cycles : {50, 20, 13}) graph->Alloc({function, 0, 0, cycles});
  const TaskId last = graph->Alloc({function, 0, 0, 7});
  graph->AddInput(last, TileOf(9));
  const Simulation result = graph->Simulate({2, {}});
  ASSERT_EQ(result.trace.size(), 4u);
  EXPECT_EQ(result.trace[2].worker, 1u);
  EXPECT_EQ(result.trace[2].start_cycle, 20);
  EXPECT_EQ(result.trace[3].worker, 1u);
  EXPECT_EQ(result.end_cycle, 50);
  EXPECT_EQ(graph->oldest(), 0);  // a simulation retires nothing
  EXPECT_EQ(graph->active(), 4);
  EXPECT_EQ(graph->Simulate({2, {}}).tasks, 0);
  EXPECT_EQ(graph->completed(), 0);  // the second one ran nothing
}

TEST(StrictGraph, ASimulatedTaskStartsWhenItsLastProducerEnds) {
  const auto graph = TaskGraph::Create(Strict());
  const FunctionId function = graph->Function("f");
  const auto task = [&](int64_t cycles, const std::vector<Use>& uses) {
    const TaskId id = graph->Alloc({function, 0, 0, cycles});
    for (const Use& use : uses) graph->Add(id, use.access, use.region);
    graph->Submit(id);
  };
  task(50, {Out(TileOf(1))});
  task(20, {Out(TileOf(2))});
  task(7, {In(TileOf(1)), In(TileOf(2)), Out(TileOf(3))});
  const Simulation result = graph->Simulate({4, {}});
  ASSERT_EQ(result.trace.size(), 3u);
  EXPECT_EQ(result.trace[2].start_cycle, 50) << "a worker is free from 0 on";
  EXPECT_EQ(result.trace[2].end_cycle, 57);
}

// 8192 slots, of which a task has that of its number modulo 8192; 16 arguments; 512 consumers.
TEST(StrictGraph, LimitsAreThoseOfTheOriginal) {
  TaskGraphOptions options;
  options.conformance = Conformance::kStrict;
  const auto graph = TaskGraph::Create(options);
  for (TaskId id = 0; id < 8192; ++id) ASSERT_EQ(Task(*graph, {}), id);
  EXPECT_EQ(graph->View(8191).slot, 8191u);
  EXPECT_EQ(Alloc(*graph), kNoTask) << "the window is full";
  RunAll(*graph);
  const TaskId producer = Task(*graph, {Out(TileOf(1))});
  EXPECT_EQ(graph->View(producer).slot, 0u);
  for (int i = 0; i < 513; ++i) Task(*graph, {In(TileOf(1))});
  EXPECT_EQ(Consumers(*graph, producer).size(), 512u);
  const TaskId wide = Alloc(*graph);
  for (TensorId tensor = 10; tensor < 27; ++tensor) graph->AddOutput(wide, TileOf(tensor));
  graph->Submit(wide);
  EXPECT_EQ(graph->View(Task(*graph, {In(TileOf(25))})).fanin, 1u) << "the 16th";
  EXPECT_EQ(graph->View(Task(*graph, {In(TileOf(26))})).fanin, 0u) << "the 17th is ignored";
}

TEST(StrictGraph, RefusesWhatTheOriginalDoesNotHave) {
  TaskGraphOptions options = Strict();
  options.ready = ReadyPolicy::kPriority;
  EXPECT_NE(Refusal([&] { TaskGraph::Create(options); }), "");
  options = Strict();
  options.deps.infer = Inference::kBytes;
  EXPECT_NE(Refusal([&] { TaskGraph::Create(options); }), "");
  const auto graph = TaskGraph::Create(Strict());
  Alloc(*graph);
  EXPECT_NE(Refusal([&] { graph->After(0, 0); }), "");
  EXPECT_NE(Refusal([&] { graph->Add(0, Access::kIn, Region::Of(1, {0, 0, 0}, {1, 1, 1})); }), "");
}

}  // namespace
}  // namespace spyre::runtime::strict_graph_test
