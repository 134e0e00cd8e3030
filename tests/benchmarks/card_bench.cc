// SPDX-License-Identifier: Apache-2.0
// Wall time of the simulated card's control path: control blocks a second, DMA bytes a second.
#include "tests/benchmarks/card_bench.h"

#include <benchmark/benchmark.h>

#include <vector>

#include "tests/benchmarks/instructions.h"

namespace spyre::card_bench {
namespace {

// Each iteration fills 1,000 sticks: the smallest operation that touches an engine.
void ControlBlocks(benchmark::State& state) {
  Bench& bench = Bench::Get();
  const flex::DeviceHandle memory = bench.context.Allocate(128);
  for (auto _ : benchmarks::Counted(state)) {
    for (int i = 0; i < 1000; ++i) bench.context.DefaultStream().Fill(memory, 128, 0);
    bench.context.Synchronize();
  }
  state.counters["blocks/s"] = benchmark::Counter(1000.0 * static_cast<double>(state.iterations()),
                                                  benchmark::Counter::kIsRate);
  bench.context.Free(memory);
}
BENCHMARK(ControlBlocks)->Unit(benchmark::kMillisecond);

void CopyToDevice(benchmark::State& state) {
  Bench& bench = Bench::Get();
  const auto bytes = static_cast<uint64_t>(state.range(0));
  std::vector<uint8_t> host(bytes, 1);
  const flex::DeviceHandle memory = bench.context.Allocate(bytes);
  for (auto _ : benchmarks::Counted(state)) {
    bench.context.DefaultStream().CopyToDevice(host.data(), memory, bytes);
    bench.context.Synchronize();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
  bench.context.Free(memory);
}
BENCHMARK(CopyToDevice)->Arg(1 << 20)->Arg(64 << 20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spyre::card_bench
