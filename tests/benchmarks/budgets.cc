// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/budgets.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"

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
      {"closed form: single operations a second", "ClosedFormOfOperations", "kernels", 10e3, false},
      {"closed form: launches of a Granite-8B model a second", "ClosedFormOfAModel", "kernels",
       10e3, false},
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

std::string TransportTable(const Results& results) {
  std::string rows;
  for (const auto& [what, benchmark] :
       {std::pair{"a read of a register", "BM_RegisterRead"},
        std::pair{"a NOP with its interrupt", "BM_NopWithInterrupt"},
        std::pair{"a copy of 64 MiB to the card", "BM_Copy64MiB"}}) {
    rows += fmt::format("| {} |", what);
    for (const char* transport : {"in_process", "lockstep", "free"}) {
      const std::string name = fmt::format("{}/{}/real_time", benchmark, transport);
      const auto found =
          FindIf(results.measurements, [&](const Measurement& m) { return m.name == name; });
      if (found == results.measurements.end() || !found->Counter("card_ns")) return "";
      if (transport == std::string_view("in_process"))
        rows += fmt::format(" {} |", Figure(*found->Counter("card_ns") / 1000));
      rows += fmt::format(" {} |", Figure(found->wall_ns / 1000));
    }
    rows += "\n";
  }
  return fmt::format(
             "Measured on {}; microseconds.\n\n"
             "| what | simulated time | wall time: in one process | served, lockstep | served, "
             "free |\n"
             "|---|---|---|---|---|\n",
             Context(results, "machine")) +
         rows;
}

std::string WithTable(const std::string& page, const Place& place, const std::string& table,
                      const std::string& name) {
  const std::string_view mark = place.begin;
  const size_t begin = page.find(mark);
  const size_t end = begin == std::string::npos ? begin : page.find(place.end, begin);
  if (end == std::string::npos)
    throw BadInput("{}: has no place for the table, between '{}' and '{}'", name,
                   mark.substr(0, mark.size() - 1), place.end);
  return page.substr(0, begin + mark.size()) + "\n" + table + "\n" + page.substr(end);
}

}  // namespace spyre::benchmarks
