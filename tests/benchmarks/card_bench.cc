// Wall time of the simulated card: control blocks a second, DMA bytes a second, and a matmul
// through the whole column against single-thread SGEMM of the same shape in the same run. One card
// serves all: SystemC has one kernel a process.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <chrono>
#include <filesystem>
#include <vector>

#include "cosim/inprocess_transport.h"
#include "runtime/compiler/kernel.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace spyre {
namespace {

struct Bench {
  cosim::InProcessTransport transport{model::CardConfig{}, {}, nullptr};
  flex::RuntimeContext context;
  Bench() : context(transport, 0, Options()) {}
  static flex::RuntimeOptions Options() {
    flex::RuntimeOptions options;
    options.keep_completed = false;
    return options;
  }
  static Bench& Get() {
    static Bench bench;
    return bench;
  }
};

// Each iteration fills 1,000 sticks: the smallest operation that touches an engine.
void ControlBlocks(benchmark::State& state) {
  Bench& bench = Bench::Get();
  const flex::DeviceHandle memory = bench.context.Allocate(128);
  for (auto _ : state) {
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
  for (auto _ : state) {
    bench.context.DefaultStream().CopyToDevice(host.data(), memory, bytes);
    bench.context.Synchronize();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
  bench.context.Free(memory);
}
BENCHMARK(CopyToDevice)->Arg(1 << 20)->Arg(64 << 20)->Unit(benchmark::kMillisecond);

double SgemmSeconds(int m, int n, int k) {
  std::vector<float> a(static_cast<size_t>(m) * k, 1.0f), b(static_cast<size_t>(k) * n, 1.0f),
      c(static_cast<size_t>(m) * n);
  openblas_set_num_threads(1);
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a.data(), k, b.data(), n,
                0.0f, c.data(), n);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Launch to completion of one kernel; sgemm_ratio is its wall time over SGEMM's.
void Matmul(benchmark::State& state, bool timing_only) {
  Bench& bench = Bench::Get();
  const int64_t m = state.range(0);
  const int64_t k = state.range(1);
  const int64_t n = state.range(2);
  compiler::KernelSpec spec;
  spec.op = "matmul";
  spec.dims = {{"m", m}, {"k", k}, {"n", n}};
  spec.timing_only = timing_only;
  const auto directory = std::filesystem::temp_directory_path() / "spyre_card_bench";
  compiler::WriteSpyreCode(compiler::GenerateKernel(spec), directory);
  runtime::ExecutionPlan plan(directory);
  auto stream = runtime::SpyreStream::Default(bench.context);
  runtime::LoadPlan(stream, plan);
  const auto a = runtime::AllocateTensor(bench.context, {m, k});
  const auto b = runtime::AllocateTensor(bench.context, {k, n});
  const auto c = runtime::AllocateTensor(bench.context, {m, n});
  stream.Synchronize();
  const uint64_t device_start = bench.transport.NowPs();
  double wall = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    runtime::LaunchKernel(stream, plan, {a, b, c});
    stream.Synchronize();
    wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const auto runs = static_cast<double>(state.iterations());
  const double device = static_cast<double>(bench.transport.NowPs() - device_start) * 1e-12;
  state.counters["GMAC/s"] = static_cast<double>(m * k * n) * runs / wall * 1e-9;
  state.counters["slowdown"] = wall / device;  // over the modelled card
  if (!timing_only) {
    state.counters["sgemm_ratio"] =
        wall / runs / SgemmSeconds(static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
  }
}
BENCHMARK_CAPTURE(Matmul, functional, false)
    ->Args({1024, 1024, 1024})
    ->Args({512, 4096, 12800})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Matmul, timing_only, true)
    ->Args({1024, 1024, 1024})
    ->Args({512, 4096, 12800})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spyre
