#include "cosim/report_issue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

double Ns(uint64_t ps) { return static_cast<double>(ps) / 1000; }

// By the name that the compiler gives the programs.
bool IsCorrection(const std::string& program) {
  constexpr std::string_view kSuffix = " correction";
  return program.size() > kSuffix.size() &&
         program.compare(program.size() - kSuffix.size(), kSuffix.size(), kSuffix) == 0;
}

std::optional<Engine> EngineOf(const flex::CompletedOperation& operation) {
  switch (operation.opcode) {
    case Opcode::DMA_IN:
    case Opcode::DMA_FILL:
      return Engine::kDmaIn;
    case Opcode::DMA_OUT:
      return Engine::kDmaOut;
    case Opcode::COMPUTE:
      return IsCorrection(operation.name) ? Engine::kPrepare : Engine::kCompute;
    default:
      return std::nullopt;
  }
}

uint64_t WindowPs(const RunResult& result) { return result.launch_end_ps - result.launch_begin_ps; }

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
  if (!result.issue) return tasks;
  std::map<uint32_t, size_t> next;  // a stream completes its launches in order
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    const auto stream = result.issue->tasks_of.find(operation.stream);
    size_t& index = next[operation.stream];
    if (stream == result.issue->tasks_of.end() || index >= stream->second.size()) continue;
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
          {"overlap_percent", Percent(overlap.overlap_ps, WindowPs(result))}};
}

Json IssueJson(const RunResult& result) {
  if (!result.issue) return nullptr;
  const IssueSummary& issue = *result.issue;
  return {{"mode", issue.mode},
          {"streams", issue.streams},
          {"tasks", issue.tasks},
          {"kernels", issue.kernels},
          {"programs_loaded", issue.program_copies},
          {"copies", issue.copies},
          {"waits", issue.waits},
          {"edges", issue.edges ? Json(*issue.edges) : Json(nullptr)}};
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

std::string IssueText(const RunResult& result) {
  std::string text;
  if (result.issue) {
    const IssueSummary& issue = *result.issue;
    text += fmt::format(
        "  issued by {}: {} kernels and {} copies on streams {}, {} waits between them{}\n",
        issue.mode, issue.tasks, issue.copies, fmt::join(issue.streams, ", "), issue.waits,
        issue.edges ? fmt::format(", {} edges found", *issue.edges) : "");
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
                    trace::FormatPercent(Percent(overlap.overlap_ps, WindowPs(result)) / 100));
}

}  // namespace spyre::cosim
