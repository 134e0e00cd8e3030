// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/ranges.h"
#include "base/terminal.h"
#include "cosim/program/program_copies.h"
#include "cosim/report/kernel_ranking.h"
#include "cosim/report/report_bounds.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

constexpr size_t kKernelsShown = 10;
constexpr size_t kNameColumns = 48;  // PyTorch's names have up to 127

// The end of a name tells kernels of PyTorch apart, and so does its beginning.
std::string Short(const std::string& name) {
  if (name.size() <= kNameColumns) return name;
  const size_t end = kNameColumns / 3;
  return name.substr(0, kNameColumns - end - 3) + "..." + name.substr(name.size() - end);
}

std::string PerSecond(uint64_t count, uint64_t ps, const char* unit) {
  if (count == 0 || ps == 0) return "";
  return fmt::format("{:.1f} {}", static_cast<double>(count) / static_cast<double>(ps), unit);
}

// As PyTorch calls it, if it says so.
std::string Named(const std::string& name, const ProgramChecks& checks) {
  const auto found = checks.kernels.find(name);
  if (found == checks.kernels.end() || found->second.origins.empty()) return Short(name);
  const std::vector<std::string>& origins = found->second.origins;
  return Short(origins.front()) +
         (origins.size() == 1 ? "" : fmt::format(" and {} more", origins.size() - 1));
}

std::string KernelTable(std::vector<KernelTotal> kernels, uint64_t device_ps,
                        const ProgramChecks& checks) {
  if (kernels.empty()) return "";
  StableSort(kernels, [](const auto& a, const auto& b) { return a.device_ps > b.device_ps; });
  trace::Table table({"kernel", "launches", "time", "of all", "bound by", "arithmetic", "memory"});
  for (size_t i = 0; i < std::min(kernels.size(), kKernelsShown); ++i) {
    const KernelTotal& kernel = kernels[i];
    const trace::Bound bound = trace::BoundOf(kernel.path);
    table.Add({Named(kernel.name, checks), std::to_string(kernel.launches),
               trace::FormatTime(kernel.device_ps),
               trace::FormatPercent(static_cast<double>(kernel.device_ps) /
                                    static_cast<double>(std::max<uint64_t>(device_ps, 1))),
               bound.total_ps == 0 ? "not known"
                                   : fmt::format("{} ({})", trace::ResourceText(bound.resource),
                                                 trace::FormatPercent(bound.share())),
               PerSecond(kernel.macs, kernel.device_ps, "TMAC/s"),
               PerSecond((kernel.read + kernel.written) * 1000, kernel.device_ps, "GB/s")});
  }
  std::string text = "Kernels by device time:\n" + table.ToString();
  if (kernels.size() > kKernelsShown)
    text += fmt::format("  and {} more in report.json\n", kernels.size() - kKernelsShown);
  return text;
}

std::string Times(uint64_t count, const char* what, const char* plural) {
  return fmt::format("{} {}", count, count == 1 ? what : plural);
}

// What of the results was compared with the reference, and what was not.
void Judge(const ProgramChecks& checks, Verdict& verdict) {
  verdict.checked = "results are compared by the program alone";
  if (checks.verify == "none") return;
  std::string why;
  size_t compared = 0;
  for (const auto& [name, check] : checks.kernels) {
    compared += check.compared > 0 ? 1 : 0;
    if (check.wrong > 0) {
      verdict.problems.push_back(fmt::format(
          "{} of {} of kernel {}: {}", check.wrong,
          Times(check.compared, "compared launch", "compared launches"), name, check.first_wrong));
    }
    if (why.empty() && check.compared == 0 && !check.not_compared.empty())
      why = fmt::format("; not of {}: {}", Short(name), check.not_compared);
  }
  verdict.checked =
      checks.kernels.empty()
          ? "no kernel was launched"
          : fmt::format("{} of {} of {} of {} compared bit for bit with the reference{}",
                        checks.compared(), Times(checks.launches(), "launch", "launches"), compared,
                        Times(checks.kernels.size(), "kernel", "kernels"), why);
  if (checks.wrong() > 0) {
    verdict.right = Rightness::kWrong;
  } else if (checks.compared() > 0) {
    verdict.right = Rightness::kRight;
  }
  if (!checks.first_special.empty()) {
    verdict.notes.push_back(
        fmt::format("infinities or NaN (the special code of SEN169_FP16) first made by {}; "
                    "report.json counts them",
                    Short(checks.first_special)));
  }
}

std::string MemoryText(const flex::MemoryStatistics& memory) {
  return fmt::format("{} of {}", trace::FormatBytes(memory.peak_bytes),
                     trace::FormatBytes(memory.capacity_bytes));
}

std::string DetailsText(const RunResult& result, const ProgramChecks& checks) {
  const ProgramCopies copies = CopiesOf(result);
  std::string text = WindowText(result);
  text += fmt::format("  copies: {}, {} to the card and {} from it\n", copies.count,
                      trace::FormatBytes(copies.to_card), trace::FormatBytes(copies.from_card));
  if (checks.special_to_card + checks.special_from_card > 0) {
    text +=
        fmt::format("  infinities or NaN among the numbers copied: {} to the card, {} from it\n",
                    checks.special_to_card, checks.special_from_card);
  }
  return text + fmt::format("  device memory at most: tensors {}, programs {}\n",
                            MemoryText(result.tensor_memory), MemoryText(result.program_memory));
}

}  // namespace

std::vector<NextStep> NextStepsOf(const RunResult& result) {
  const std::optional<NextStep> kernel =
      KernelStep(result, result.launch_shares.window_ps, "what-if --kernels " + result.out_dir);
  return kernel ? std::vector<NextStep>{*kernel} : std::vector<NextStep>{};
}

Verdict VerdictOf(const RunResult& result, const ProgramChecks& checks) {
  const std::vector<KernelTotal> kernels = LaunchedKernels(result);
  uint64_t launches = 0, device_ps = 0;
  for (const KernelTotal& kernel : kernels) {
    launches += kernel.launches;
    device_ps += kernel.device_ps;
  }
  Verdict verdict;
  verdict.ran = fmt::format(
      "{} on card '{}', {} mode, {} cores", result.description, result.config.preset,
      result.config.mode == FunctionMode::kVirtual ? "VF" : "PF", result.config.card.cores);
  if (const uint64_t failed = result.launch_counts.failed; failed > 0)
    verdict.problems.push_back(
        fmt::format("FAILED: {} of the card", Times(failed, "operation", "operations")));
  Judge(checks, verdict);
  verdict.notes.insert(verdict.notes.end(), result.warnings.begin(), result.warnings.end());
  verdict.time = fmt::format("{} in {} of {}", trace::FormatTime(device_ps),
                             Times(launches, "launch", "launches"),
                             Times(kernels.size(), "kernel", "kernels"));
  verdict.trust = "not known: no such program was measured on a card";
  const trace::Bound bound = trace::BoundOf(result.path);
  if (bound.total_ps > 0) {
    verdict.bound =
        fmt::format("{}, {} of the critical path of the program",
                    trace::ResourceText(bound.resource), trace::FormatPercent(bound.share()));
  }
  for (const NextStep& step : NextStepsOf(result)) verdict.next.push_back(ToText(step));
  verdict.files.emplace_back("report", result.out_dir + "/report.json");
  const bool kept =
      AnyFits(checks.kernels, [](const auto& check) { return !check.second.kept.empty(); });
  if (kept) verdict.files.emplace_back("kernels", result.out_dir + "/kernels");
  if (!result.trace_path.empty()) {
    verdict.files.emplace_back("page", result.out_dir + "/report.html");
    verdict.files.emplace_back("trace", result.trace_path);
  }
  return verdict;
}

std::string ProgramSummary(const RunResult& result, const ProgramChecks& checks) {
  const std::vector<KernelTotal> kernels = LaunchedKernels(result);
  uint64_t device_ps = 0;
  for (const KernelTotal& kernel : kernels) device_ps += kernel.device_ps;
  const std::string table = KernelTable(kernels, device_ps, checks);
  return table + (table.empty() ? "" : "\n") + Wrap(DetailsText(result, checks), kDefaultWidth) +
         "\n" + ToText(VerdictOf(result, checks), {});
}

}  // namespace spyre::cosim
