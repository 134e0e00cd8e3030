// SPDX-License-Identifier: Apache-2.0
// How many kernels the closed form (card.fidelity = "fast") works out, from the configuration of
// each: what `calibrate` does with points, and `run` with a model.
//   kernels   per second of processor time of the main thread; of a model, launches
#include <benchmark/benchmark.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cosim/calibrate/calibrate.h"
#include "cosim/session/session.h"
#include "tests/benchmarks/instructions.h"

namespace spyre::cosim::formula_bench {
namespace {

void CountKernels(benchmark::State& state, size_t of_each) {
  state.counters["kernels"] = benchmark::Counter(static_cast<double>(of_each),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

// Matmuls, pointwise operations, reductions and softmax of several sizes.
std::vector<CalibrationPoint> Points() {
  nlohmann::json points;
  for (const int size : {64, 128, 512, 1024, 2048, 4096, 8192}) {
    for (const int other : {64, 256, 1000, 4096}) {
      points.push_back(
          {{"op", "matmul"}, {"m", size}, {"k", other}, {"n", 1024}, {"measured_us", 1}});
      for (const char* op : {"add", "exp", "sum", "softmax"})
        points.push_back({{"op", op}, {"rows", size}, {"cols", other}, {"measured_us", 1}});
    }
  }
  return ParseCalibration(nlohmann::json{{"points", points}}.dump(), "points");
}

void ClosedFormOfOperations(benchmark::State& state) {
  const RunConfig base = LoadConfig("", {"card.fidelity=fast"});
  const std::vector<CalibrationPoint> points = Points();
  for (auto _ : benchmarks::Counted(state))
    benchmark::DoNotOptimize(RunPoints(base, points, 1, std::cerr));
  CountKernels(state, points.size());
}
BENCHMARK(ClosedFormOfOperations);

// Granite 3.3 8B, a prompt of 512 tokens.
void ClosedFormOfAModel(benchmark::State& state) {
  const RunConfig config =
      LoadConfig("", {"card.fidelity=fast", "workload.functional=false", "workload.model.layers=40",
                      "workload.model.vocabulary=49152"});
  size_t launches = 0;
  for (auto _ : benchmarks::Counted(state)) launches = RunSession(config, "", {}).launches.size();
  CountKernels(state, launches);
}
BENCHMARK(ClosedFormOfAModel);

}  // namespace
}  // namespace spyre::cosim::formula_bench
