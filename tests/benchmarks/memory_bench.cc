// SPDX-License-Identifier: Apache-2.0
// Wall time of the memory model alone: requests a second that one channel controller decides, and
// 4 KiB bursts a second through the interleave and all channels.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "cosim/memory_study/memory_run.h"
#include "model/memory/channel_controller.h"
#include "tests/benchmarks/instructions.h"

namespace spyre::memory_bench {
namespace {

// One channel with 64 requests waiting at all times.
void Channel(benchmark::State& state, bool random, uint64_t writes_in_four) {
  const model::MemoryConfig config;
  model::ChannelController channel(config);
  std::mt19937_64 generator(1);
  std::vector<model::MemoryCompletion> done;
  uint64_t id = 0;
  uint64_t now = 0;
  const auto submit = [&] {
    const uint64_t block = random ? generator() % (1 << 24) : id % (1 << 24);
    channel.Submit({id, now, block * 256, 256, id % 4 < writes_in_four});
    ++id;
  };
  for (int i = 0; i < 64; ++i) submit();
  for (auto _ : benchmarks::Counted(state)) {
    for (uint64_t last = id + 10'000; id < last;) {
      now = channel.NextDecisionPs();
      channel.Advance(now, done);
      for (size_t i = 0; i < done.size(); ++i) submit();
      done.clear();
    }
  }
  state.counters["requests/s"] = benchmark::Counter(1e4 * static_cast<double>(state.iterations()),
                                                    benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(Channel, sequential_reads, false, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Channel, sequential_mix, false, 2)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Channel, random_reads, true, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Channel, random_mix, true, 2)->Unit(benchmark::kMillisecond);

void Memory(benchmark::State& state, const char* pattern) {
  cosim::PatternOptions options;
  options.pattern = pattern;
  options.requests = 5'000;
  options.read_fraction = 0.5;
  for (auto _ : benchmarks::Counted(state)) {
    const auto traffic = cosim::MakePattern(options, 112ull << 30);
    benchmark::DoNotOptimize(cosim::RunMemory(model::MemoryConfig(), *traffic, {32, 0}));
  }
  state.counters["bursts/s"] = benchmark::Counter(5e3 * static_cast<double>(state.iterations()),
                                                  benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(Memory, sequential, "sequential")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Memory, random, "random")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spyre::memory_bench
