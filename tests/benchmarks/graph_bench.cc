// SPDX-License-Identifier: Apache-2.0
// Tasks per second through the task graph on one core: allocation, dependencies, ready queue,
// completion. The window is that of the original, always full, so that each allocation follows a
// completion.
//   tasks   per second of wall time; what docs/task-graph.md quotes
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>

#include "runtime/graph/task_graph.h"
#include "tests/benchmarks/instructions.h"

namespace spyre::runtime::graph_bench {
namespace {

constexpr int64_t kTensors = 64;
constexpr int64_t kTilesPerSide = 16;
constexpr int64_t kMixedTilesPerSide = 64;

Region2d Tile(int64_t number) {
  const int64_t tile = number / kTensors;
  return {static_cast<TensorId>(number % kTensors), tile / kTilesPerSide % kTilesPerSide * 64,
          tile % kTilesPerSide * 64, 64, 64};
}

// Every task reads two tiles and writes one, of many tensors.
void AddTiles(TaskGraph& graph, TaskId task, int64_t number) {
  graph.AddInput(task, Tile(number));
  graph.AddInput(task, Tile(number + 7));
  graph.AddOutput(task, Tile(number + 640));
}

// Every task writes a tile of one tensor. Of 16 tasks, one reads a band of rows, one a band of
// columns, and the others read a tile of four times that size.
void AddMixed(TaskGraph& graph, TaskId task, int64_t number) {
  constexpr int64_t kTile = 64;
  constexpr int64_t kSide = kTile * kMixedTilesPerSide;
  const int64_t row = number * 37 % kMixedTilesPerSide * kTile;
  const int64_t col = number * 37 / kMixedTilesPerSide % kMixedTilesPerSide * kTile;
  switch (number % 16) {
    case 0:
      graph.AddInput(task, {0, row, 0, kTile, kSide});
      break;
    case 8:
      graph.AddInput(task, {0, 0, col, kSide, kTile});
      break;
    default:
      graph.AddInput(task, {0, row / 128 * 128, col / 128 * 128, 128, 128});
  }
  graph.AddOutput(task, {0, kSide - kTile - row, col, kTile, kTile});
}

void RunOldest(TaskGraph& graph) {
  const TaskId task = graph.Pop(0);
  if (task != kNoTask) graph.Complete(task);
}

TaskGraphOptions Options(Conformance conformance, Inference infer, ReadyPolicy ready) {
  TaskGraphOptions options;
  options.conformance = conformance;
  options.deps.infer = infer;
  options.ready = ready;
  return options;
}

using Add = void (*)(TaskGraph& graph, TaskId task, int64_t number);

void InsertInferRetire(benchmark::State& state, const TaskGraphOptions& options, Add add = AddTiles,
                       int64_t tiles_per_side = kTilesPerSide) {
  const auto graph = TaskGraph::Create(options);
  const FunctionId function = graph->Function("tile_add");
  if (options.deps.infer == Inference::kBytes) {
    for (TensorId tensor = 0; tensor < kTensors; ++tensor) {
      graph->PlaceTensor({tensor, tensor << 32, 2, {64 * tiles_per_side, 64 * tiles_per_side}});
    }
  }
  int64_t number = 0;
  for (auto _ : benchmarks::Counted(state)) {
    TaskId task = graph->Alloc({function, 0, 0, -1});
    while (task == kNoTask) {
      RunOldest(*graph);
      task = graph->Alloc({function, 0, 0, -1});
    }
    add(*graph, task, number);
    graph->Submit(task);
    ++number;
  }
  state.counters["tasks"] =
      benchmark::Counter(static_cast<double>(number), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(InsertInferRetire, strict,
                  Options(Conformance::kStrict, Inference::kExact, ReadyPolicy::kFifo));
BENCHMARK_CAPTURE(InsertInferRetire, safe,
                  Options(Conformance::kSafe, Inference::kExact, ReadyPolicy::kFifo));
BENCHMARK_CAPTURE(InsertInferRetire, safe_priority,
                  Options(Conformance::kSafe, Inference::kExact, ReadyPolicy::kPriority));
BENCHMARK_CAPTURE(InsertInferRetire, safe_work_steal,
                  Options(Conformance::kSafe, Inference::kExact, ReadyPolicy::kWorkSteal));
BENCHMARK_CAPTURE(InsertInferRetire, safe_bytes,
                  Options(Conformance::kSafe, Inference::kBytes, ReadyPolicy::kFifo));
BENCHMARK_CAPTURE(InsertInferRetire, safe_bytes_mixed,
                  Options(Conformance::kSafe, Inference::kBytes, ReadyPolicy::kFifo), AddMixed,
                  kMixedTilesPerSide);

// The orchestration alone: nothing completes, the window forgets.
void InsertInfer(benchmark::State& state, Conformance conformance) {
  TaskGraphOptions options = Options(conformance, Inference::kExact, ReadyPolicy::kFifo);
  options.window.overflow = WindowOverflow::kBenchmark;
  const auto graph = TaskGraph::Create(options);
  const FunctionId function = graph->Function("tile_add");
  int64_t number = 0;
  for (auto _ : benchmarks::Counted(state)) {
    const TaskId task = graph->Alloc({function, 0, 0, -1});
    AddTiles(*graph, task, number);
    graph->Submit(task);
    ++number;
  }
  state.counters["tasks"] =
      benchmark::Counter(static_cast<double>(number), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(InsertInfer, strict, Conformance::kStrict);
BENCHMARK_CAPTURE(InsertInfer, safe, Conformance::kSafe);

}  // namespace
}  // namespace spyre::runtime::graph_bench
