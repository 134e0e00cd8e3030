// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace spyre::benchmarks {
namespace {

// "12.3", "104", "4,300,000": three digits or all of them.
std::string Figure(double value) {
  if (value < 100) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string Context(const Results& results, const std::string& key) {
  const auto it = results.context.find(key);
  return it == results.context.end() ? "unknown" : it->second;
}

}  // namespace

const std::vector<Budget>& Budgets() {
  static const std::vector<Budget> budgets = {
      {"times only: add of 8192x4096", "AddTimes", "slowdown", 15, true},
      {"times only: sum of the rows of 8192x4096", "SumTimes", "slowdown", 15, true},
      {"times only: matmul 1024x1024x1024", "MatmulTimes/1024/1024/1024", "slowdown", 30, true},
      {"times only: matmul 512x4096x12800", "MatmulTimes/512/4096/12800", "slowdown", 30, true},
      {"times only: Granite-8B decoder layer", "GraniteLayerTimes", "slowdown", 30, true},
      {"with data: matmul 1024x1024x1024", "MatmulWithData/1024/1024/1024/real_time", "sgemm_ratio",
       1.25, true},
      {"with data: matmul 512x4096x12800", "MatmulWithData/512/4096/12800/real_time", "sgemm_ratio",
       1.25, true},
      {"control blocks a second", "ControlBlocks", "blocks/s", 250e3, false},
      {"stream operations a second", "BM_StreamLaunch/streams:8/batch:100", "operations/s", 4e6,
       false},
      {"tasks a second: strict", "InsertInferRetire/strict", "tasks", 5e6, false},
      {"tasks a second: safe", "InsertInferRetire/safe", "tasks", 5e6, false},
      {"tasks a second: safe, by priority", "InsertInferRetire/safe_priority", "tasks", 5e6, false},
      {"tasks a second: safe, with stealing", "InsertInferRetire/safe_work_steal", "tasks", 5e6,
       false},
      {"tasks a second: safe, by bytes", "InsertInferRetire/safe_bytes", "tasks", 5e6, false},
      {"tasks a second: safe, by bytes, mixed shapes", "InsertInferRetire/safe_bytes_mixed",
       "tasks", 5e6, false},
  };
  return budgets;
}

std::string BudgetTable(const Results& results) {
  std::string rows;
  for (const Budget& budget : Budgets()) {
    for (const Measurement& measurement : results.measurements) {
      const auto value = measurement.Counter(budget.counter);
      if (measurement.name != budget.benchmark || !value) continue;
      const bool is_met = budget.is_most ? *value <= budget.limit : *value >= budget.limit;
      const auto instructions = measurement.Counter(kInstructions);
      rows +=
          fmt::format("| {} | `{}` | {} {} | {} | {} | {} |\n", budget.what, budget.counter,
                      budget.is_most ? "at most" : "at least", Figure(budget.limit), Figure(*value),
                      is_met ? "yes" : "no", instructions ? Figure(*instructions) : "-");
    }
  }
  if (rows.empty()) return "";
  return fmt::format(
             "Measured on {}; OpenBLAS with its kernels for {}; {}.\n\n"
             "| what | figure | budget | measured | met | instructions |\n"
             "|---|---|---|---|---|---|\n",
             Context(results, "machine"), Context(results, "OpenBLAS kernels"),
             Context(results, kInstructions)) +
         rows;
}

std::string WithTable(const std::string& page, const std::string& table, const std::string& name) {
  const size_t begin = page.find(kBegin);
  const size_t end = begin == std::string::npos ? begin : page.find(kEnd, begin);
  if (end == std::string::npos)
    throw BadInput("{}: has no place for the table, between '{}' and '{}'", name,
                   std::string_view(kBegin).substr(0, std::string_view(kBegin).size() - 1), kEnd);
  const size_t text = begin + std::string_view(kBegin).size();
  return page.substr(0, text) + "\n" + table + "\n" + page.substr(end);
}

}  // namespace spyre::benchmarks
