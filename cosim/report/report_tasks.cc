// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_tasks.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/joined.h"
#include "cosim/report/nanoseconds.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Engine> EngineOf(const flex::CompletedOperation& operation) {
  switch (operation.opcode) {
    case Opcode::DMA_IN:
    case Opcode::DMA_FILL:
      return Engine::kDmaIn;
    case Opcode::DMA_OUT:
      return Engine::kDmaOut;
    case Opcode::COMPUTE:
      return operation.correction ? Engine::kPrepare : Engine::kCompute;
    default:
      return std::nullopt;
  }
}

// "sin (y), add (z)"; of many the first few.
std::string HostNames(const std::vector<TaskListSummary::HostOperation>& operations) {
  constexpr size_t kMost = 8;
  std::vector<std::string> names;
  for (const auto& one : operations) {
    if (names.size() == kMost) {
      names.emplace_back("...");
      break;
    }
    names.push_back(fmt::format("{} ({})", one.op, one.result));
  }
  return Joined(names, ", ");
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

OverlapSummary OverlapOf(const RunResult& result) {
  std::vector<EngineSpan> spans;
  for (const flex::CompletedOperation& operation : result.launches) {
    const std::optional<Engine> engine = EngineOf(operation);
    if (engine) spans.push_back({*engine, operation.started_ps, operation.finished_ps});
  }
  return SummarizeOverlap(spans);
}

std::unordered_map<uint64_t, std::string> TasksOf(const RunResult& result) {
  std::unordered_map<uint64_t, std::string> tasks;
  if (!result.tasks) return tasks;
  std::map<uint32_t, size_t> next;  // a stream completes its launches in order
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    const auto stream = result.tasks->tasks_of.find(operation.stream);
    size_t& index = next[operation.stream];
    if (stream == result.tasks->tasks_of.end() || index >= stream->second.size()) continue;
    tasks[operation.correlation] = stream->second[index++];
  }
  return tasks;
}

Json OverlapJson(const RunResult& result) {
  const OverlapSummary overlap = OverlapOf(result);
  return {{"dma_in_busy_ns", Ns(overlap.busy(Engine::kDmaIn))},
          {"dma_out_busy_ns", Ns(overlap.busy(Engine::kDmaOut))},
          {"compute_busy_ns", Ns(overlap.busy(Engine::kCompute))},
          {"prepare_busy_ns", Ns(overlap.busy(Engine::kPrepare))},
          {"any_busy_ns", Ns(overlap.any_ps)},
          {"overlap_ns", Ns(overlap.overlap_ps)},
          {"overlap_percent", Percent(overlap.overlap_ps, result.LaunchPs())}};
}

Json TasksJson(const RunResult& result) {
  if (!result.tasks) return nullptr;
  const TaskListSummary& tasks = *result.tasks;
  Json host = Json::array();
  for (const auto& [name, op, ps] : tasks.host_operations)
    host.push_back({{"result", name}, {"op", op}, {"ns", Ns(ps)}});
  return {{"mode", tasks.mode},
          {"streams", tasks.streams},
          {"tasks", tasks.tasks},
          {"kernels", tasks.kernels},
          {"programs_loaded", tasks.program_copies},
          {"copies", tasks.copies},
          {"waits", tasks.waits},
          {"edges", tasks.edges ? Json(*tasks.edges) : Json(nullptr)},
          {"host_operations", host}};
}

Json HostJson(const RunResult& result) {
  return {{"operations", result.launch_counts.queued},
          {"doorbells", result.launch_doorbells},
          {"interrupts", result.launch_interrupts},
          {"busy_ns", Ns(result.launch_host.busy_ps)},
          {"waited_ns", Ns(result.launch_host.waited_ps)}};
}

Json MemoryJson(const RunResult& result) {
  return {{"tensor_peak_bytes", result.tensor_memory.peak_bytes},
          {"program_peak_bytes", result.program_memory.peak_bytes}};
}

std::string HostOperationsText(const RunResult& result) {
  if (!result.tasks || result.tasks->host_operations.empty()) return "";
  const auto& operations = result.tasks->host_operations;
  return fmt::format("  the host computed {} operations itself, in {}: {}\n", operations.size(),
                     trace::FormatTime(HostOperationsPs(result)), HostNames(operations));
}

uint64_t HostOperationsPs(const RunResult& result) {
  uint64_t ps = 0;
  if (result.tasks)
    for (const auto& one : result.tasks->host_operations) ps += one.ps;
  return ps;
}

std::string TasksText(const RunResult& result) {
  std::string text;
  if (result.tasks) {
    const TaskListSummary& tasks = *result.tasks;
    text += fmt::format(
        "  issued by {}: {} kernels and {} copies on streams {}, {} waits between them{}\n",
        tasks.mode, tasks.tasks, tasks.copies, Joined(tasks.streams, ", "), tasks.waits,
        tasks.edges ? fmt::format(", {} edges found", *tasks.edges) : "");
    text += HostOperationsText(result);
  }
  const OverlapSummary overlap = OverlapOf(result);
  return text + fmt::format(
                    "  engines busy: compute {}, corrections {}, DMA in {}, DMA out {}; two or "
                    "more at once {} ({} of the window)\n",
                    trace::FormatTime(overlap.busy(Engine::kCompute)),
                    trace::FormatTime(overlap.busy(Engine::kPrepare)),
                    trace::FormatTime(overlap.busy(Engine::kDmaIn)),
                    trace::FormatTime(overlap.busy(Engine::kDmaOut)),
                    trace::FormatTime(overlap.overlap_ps),
                    trace::FormatPercent(Percent(overlap.overlap_ps, result.LaunchPs()) / 100));
}

}  // namespace spyre::cosim
