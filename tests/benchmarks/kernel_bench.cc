// SPDX-License-Identifier: Apache-2.0
// Speed of the arithmetic kernels alone: the PT array's matmul against single-thread OpenBLAS SGEMM
// of the same shape, conversions between host and device formats, and the vector unit's sticks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "model/contract/formats.h"
#include "model/contract/stick_layout.h"
#include "model/core/pt_kernel.h"
#include "model/core/vector_math.h"
#include "tests/benchmarks/instructions.h"
#include "tests/benchmarks/sgemm.h"

namespace spyre::kernel_bench {
namespace {

std::vector<uint16_t> RandomDlf(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  std::vector<uint16_t> codes(count);
  for (uint16_t& code : codes) code = DlfFromFloat(value(random));
  return codes;
}

// k is a multiple of 64. sgemm_ratio: time of SGEMM over time of the PT kernel (best of each); 1
// means equally fast.
void BM_PtMatmul(benchmark::State& state) {
  const auto m = static_cast<int>(state.range(0));
  const auto n = static_cast<int>(state.range(1));
  const auto k = static_cast<int>(state.range(2));
  const int ksticks = (k + 63) / 64;
  const std::vector<uint16_t> a = RandomDlf(static_cast<size_t>(ksticks) * 64 * m, 1);
  const std::vector<uint16_t> b = RandomDlf(static_cast<size_t>(k) * n, 2);
  std::vector<float> acc(static_cast<size_t>(m) * n);
  const model::PtKernel& kernel = model::BestPtKernel();
  std::vector<model::PtRow> rows;
  for (int i = 0; i < m; ++i) {
    rows.push_back(
        {reinterpret_cast<uint8_t*>(acc.data()) + int64_t{i} * 256, int64_t{m} * 256, false});
  }
  std::vector<const uint8_t*> weights;  // sticks of columns are k * 128 bytes apart
  for (int64_t at = 0; at < int64_t{k} * n * 2; at += int64_t{model::kPtPieceSteps} * 128)
    weights.push_back(reinterpret_cast<const uint8_t*>(b.data()) + at);
  std::vector<float> wide(a.size());
  std::vector<const float*> values;
  std::vector<model::PtChunk> chunks;
  for (size_t i = 0; i < a.size(); i += 64) values.push_back(&wide[i]);
  for (int kk = 0; kk < k; kk += 64) {
    chunks.push_back({values.data() + int64_t{kk} / 64 * m,
                      weights.data() + kk / model::kPtPieceSteps, k / model::kPtPieceSteps, 64});
  }
  double best = 1e9;
  for (auto _ : benchmarks::Counted(state)) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < a.size(); i += 64)
      kernel.widen(reinterpret_cast<const uint8_t*>(&a[i]), &wide[i]);
    kernel.multiply({rows.data(), chunks.data(), ksticks}, {0, m, 0, n / 64});
    benchmark::DoNotOptimize(acc.data());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  const double macs = 1.0 * m * n * k;
  state.counters["gmac_per_s"] = macs / best / 1e9;
  const double sgemm = SgemmSeconds(m, n, k);
  state.counters["sgemm_gmac_per_s"] = macs / sgemm / 1e9;
  state.counters["sgemm_ratio"] = sgemm / best;
}
BENCHMARK(BM_PtMatmul)
    ->ArgNames({"m", "n", "k"})
    ->Args({1, 512, 1024})
    ->Args({4, 512, 1024})
    ->Args({16, 512, 1024})
    ->Args({32, 64, 1024})
    ->Args({32, 512, 1024})
    ->Args({64, 256, 1024})
    ->Args({128, 512, 1024})
    ->Args({128, 512, 4096});

// bytes_per_second counts what is read.
void BM_Convert(benchmark::State& state, DataFormat from, DataFormat to) {
  constexpr size_t kCount = 1 << 18;
  std::vector<uint32_t> source(kCount);
  std::vector<uint32_t> destination(kCount);
  std::mt19937 random(3);
  for (uint32_t& word : source) word = random();
  for (auto _ : benchmarks::Counted(state)) {
    ConvertElements(from, source.data(), to, destination.data(), kCount);
    benchmark::DoNotOptimize(destination.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kCount) * BitsPerElement(from) /
                          8);
}
BENCHMARK_CAPTURE(BM_Convert, fp16_to_sen169, DataFormat::kIeeeFp16, DataFormat::kSen169Fp16);
BENCHMARK_CAPTURE(BM_Convert, sen169_to_fp16, DataFormat::kSen169Fp16, DataFormat::kIeeeFp16);
BENCHMARK_CAPTURE(BM_Convert, fp32_to_sen169, DataFormat::kIeeeFp32, DataFormat::kSen169Fp16);
BENCHMARK_CAPTURE(BM_Convert, sen169_to_fp32, DataFormat::kSen169Fp16, DataFormat::kIeeeFp32);
BENCHMARK_CAPTURE(BM_Convert, bf16_to_sen169, DataFormat::kBfloat16, DataFormat::kSen169Fp16);

// A whole host copy of a 2048 x 4096 fp16 tensor; `order` 1: the first dimension lies in the
// sticks.
void BM_HostCopy(benchmark::State& state) {
  const std::vector<int64_t> size = {2048, 4096};
  const bool transposed = state.range(0) != 0;
  const StickLayout layout =
      MakeLayout(size, ContiguousStrides(size), DataFormat::kSen169Fp16,
                 transposed ? std::vector<int>{1, 0} : std::vector<int>{0, 1});
  const DataConversion plan = PlanConversion(layout, DataFormat::kIeeeFp16, state.range(1) != 0);
  std::vector<uint16_t> source(size[0] * size[1], 0x3C00);
  std::vector<uint16_t> destination(source.size());
  for (auto _ : benchmarks::Counted(state)) {
    RunConversion(plan, source.data(), destination.data());
    benchmark::DoNotOptimize(destination.data());
  }
  state.SetBytesProcessed(state.iterations() * size[0] * size[1] * 2);
}
BENCHMARK(BM_HostCopy)->ArgNames({"transposed", "to_device"})->ArgsProduct({{0, 1}, {0, 1}});

void BM_UnaryStick(benchmark::State& state) {
  const std::vector<uint16_t> source = RandomDlf(64 * 64, 4);
  std::vector<uint16_t> destination(source.size());
  const auto fn = static_cast<uint8_t>(state.range(0));
  for (auto _ : benchmarks::Counted(state)) {
    for (size_t i = 0; i < source.size(); i += 64) {
      model::UnaryStick(fn, destination.data() + i, source.data() + i);
    }
    benchmark::DoNotOptimize(destination.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * source.size()));
}
BENCHMARK(BM_UnaryStick)
    ->ArgName("fn")
    ->Arg(static_cast<int>(UnaryFn::kRelu))
    ->Arg(static_cast<int>(UnaryFn::kExp));

void BM_BinaryStick(benchmark::State& state) {
  const std::vector<uint16_t> a = RandomDlf(64 * 64, 5);
  const std::vector<uint16_t> b = RandomDlf(64 * 64, 6);
  std::vector<uint16_t> destination(a.size());
  const auto fn = static_cast<uint8_t>(state.range(0));
  for (auto _ : benchmarks::Counted(state)) {
    for (size_t i = 0; i < a.size(); i += 64) {
      model::BinaryStick(fn, destination.data() + i, a.data() + i, b.data() + i);
    }
    benchmark::DoNotOptimize(destination.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * a.size()));
}
BENCHMARK(BM_BinaryStick)
    ->ArgName("fn")
    ->Arg(static_cast<int>(BinaryFn::kAdd))
    ->Arg(static_cast<int>(BinaryFn::kMax))
    ->Arg(FnByte(BinaryFn::kAdd, kFp32Sticks));

}  // namespace
}  // namespace spyre::kernel_bench
