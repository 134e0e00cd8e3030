// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/openblas.h"

#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tests/benchmarks/sgemm.h"

namespace spyre::benchmarks {
namespace {

constexpr const char* kChoice = "OPENBLAS_CORETYPE";
// Set for the processes that try kernels, and afterwards to what they found.
constexpr const char* kTry = "SPYRE_TRY_SGEMM";
constexpr const char* kTried = "SPYRE_TRIED_SGEMM";

std::vector<std::string> Candidates() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    names.insert(names.end(), {"Haswell", "Zen"});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    names.insert(names.end(), {"SkylakeX", "Cooperlake"});
#endif
  return names;
}

// Of a square matmul, in 10^9 multiply-accumulates a second; 0 if it cannot be tried.
double Speed(const std::string& program, const std::string& kernels) {
  const std::string command = fmt::format("{}={} {}=1 '{}'", kChoice, kernels, kTry, program);
  FILE* pipe = popen(command.c_str(), "r");
  double speed = 0;
  if (pipe == nullptr || std::fscanf(pipe, "%lf", &speed) != 1) speed = 0;
  if (pipe != nullptr) pclose(pipe);
  return speed;
}

}  // namespace

void StartWithFastestKernels(char** argv) {
  if (std::getenv(kTry) != nullptr) {
    constexpr int kSide = 1024;
    const double seconds = SgemmSeconds(kSide, kSide, kSide, CLOCK_THREAD_CPUTIME_ID);
    fmt::print("{:.2f}\n", 1.0 * kSide * kSide * kSide / seconds / 1e9);
    std::exit(0);
  }
  if (std::getenv(kChoice) != nullptr) return;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::string fastest, tried;
  double most = 0;
  for (const std::string& kernels : Candidates()) {
    const double speed = Speed(program, kernels);
    tried += fmt::format("{}{} {:.1f}", tried.empty() ? "" : ", ", kernels, speed);
    if (speed <= most) continue;
    most = speed;
    fastest = kernels;
  }
  if (fastest.empty()) return;
  setenv(kChoice, fastest.c_str(), 1);
  setenv(kTried, tried.c_str(), 1);
  execv(program.c_str(), argv);  // returns only if it fails: then with what OpenBLAS chooses
}

std::string Kernels() {
  const char* tried = std::getenv(kTried);
  const std::string in_use = openblas_get_corename();
  return tried == nullptr ? in_use : fmt::format("{} (GMAC/s of those tried: {})", in_use, tried);
}

}  // namespace spyre::benchmarks
