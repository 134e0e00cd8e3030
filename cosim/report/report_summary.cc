// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "base/joined.h"
#include "base/ranges.h"
#include "base/terminal.h"
#include "cosim/report/report.h"
#include "cosim/report/report_advice.h"
#include "cosim/report/report_cards.h"
#include "cosim/report/report_cores.h"
#include "cosim/report/report_energy.h"
#include "cosim/report/report_fast.h"
#include "cosim/report/report_faults.h"
#include "cosim/report/report_hazards.h"
#include "cosim/report/report_model.h"
#include "cosim/report/report_tasks.h"
#include "cosim/report/report_tenants.h"
#include "cosim/report/report_usage.h"
#include "cosim/report/report_verdict.h"
#include "cosim/tensors/host_data.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

double RatioOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "core 12/pt" and "core 3/pt" belong to one row, "core */pt".
std::string GroupName(const std::string& unit) {
  std::string group;
  for (size_t i = 0; i < unit.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(unit[i])) != 0;
    if (!digit) {
      group += unit[i];
    } else if (group.empty() || group.back() != '*') {
      group += '*';
    }
  }
  return group;
}

std::string UnitTable(const RunResult& result, size_t width) {
  struct Group {
    uint64_t units = 0, busy_ps = 0, max_ps = 0, bytes = 0;
  };
  std::map<std::string, Group> groups;
  for (const model::UnitStatistics& unit : result.launch_units) {
    Group& group = groups[GroupName(unit.name)];
    ++group.units;
    group.busy_ps += unit.busy_ps;
    group.max_ps = std::max(group.max_ps, unit.busy_ps);
    group.bytes += unit.bytes;
  }
  std::vector<std::pair<std::string, Group>> rows(groups.begin(), groups.end());
  StableSort(rows, [](const auto& a, const auto& b) {
    return a.second.busy_ps * b.second.units > b.second.busy_ps * a.second.units;
  });
  constexpr size_t kRows = 8;
  if (rows.size() > kRows) rows.resize(kRows);
  const uint64_t window = result.UnitsPs();
  trace::Table table({"unit", "count", "busy (mean)", "busy (most)", "moved"});
  for (const auto& [name, group] : rows) {
    if (group.busy_ps == 0) continue;
    table.Add({name, std::to_string(group.units),
               trace::FormatPercent(RatioOf(group.busy_ps, window * group.units)),
               trace::FormatPercent(RatioOf(group.max_ps, window)),
               trace::FormatBytes(group.bytes)});
  }
  return table.empty() ? "" : "Units during the launches:\n" + table.ToString("  ", width);
}

std::string ReferenceText(const RunResult& result, const RunDigest& reference) {
  const std::string difference = Difference(DigestOf(result), reference);
  const uint64_t launch_ps = result.LaunchPs();
  return fmt::format(
      "  against the timed model: {}; launches {} here, {} there ({:+.2f} %), session {} and {}\n",
      result.formula ? "times only"
      : difference.empty()
          ? fmt::format("output and order of {} responses equal", reference.responses.size())
          : "DIFFERENT at " + difference,
      trace::FormatTime(launch_ps), trace::FormatTime(reference.launch_ps),
      100 * (static_cast<double>(launch_ps) /
                 std::max(1.0, static_cast<double>(reference.launch_ps)) -
             1),
      trace::FormatTime(result.sim_ps), trace::FormatTime(reference.sim_ps));
}

// What the distance to float64 may be, and what came closest to that.
std::string ToleranceText(const Verification& v) {
  std::string text;
  if (v.tolerance > 0) {
    text = fmt::format("  tolerance: {:g} of the largest (workload.tolerance)\n", v.tolerance);
  } else if (v.worst && std::isfinite(v.worst->limit)) {
    text = fmt::format(
        "  tolerance: what roundings explain, for each element; worst: {}, element {}: got {:.6g}, "
        "float64 {:.6g}, tolerance {:.3g}\n",
        v.worst->tensor, v.worst->element, v.worst->got, v.worst->expected, v.worst->limit);
  } else if (v.worst && !std::isfinite(v.worst->got)) {
    text = fmt::format("  {}, element {}: got {}, float64 {:.6g}\n", v.worst->tensor,
                       v.worst->element, v.worst->got, v.worst->expected);
  }
  if (v.unjudged > 0) {
    text += fmt::format(
        "  {} elements are not finite in float64 and were compared bit by bit only\n", v.unjudged);
  }
  return text;
}

// Distance to float64, or the first wrong elements.
std::string NumbersText(const RunResult& result) {
  if (!result.verification) return "";
  const Verification& v = *result.verification;
  std::string text;
  for (const Mismatch& mismatch : v.first) {
    text += "  " + ToText(mismatch) + "\n";
  }
  if (v.mismatches > 0) return text;
  // Not in units of the last place (report.json has them): of a sum whose parts cancel out, many
  // units are what rounding explains.
  if (v.error_elements + v.not_finite == 0) return "  no element was compared with float64\n";
  text +=
      fmt::format("  against float64: at most {:.3g} off, {:.3g} of the largest ({} elements)\n",
                  v.max_abs_error, v.max_relative_error, v.error_elements);
  if (v.undecided > 0) {
    text += fmt::format(
        "  not decided: {} elements depend on a comparison of nearly equal numbers; either result "
        "of it "
        "is right\n",
        v.undecided);
  }
  return text + ToleranceText(v);
}

std::string WorkText(const RunResult& result, uint64_t kernels, uint64_t kernel_ps) {
  const auto [read, written] = KernelBytes(result);
  const double ns = std::max(1e-3, static_cast<double>(kernel_ps) / 1000);
  return fmt::format(
      "  stream operations: {} queued, {} completed ({} kernel launch{})\n"
      "  device time: {} in kernels, {:.1f} GB/s of device memory: {} read, {} written\n"
      "  with transfers: {}\n",
      result.launch_counts.queued, result.launch_counts.completed, kernels,
      kernels == 1 ? "" : "es", trace::FormatTime(kernel_ps),
      static_cast<double>(read + written) / ns, trace::FormatBytes(read),
      trace::FormatBytes(written), trace::FormatTime(result.end_ps - result.begin_ps));
}

// Names of files are not broken: they are there to be copied.
std::string FilesText(const RunResult& result, const std::string& program, const TextStyle& style) {
  std::string text = fmt::format("\nReport:  {}/report.json\n", result.out_dir);
  if (!result.trace_path.empty()) {
    text += fmt::format("Trace:   {}\n", result.trace_path);
    if (result.trace_dropped > 0) {
      text += fmt::format(
          "         its first {} records were dropped (trace.capacity = {}): it begins late\n",
          result.trace_dropped, result.config.trace.capacity);
    }
  }
  for (const std::string& path : result.wave_paths) text += fmt::format("Waves:   {}\n", path);
  for (const auto& [name, path] : result.tensor_paths) text += fmt::format("Tensor:  {}\n", path);
  for (const TenantResult& tenant : result.tenants)
    text += fmt::format("Tenant:  {}\n", tenant.run.out_dir);
  for (const CardResult& card : result.cards)
    text += fmt::format("Card:    {}\n", card.run.out_dir);
  if (!result.spyrecode_dir.empty() && result.tenants.empty() && result.cards.empty())
    text += fmt::format("Program: {}\n", result.spyrecode_dir);
  if (result.trace_path.empty()) return text;
  return text + "\n" + style.Paint(Accent::kTitle, "Next:") +
         fmt::format(
             "\n  {0} trace report {1}\n  {0} trace summary {1}\n"
             "  {0} trace export --format perfetto {1}\n  {0} disasm {2}\n",
             program, result.trace_path, result.spyrecode_dir);
}

}  // namespace

std::pair<uint64_t, uint64_t> KernelBytes(const RunResult& result) {
  std::pair<uint64_t, uint64_t> bytes{0, 0};
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    bytes.first += operation.device_bytes_read;
    bytes.second += operation.device_bytes_written;
  }
  return bytes;
}

std::string BitsText(const Mismatch& mismatch, uint64_t bits) {
  return fmt::format("0x{:0{}x}", bits, 2 * HostFormatOf(mismatch.format).bytes);
}

std::string ToText(const Mismatch& mismatch) {
  return fmt::format(
      "{}, element {}: got {} ({}), expected {} ({})", mismatch.tensor, mismatch.element,
      HostValue(mismatch.format, mismatch.got), BitsText(mismatch, mismatch.got),
      HostValue(mismatch.format, mismatch.expected), BitsText(mismatch, mismatch.expected));
}

std::string ReportVerdict(const RunResult& result, const RunDigest* reference,
                          const TextStyle& style, const std::vector<Expectation>& expectations) {
  return ToText(VerdictOf(result, reference, expectations), style);
}

std::string ReportSummary(const RunResult& result, const std::string& program,
                          const RunDigest* reference, const TextStyle& style,
                          const std::vector<Expectation>& expectations) {
  uint64_t kernels = 0, kernel_ps = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    ++kernels;
    kernel_ps += operation.finished_ps - operation.started_ps;
  }
  Verdict verdict = VerdictOf(result, reference, expectations);
  verdict.files.clear();  // they come last here
  verdict.more.clear();
  std::string text = ToText(verdict, style) + "\n";

  std::string prose = NumbersText(result) + ModelText(result);
  prose += WorkText(result, kernels, kernel_ps);
  prose += EnergyText(result);
  prose += result.formula ? HostOperationsText(result) : TasksText(result);
  prose += FastText(result);
  prose += FaultsText(result);
  if (reference != nullptr) prose += ReferenceText(result, *reference);
  prose += HazardsText(result.hazards);
  prose += ToText(expectations);
  if (!result.formula) prose += UsageText(result);
  if (const std::optional<LateCore> late = LateCoreOf(result))
    prose += fmt::format("  the last core: {}\n", ToText(*late));
  prose += fmt::format(
      "  wall time: {:.2f} s (inputs {:.2f}, compile {:.2f}, model {:.2f}, verify {:.2f})\n",
      result.wall.total, result.wall.generate, result.wall.compile, result.wall.model,
      result.wall.verify);
  text += Wrap(prose, style.width);
  if (result.formula) {
    if (const std::string table = CardsTable(result, style.width); !table.empty())
      text += "\n" + table;
    return text + FilesText(result, program, style);
  }
  for (const std::string& table :
       {TenantsTable(result, style.width), CardsTable(result, style.width),
        result.model ? ModelTable(result, style.width) : KernelTables(result, style.width),
        UnitTable(result, style.width)}) {
    if (!table.empty()) text += "\n" + table;
  }
  return text + FilesText(result, program, style) + AdviceText(result, program, style.width);
}

}  // namespace spyre::cosim
