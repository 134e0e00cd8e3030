// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/task_costs.h"

#include <vector>

namespace spyre::runtime {
namespace {

struct Cost {
  std::vector<std::string_view> words;
  int64_t cycles;
};

const std::vector<Cost>& Costs() {
  static const std::vector<Cost> costs{
      {{"matmul", "gemm", "MATMUL", "GEMM"}, 50},
      {{"rowsum", "rowmax", "colsum", "colmax", "rowmin", "colmin"}, 20},
      {{"expand", "broadcast"}, 16},
      {{"silu", "gelu", "relu", "sigmoid", "tanh"}, 20},
      {{"softmax", "exp"}, 24},
      {{"norm", "rsqrt"}, 30},
      {{"rope", "rotary"}, 40},
      {{"attention", "score"}, 60},
      {{"load", "store", "LOAD", "STORE"}, 100},
      {{"add", "sub", "mul", "div"}, 8},
  };
  return costs;
}

constexpr int64_t kOtherCycles = 10;

}  // namespace

int64_t DefaultCycles(std::string_view function) {
  for (const Cost& cost : Costs()) {
    for (const std::string_view word : cost.words) {
      if (function.find(word) != std::string_view::npos) return cost.cycles;
    }
  }
  return kOtherCycles;
}

}  // namespace spyre::runtime
