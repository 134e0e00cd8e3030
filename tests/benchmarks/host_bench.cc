// SPDX-License-Identifier: Apache-2.0
// What the host does around a run: inputs are generated, .npy files read and written, and the
// reference multiplies.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <vector>

#include "cosim/reference/matmul_block_forms.h"
#include "cosim/tensors/input_data.h"
#include "cosim/tensors/npy.h"

namespace spyre::cosim::host_bench {
namespace {

constexpr int64_t kElements = 16 << 20;

// bytes_per_second counts the fp16 tensor; all processors work.
void BM_GenerateInput(benchmark::State& state, Distribution distribution) {
  WorkloadTensor tensor;
  tensor.shape = {kElements};
  InputOptions options;
  options.distribution = distribution;
  for (auto _ : state) benchmark::DoNotOptimize(LoadInput(options, tensor).data());
  state.SetBytesProcessed(state.iterations() * tensor.host_bytes());
}
BENCHMARK_CAPTURE(BM_GenerateInput, uniform, Distribution::kUniform)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_GenerateInput, normal, Distribution::kNormal)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Files in the page cache.
const std::string& NpyPath() {
  static const std::string path = std::filesystem::temp_directory_path() / "spyre_host_bench.npy";
  return path;
}
void BM_WriteNpy(benchmark::State& state) {
  const std::vector<uint16_t> data(kElements, 0x3C00);
  for (auto _ : state) WriteNpy(NpyPath(), "f2", {kElements}, data.data());
  state.SetBytesProcessed(state.iterations() * kElements * 2);
}
BENCHMARK(BM_WriteNpy)->Unit(benchmark::kMillisecond)->UseRealTime();
void BM_ReadNpy(benchmark::State& state) {
  WriteNpy(NpyPath(), "f2", {kElements}, std::vector<uint16_t>(kElements, 0x3C00).data());
  for (auto _ : state) benchmark::DoNotOptimize(ReadNpy(NpyPath()).data.data());
  state.SetBytesProcessed(state.iterations() * kElements * 2);
}
BENCHMARK(BM_ReadNpy)->Unit(benchmark::kMillisecond)->UseRealTime();

// The inner part of every matmul reference, on one thread, by each form this processor can run.
template <class Real>
void BM_ReferenceBlock(benchmark::State& state, std::vector<MatmulBlockForm<Real>> (*forms)()) {
  constexpr int64_t kDepth = 512;
  const auto index = static_cast<size_t>(state.range(0));
  if (index >= forms().size()) return state.SkipWithError("no such form on this processor");
  const MatmulBlockForm<Real> form = forms()[index];
  const std::vector<Real> a(kMatmulRows * kDepth, Real{0.5});
  const std::vector<Real> panel(kMatmulPanel * kDepth, Real{0.25});
  std::vector<Real> results(kMatmulRows * kMatmulPanel);
  for (auto _ : state) {
    form.run(a.data(), panel.data(), kDepth, {kDepth}, results.data());
    benchmark::DoNotOptimize(results.data());
  }
  state.SetLabel(form.name);
  state.SetItemsProcessed(state.iterations() * kMatmulRows * kMatmulPanel * kDepth);
}
BENCHMARK_CAPTURE(BM_ReferenceBlock, fp32, FloatMatmulBlocks)->DenseRange(0, 2);
BENCHMARK_CAPTURE(BM_ReferenceBlock, fp64, DoubleMatmulBlocks)->DenseRange(0, 2);

}  // namespace
}  // namespace spyre::cosim::host_bench
