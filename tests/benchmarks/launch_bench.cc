// SPDX-License-Identifier: Apache-2.0
// Wall time of launches on the simulated card, without copies to and from the host.
//   card_ms      simulated time of the launches
//   slowdown     wall time over simulated time
//   sgemm_ratio  wall time over that of single-thread SGEMM of the same shape, measured in this run
#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/benchmarks/card_bench.h"
#include "tests/benchmarks/instructions.h"
#include "tests/benchmarks/sgemm.h"

namespace spyre::launch_bench {
namespace {

using Dims = std::map<std::string, int64_t>;

compiler::KernelSpec Spec(const std::string& op, const Dims& dims, bool timing_only = true) {
  compiler::KernelSpec spec;
  spec.op = op;
  spec.dims = dims;
  spec.timing_only = timing_only;
  return spec;
}
compiler::KernelSpec Matmul(int64_t m, int64_t k, int64_t n, bool timing_only = true) {
  return Spec("matmul", {{"m", m}, {"k", k}, {"n", n}}, timing_only);
}

// A compiled and loaded kernel with tensors of its own.
struct Loaded {
  std::unique_ptr<runtime::ExecutionPlan> plan;
  std::vector<runtime::SpyreTensor> tensors;
};

Loaded Load(runtime::SpyreStream& stream, const compiler::KernelSpec& spec) {
  const compiler::Kernel kernel = compiler::GenerateKernel(spec);
  const auto directory = std::filesystem::temp_directory_path() / "spyre_launch_bench";
  compiler::WriteSpyreCode(kernel, directory);
  Loaded loaded{std::make_unique<runtime::ExecutionPlan>(directory), {}};
  runtime::LoadPlan(stream, *loaded.plan);
  for (const compiler::KernelArgument& argument : kernel.arguments)
    loaded.tensors.push_back(runtime::AllocateTensor(Bench::Get().context, argument.layout));
  stream.Synchronize();
  return loaded;
}

// Launches all kernels one behind the other, again and again; returns the wall time of one round.
double Launch(benchmark::State& state, const std::vector<compiler::KernelSpec>& specs) {
  Bench& bench = Bench::Get();
  auto stream = runtime::SpyreStream::Default(bench.context);
  std::vector<Loaded> kernels;
  for (const compiler::KernelSpec& spec : specs) kernels.push_back(Load(stream, spec));
  const uint64_t device_start = bench.transport.NowPs();
  double wall = 0;
  for (auto _ : benchmarks::Counted(state)) {
    const auto start = std::chrono::steady_clock::now();
    for (const Loaded& kernel : kernels)
      runtime::LaunchKernel(stream, *kernel.plan, kernel.tensors);
    stream.Synchronize();
    wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const auto rounds = static_cast<double>(state.iterations());
  const double device = static_cast<double>(bench.transport.NowPs() - device_start) * 1e-12;
  state.counters["card_ms"] = device / rounds * 1e3;
  state.counters["slowdown"] = wall / device;
  return wall / rounds;
}

void MatmulWithData(benchmark::State& state) {
  const auto m = static_cast<int>(state.range(0));
  const auto k = static_cast<int>(state.range(1));
  const auto n = static_cast<int>(state.range(2));
  const double wall = Launch(state, {Matmul(m, k, n, false)});
  state.counters["sgemm_ratio"] = wall / SgemmSeconds(m, n, k);
}
BENCHMARK(MatmulWithData)
    ->Args({1024, 1024, 1024})
    ->Args({512, 4096, 12800})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void MatmulTimes(benchmark::State& state) {
  Launch(state, {Matmul(state.range(0), state.range(1), state.range(2))});
}
BENCHMARK(MatmulTimes)
    ->Args({1024, 1024, 1024})
    ->Args({512, 4096, 12800})
    ->Unit(benchmark::kMillisecond);

// 64 MiB in each operand and in the result.
void AddTimes(benchmark::State& state) {
  Launch(state, {Spec("add", {{"rows", 8192}, {"cols", 4096}})});
}
BENCHMARK(AddTimes)->Unit(benchmark::kMillisecond);

void SumTimes(benchmark::State& state) {
  compiler::KernelSpec spec = Spec("sum", {{"rows", 8192}, {"cols", 4096}});
  spec.axis = "cols";
  Launch(state, {spec});
}
BENCHMARK(SumTimes)->Unit(benchmark::kMillisecond);

// The kernels of a Granite-8B decoder layer with a sequence of 512: hidden 4096, 32 heads of 128, 8
// of them with keys and values of their own, MLP 12800. Normalisation and rotary embedding, which
// are small, are left out.
void GraniteLayerTimes(benchmark::State& state) {
  constexpr int64_t kSequence = 512, kHidden = 4096, kMlp = 12800, kHeads = 32, kHead = 128;
  constexpr int64_t kKeys = 8 * kHead;
  const Dims hidden{{"rows", kSequence}, {"cols", kHidden}};
  const Dims mlp{{"rows", kSequence}, {"cols", kMlp}};
  Launch(state,
         {
             Matmul(kSequence, kHidden, kHidden),  // q
             Matmul(kSequence, kHidden, kKeys),    // k
             Matmul(kSequence, kHidden, kKeys),    // v
             Spec("batchmatmul",
                  {{"batch", kHeads}, {"m", kSequence}, {"k", kHead}, {"n", kSequence}}),  // scores
             Spec("softmax", {{"batch", kHeads}, {"rows", kSequence}, {"cols", kSequence}}),
             Spec("batchmatmul",
                  {{"batch", kHeads}, {"m", kSequence}, {"k", kSequence}, {"n", kHead}}),
             Matmul(kSequence, kHidden, kHidden),  // o
             Spec("add", hidden),
             Matmul(kSequence, kHidden, kMlp),  // gate
             Matmul(kSequence, kHidden, kMlp),  // up
             Spec("gelu", mlp),
             Spec("mul", mlp),
             Matmul(kSequence, kMlp, kHidden),  // down
             Spec("add", hidden),
         });
}
BENCHMARK(GraniteLayerTimes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spyre::launch_bench
