// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/task_trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace spyre::runtime {
namespace {

// Where a worker is drawn.
struct Place {
  size_t process;
  uint32_t thread;
};

Place PlaceOf(uint32_t worker, const std::vector<uint32_t>& by_pool) {
  for (size_t pool = 0; pool + 1 < by_pool.size(); ++pool) {
    if (worker < by_pool[pool]) return {pool, worker};
    worker -= by_pool[pool];
  }
  return {by_pool.empty() ? 0 : by_pool.size() - 1, worker};
}

std::string PoolName(size_t pool, size_t pools) {
  if (pools <= 1) return "Workers";
  if (pools == 2) return pool == 0 ? "Vector workers" : "Cube workers";
  return fmt::format("Workers of pool {}", pool);
}

}  // namespace

void ExportChrome(const TaskGraph& graph, const Simulation& simulation, std::ostream& out) {
  const std::vector<uint32_t>& by_pool = simulation.workers.by_pool;
  const size_t pools = by_pool.empty() ? 1 : by_pool.size();
  out << "{\"traceEvents\":[";
  for (size_t pool = 0; pool < pools; ++pool) {
    out << fmt::format(
        "{}\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"{}\"}}}}",
        pool == 0 ? "" : ",", pool, PoolName(pool, pools));
  }
  for (const TraceEntry& entry : simulation.trace) {
    const Place place = PlaceOf(entry.worker, by_pool);
    out << fmt::format(
        ",\n{{\"ph\":\"X\",\"cat\":\"task\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},"
        "\"dur\":{},\"args\":{{\"task\":{}}}}}",
        PrintableJson(nlohmann::json(graph.FunctionName(entry.function))), place.process,
        place.thread, entry.start_cycle, entry.end_cycle - entry.start_cycle, entry.task);
  }
  out << "\n],\"displayTimeUnit\":\"ns\",\"metadata\":{\"workers\":" << simulation.workers.total
      << ",\"end_cycle\":" << simulation.end_cycle << "}}\n";
}

}  // namespace spyre::runtime
