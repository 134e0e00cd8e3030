// SPDX-License-Identifier: Apache-2.0
// Runs the benchmarks. OpenBLAS falls back to its oldest x86 kernels on processors that are younger
// than it; that would flatter every ratio to SGEMM. So it is told which kernels the processor can
// run, which it reads from the environment before main: hence the second start.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {
const char* BestKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}
}  // namespace

int main(int argc, char** argv) {
  const char* best = BestKernels();
  if (best != nullptr && std::string(openblas_get_corename()) == "Prescott" &&
      setenv("OPENBLAS_CORETYPE", best, 0) == 0) {
    execv("/proc/self/exe", argv);  // returns only if it fails: then with what there is
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("OpenBLAS kernels", openblas_get_corename());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
