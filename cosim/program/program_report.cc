// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/build_info/build_info.h"
#include "base/json_text.h"
#include "cosim/program/program_copies.h"
#include "cosim/program/program_summary.h"
#include "cosim/report/kernel_ranking.h"
#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_bounds.h"
#include "cosim/report/report_next.h"
#include "cosim/report/report_verdict.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

// In order of the first launch.
Json KernelsJson(const RunResult& result, const ProgramChecks& checks) {
  Json kernels = Json::array();
  for (const KernelTotal& kernel : LaunchedKernels(result)) {
    const trace::Bound bound = trace::BoundOf(kernel.path);
    kernels.push_back({{"name", kernel.name},
                       {"launches", kernel.launches},
                       {"device_ns", Ns(kernel.device_ps)},
                       {"first_launch_ns", Ns(kernel.first_ps)},
                       {"bound_by", bound.resource},
                       {"bound_share", bound.share()},
                       {"macs", kernel.macs},
                       {"device_bytes_read", kernel.read},
                       {"device_bytes_written", kernel.written}});
    const auto found = checks.kernels.find(kernel.name);
    if (found == checks.kernels.end()) continue;
    const KernelCheck& check = found->second;
    Json& json = kernels.back();
    json["operations"] = check.origins;
    json["kept"] = check.kept;
    json["compared_launches"] = check.compared;
    json["wrong_launches"] = check.wrong;
    json["compared_elements"] = check.elements;
    json["wrong_elements"] = check.mismatches;
    if (!check.first_wrong.empty()) json["first_wrong"] = check.first_wrong;
    if (!check.not_compared.empty()) json["not_compared"] = check.not_compared;
    json["special_codes"] = check.special_codes;
  }
  return kernels;
}

Json CopiesJson(const RunResult& result, const ProgramChecks& checks) {
  const ProgramCopies copies = CopiesOf(result);
  return {{"count", copies.count},
          {"bytes_to_card", copies.to_card},
          {"bytes_from_card", copies.from_card},
          {"special_to_card", checks.special_to_card},
          {"special_from_card", checks.special_from_card}};
}

Json MemoryJson(const flex::MemoryStatistics& memory) {
  return {{"capacity_bytes", memory.capacity_bytes},
          {"peak_bytes", memory.peak_bytes},
          {"allocations", memory.total_allocations}};
}

}  // namespace

std::string ProgramReportJson(const RunResult& result, const ProgramChecks& checks) {
  const Verdict verdict = VerdictOf(result, checks);
  const trace::Bound bound = trace::BoundOf(result.path);
  const Json report = {
      {"program", result.description},
      {"build", JsonOf(ToJson(ThisBuild()))},
      {"config", JsonOf(ToJson(result.config))},
      {"sim_time_ns", Ns(result.sim_ps)},
      {"operations",
       {{"queued", result.launch_counts.queued},
        {"completed", result.launch_counts.completed},
        {"failed", result.launch_counts.failed},
        {"not_executed", result.launch_counts.not_executed},
        {"transfers", result.transfers}}},
      {"verdict",
       {{"verify", checks.verify},
        {"failed_operations", result.launch_counts.failed},
        {"launches", checks.launches()},
        {"compared_launches", checks.compared()},
        {"wrong_launches", checks.wrong()},
        {"first_special", checks.first_special},
        {"status", Name(verdict.right)},
        {"ran", verdict.ran},
        {"checked", verdict.checked},
        {"problems", verdict.problems},
        {"notes", verdict.notes},
        {"time", verdict.time},
        {"trust", verdict.trust},
        {"bound", verdict.bound},
        {"bound_by", bound.total_ps > 0 ? Json(bound.resource) : Json(nullptr)},
        {"bound_share", bound.total_ps > 0 ? Json(bound.share()) : Json(nullptr)},
        {"next", ToJson(NextStepsOf(result))},
        {"lines", LinesJson(verdict)}}},
      {"window", WindowJson(result)},
      {"copies", CopiesJson(result, checks)},
      {"kernels", KernelsJson(result, checks)},
      {"kernel_ranking", KernelRankingJson(result, result.launch_shares.window_ps)},
      {"memory",
       {{"tensors", MemoryJson(result.tensor_memory)},
        {"programs", MemoryJson(result.program_memory)}}},
      {"warnings", result.warnings},
      {"trace",
       {{"path", result.trace_path},
        {"records", result.trace_records},
        {"dropped", result.trace_dropped},
        {"digest", fmt::format("{:016x}", result.trace_digest)}}}};
  return DumpJson(report, 2) + "\n";
}

}  // namespace spyre::cosim
