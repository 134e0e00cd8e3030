// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/build_info/build_info.h"
#include "cosim/report/nanoseconds.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

// One entry for each name of a kernel, in order of the first launch.
Json KernelsJson(const RunResult& result) {
  struct Total {
    uint64_t launches = 0, device_ps = 0, macs = 0, read = 0, written = 0;
  };
  std::map<std::string, Total> totals;
  std::vector<std::string> order;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation) || !operation.executed) continue;
    Total& total = totals[operation.name];
    if (total.launches++ == 0) order.push_back(operation.name);
    total.device_ps += operation.finished_ps - operation.started_ps;
    total.macs += operation.macs;
    total.read += operation.device_bytes_read;
    total.written += operation.device_bytes_written;
  }
  Json kernels = Json::array();
  for (const std::string& name : order) {
    const Total& total = totals[name];
    kernels.push_back({{"name", name},
                       {"launches", total.launches},
                       {"device_ns", Ns(total.device_ps)},
                       {"macs", total.macs},
                       {"device_bytes_read", total.read},
                       {"device_bytes_written", total.written}});
  }
  return kernels;
}

Json MemoryJson(const flex::MemoryStatistics& memory) {
  return {{"capacity_bytes", memory.capacity_bytes},
          {"peak_bytes", memory.peak_bytes},
          {"allocations", memory.total_allocations}};
}

}  // namespace

std::string ProgramReportJson(const RunResult& result) {
  const Json report = {{"program", result.description},
                       {"build", Json::parse(ToJson(ThisBuild()))},
                       {"config", Json::parse(ToJson(result.config))},
                       {"sim_time_ns", Ns(result.sim_ps)},
                       {"operations",
                        {{"queued", result.launch_counts.queued},
                         {"completed", result.launch_counts.completed},
                         {"failed", result.launch_counts.failed},
                         {"not_executed", result.launch_counts.not_executed},
                         {"transfers", result.transfers}}},
                       {"kernels", KernelsJson(result)},
                       {"memory",
                        {{"tensors", MemoryJson(result.tensor_memory)},
                         {"programs", MemoryJson(result.program_memory)}}},
                       {"warnings", result.warnings},
                       {"trace",
                        {{"path", result.trace_path},
                         {"records", result.trace_records},
                         {"dropped", result.trace_dropped},
                         {"digest", fmt::format("{:016x}", result.trace_digest)}}}};
  return report.dump(2) + "\n";
}

}  // namespace spyre::cosim
