// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/joined.h"
#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_bounds.h"
#include "cosim/report/report_cards.h"
#include "cosim/report/report_cores.h"
#include "cosim/report/report_fast.h"
#include "cosim/report/report_model.h"
#include "cosim/report/report_next.h"
#include "cosim/report/report_summary.h"
#include "cosim/report/report_trust.h"
#include "cosim/report/report_usage.h"
#include "cosim/session/tenant_times.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWorthSimulating = 0.03;
constexpr double kLate = 0.03;  // of the kernel: what is less costs nothing that matters

struct KernelTotals {
  uint64_t ps = 0, macs = 0;
};
KernelTotals KernelTotalsOf(const RunResult& result) {
  KernelTotals kernels;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    kernels.ps += operation.finished_ps - operation.started_ps;
    kernels.macs += operation.macs;
  }
  return kernels;
}

// "control processor, PT array", or "" if no block is RTL.
std::string RtlBlocks(const model::CardConfig& card) {
  std::vector<std::string> blocks;
  if (card.control.fidelity == model::BlockFidelity::kRtl) blocks.emplace_back("control processor");
  if (card.management.fidelity == model::ManagementFidelity::kRtl)
    blocks.emplace_back("management controller");
  if (card.pt.fidelity == model::BlockFidelity::kRtl) blocks.emplace_back("PT array");
  return Joined(blocks, ", ");
}

std::string WhatRan(const RunResult& result) {
  std::string text =
      fmt::format("{} on card '{}', {} mode, {} of {} cores", result.description,
                  result.config.preset, result.config.mode == FunctionMode::kVirtual ? "VF" : "PF",
                  result.plan.cores_used, result.config.card.cores);
  if (const compiler::Schedule schedule = result.config.workload.schedule;
      schedule != compiler::kDefaultSchedule) {
    text += fmt::format("; schedule: {}", compiler::Name(schedule));
  }
  if (const std::string rtl = RtlBlocks(result.config.card); !rtl.empty()) text += "; RTL: " + rtl;
  return text;
}

Rightness RightnessOf(const RunResult& result) {
  if (!result.verification) return Rightness::kNotVerified;
  return result.verification->passed() ? Rightness::kRight : Rightness::kWrong;
}

std::string WhatIsWrong(const Verification& v) {
  if (v.elements == 0) return "no element of an output was compared";
  if (v.mismatches > 0) return fmt::format("{} of {} elements differ", v.mismatches, v.elements);
  if (v.not_finite > 0)
    return fmt::format("{} elements are not finite, but are in float64{}{}", v.not_finite,
                       v.overflow.empty() ? "" : ": ", v.overflow);
  if (v.beyond > 0) {
    return fmt::format("{} of {} elements are further from float64 than rounding explains",
                       v.beyond, v.error_elements);
  }
  return fmt::format("{:.3g} of the largest off, above workload.tolerance = {}",
                     v.max_relative_error, v.tolerance);
}

std::string WhatWasChecked(const RunResult& result) {
  if (!result.verification) {
    if (!result.not_verified.empty()) return result.not_verified;
    return result.config.workload.functional ? "workload.verify = \"none\""
                                             : "timing only, no data (workload.functional = false)";
  }
  const Verification& v = *result.verification;
  if (!v.passed()) return WhatIsWrong(v);
  const bool is_sample = v.total > v.elements;
  std::string text =
      fmt::format("{} of {} elements bit-exact", v.elements, is_sample ? v.total : v.elements);
  if (v.error_elements > 0) text += fmt::format("; {} against float64 too", v.error_elements);
  if (is_sample)
    text += v.of_parts ? "; a sample of every core, corelet and tile" : "; a spread sample";
  return text;
}

void AddWrongElements(const Verification& v, std::vector<std::string>& problems) {
  for (const Mismatch& mismatch : v.first) problems.push_back(ToText(mismatch));
  if (v.mismatches > 0 || v.passed() || !v.worst) return;
  problems.push_back(fmt::format(
      "{}, element {}: got {:.6g}, float64 {:.6g}{}", v.worst->tensor, v.worst->element,
      v.worst->got, v.worst->expected,
      std::isfinite(v.worst->limit) ? fmt::format(", tolerance {:.3g}", v.worst->limit) : ""));
}

// Of a tenant or a card.
void AddMember(const MemberResult& member, std::vector<std::string>& problems) {
  const auto& verification = member.run.verification;
  if (member.error) {
    problems.push_back(fmt::format("{}: {}", member.name, member.error->what()));
  } else if (verification && !verification->passed()) {
    problems.push_back(fmt::format("{}: {}", member.name, WhatIsWrong(*verification)));
  }
}

std::vector<std::string> ProblemsOf(const RunResult& result, const RunDigest* reference,
                                    const std::vector<Expectation>& expectations) {
  std::vector<std::string> problems;
  for (const TenantResult& tenant : result.tenants) {
    AddMember(tenant, problems);
    if (tenant.alone && TimesOf(tenant.run).output_digest != tenant.alone->output_digest)
      problems.push_back(
          fmt::format("{}: its outputs differ from those of its run alone", tenant.name));
  }
  for (const CardResult& card : result.cards) AddMember(card, problems);
  for (const ListCollective& collective : result.list_collectives) {
    if (collective.verification && !collective.verification->passed())
      problems.push_back(
          fmt::format("{}: {}", collective.name, WhatIsWrong(*collective.verification)));
  }
  if (result.collective && !result.collective->passed())
    problems.push_back(fmt::format("the collective: {}", WhatIsWrong(*result.collective)));
  if (reference != nullptr && !result.formula) {
    const std::string difference = Difference(DigestOf(result), *reference);
    if (!difference.empty()) problems.push_back("DIFFERENT from the timed model: " + difference);
  }
  for (const Expectation& expectation : expectations) {
    if (!expectation.met)
      problems.push_back(fmt::format("NOT MET {}: {}", expectation.key, expectation.found));
  }
  if (result.hazards.found > 0) {
    problems.push_back(fmt::format(
        "{} hazard{} between streams{}", result.hazards.found, result.hazards.found == 1 ? "" : "s",
        result.hazards.hazards.empty() ? ""
                                       : "; " + flex::ToString(result.hazards.hazards.front())));
  }
  // The elements last: they are many.
  if (result.verification) AddWrongElements(*result.verification, problems);
  return problems;
}

// "3 declared: 1 did not strike, 2 corrected".
std::string FaultCounts(const std::vector<FaultRecord>& faults) {
  std::map<std::string, size_t> counts;
  for (const FaultRecord& fault : faults)
    ++counts[fault.struck ? model::Name(fault.outcome) : "did not strike"];
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [outcome, count] : counts)
    parts.push_back(faults.size() == 1 ? outcome : fmt::format("{} {}", count, outcome));
  const FaultRecord& first = faults.front();
  return fmt::format("{} fault{} declared: {}{}", faults.size(), faults.size() == 1 ? "" : "s",
                     Joined(parts, ", "),
                     first.struck ? fmt::format("; {} at {}", first.kind, first.place) : "");
}

std::string AgainstTimed(const RunResult& result, const RunDigest& reference) {
  const bool is_equal = !result.formula && Difference(DigestOf(result), reference).empty();
  const double change = static_cast<double>(result.LaunchPs()) /
                            std::max(1.0, static_cast<double>(reference.launch_ps)) -
                        1;
  return fmt::format("against the timed model: {}{:+.2f} % of its time",
                     is_equal ? "equal output and responses, " : "", 100 * change);
}

// The one that the others slowed down most.
std::string SlowestTenant(const RunResult& result) {
  const TenantResult* slowest = nullptr;
  double most = 0;
  for (const TenantResult& tenant : result.tenants) {
    if (!tenant.alone || tenant.alone->window_ps == 0) continue;
    const double slower = static_cast<double>(TimesOf(tenant.run).window_ps) /
                          static_cast<double>(tenant.alone->window_ps);
    if (slower <= most) continue;
    most = slower;
    slowest = &tenant;
  }
  return slowest == nullptr
             ? ""
             : fmt::format("beside the others, {} takes x{:.2f} its time alone, the most of all",
                           slowest->name, most);
}

std::vector<std::string> NotesOf(const RunResult& result, const RunDigest* reference,
                                 const std::vector<Expectation>& expectations) {
  std::vector<std::string> notes;
  if (std::string slowest = SlowestTenant(result); !slowest.empty())
    notes.push_back(std::move(slowest));
  if (const std::optional<IdleCores> idle = IdleCoresOf(result)) notes.push_back(ToText(*idle));
  if (const std::optional<LateCore> late = LateCoreOf(result); late && late->share >= kLate)
    notes.push_back(ToText(*late));
  if (!result.faults.empty()) notes.push_back(FaultCounts(result.faults));
  if (!expectations.empty()) {
    size_t met = 0;
    for (const Expectation& expectation : expectations) met += expectation.met ? 1 : 0;
    notes.push_back(fmt::format("{} of {} expectations met", met, expectations.size()));
  }
  if (reference != nullptr) notes.push_back(AgainstTimed(result, *reference));
  if (result.verification && result.verification->undecided > 0) {
    notes.push_back(fmt::format(
        "{} elements depend on a comparison of nearly equal numbers; either result of it is right",
        result.verification->undecided));
  }
  if (result.trace_dropped > 0) {
    notes.push_back(fmt::format(
        "the first {} records of the trace were dropped (trace.capacity = {}): it begins late",
        result.trace_dropped, result.config.trace.capacity));
  }
  return notes;
}

std::string TimeText(const RunResult& result) {
  std::string text =
      fmt::format("{} from first to last launch operation", trace::FormatTime(result.LaunchPs()));
  if (result.formula) {
    text += " by the closed form: nothing was simulated";
  } else if (const auto [least, most] = FastRange(result, result.LaunchPs()); least != most) {
    text += fmt::format(" ({} to {}: fast)", trace::FormatTime(least), trace::FormatTime(most));
  }
  const KernelTotals kernels = KernelTotalsOf(result);
  if (kernels.ps > 0) {
    text += fmt::format(", {} in kernels{}", trace::FormatTime(kernels.ps),
                        result.cards.empty() ? "" : " of all cards together");
  }
  if (kernels.macs > 0) {
    text += fmt::format(", {:.1f} TMAC/s",
                        static_cast<double>(kernels.macs) / static_cast<double>(kernels.ps));
  }
  if (const std::string rate = ModelRate(result); !rate.empty()) text += "; " + rate;
  if (const std::string collective = CollectiveTime(result); !collective.empty())
    text += "; " + collective;
  return text;
}

// Of the run's next steps that were simulated, those that make a resource twice as fast.
struct Simulated {
  std::string_view most;  // the resource that gains most; "": none gains 3 %
  double gain = 0;
  bool any = false;
};

Simulated SimulatedOf(const RunResult& result, const trace::Bound& bound) {
  Simulated all;
  for (const trace::ResourceTime& resource : bound.resources) {
    const auto simulated = result.simulated_changes.find(TwiceAsFast(resource.resource));
    if (simulated == result.simulated_changes.end()) continue;
    all.any = true;
    if (simulated->second < std::max(all.gain, kWorthSimulating)) continue;
    all.gain = simulated->second;
    all.most = resource.resource;
  }
  return all;
}

std::string WhatBounds(const RunResult& result) {
  if (result.formula) {
    const bool mostly_together = 2 * CollectivePs(result) > ProgramPs(result);
    return mostly_together ? CollectiveBound(result) : FormulaBound(result);
  }
  const trace::Bound bound = UsageOfLaunches(result).roofline.bound;
  if (bound.total_ps == 0) return CollectiveBound(result);
  const std::string first = fmt::format("{}, {}", trace::ResourceText(bound.resource),
                                        trace::FormatPercent(bound.share()));
  const Simulated simulated = SimulatedOf(result, bound);
  if (!simulated.most.empty()) {
    return fmt::format(
        "{}, {} less time (simulated); {} of the critical path",
        trace::ResourceText(simulated.most), trace::FormatPercent(simulated.gain),
        simulated.most == bound.resource ? trace::FormatPercent(bound.share()) : first);
  }
  if (simulated.any) return first + " of the critical path; less than 3 % less time (simulated)";
  const trace::ResourceTime* const rival = bound.rival();
  if (rival == nullptr) return first + " of the critical path (what-if --resources simulates it)";
  return fmt::format("{}, or {}, {} of the critical path (see what-if --resources)", first,
                     trace::ResourceText(rival->resource),
                     trace::FormatPercent(static_cast<double>(rival->time_ps) /
                                          static_cast<double>(bound.total_ps)));
}

}  // namespace

Verdict VerdictOf(const RunResult& result, const RunDigest* reference,
                  const std::vector<Expectation>& expectations) {
  Verdict verdict;
  verdict.ran = WhatRan(result);
  verdict.right = RightnessOf(result);
  verdict.checked = WhatWasChecked(result);
  verdict.problems = ProblemsOf(result, reference, expectations);
  verdict.notes = NotesOf(result, reference, expectations);
  verdict.time = TimeText(result);
  verdict.trust = TrustText(result);
  verdict.bound = WhatBounds(result);
  for (const NextStep& step : NextSteps(result)) verdict.next.push_back(ToText(step));
  verdict.files.emplace_back("report", result.out_dir + "/report.json");
  if (!result.trace_path.empty()) verdict.files.emplace_back("trace", result.trace_path);
  verdict.more = result.trace_path.empty() ? "run --details prints the rest"
                                           : "run --details prints the rest; trace report makes a "
                                             "page of the trace";
  return verdict;
}

Json LinesJson(const Verdict& verdict) {
  Json lines = Json::array();
  for (const VerdictLine& line : LinesOf(verdict))
    lines.push_back({{"label", line.label}, {"text", line.text}});
  return lines;
}

Json VerdictJson(const RunResult& result, const RunDigest* reference,
                 const std::vector<Expectation>& expectations) {
  const Verdict verdict = VerdictOf(result, reference, expectations);
  const trace::Bound bound = trace::BoundOf(result.launch_path);
  const bool has_bound = bound.total_ps > 0;
  const std::string simulated(SimulatedOf(result, bound).most);
  return {{"status", Name(verdict.right)},
          {"ran", verdict.ran},
          {"checked", verdict.checked},
          {"problems", verdict.problems},
          {"notes", verdict.notes},
          {"time", verdict.time},
          {"time_ns", Ns(result.LaunchPs())},
          {"trust", verdict.trust},
          {"bound", verdict.bound},
          {"bound_by", has_bound ? Json(bound.resource) : Json(nullptr)},
          {"bound_share", has_bound ? Json(bound.share()) : Json(nullptr)},
          {"bound_simulated", has_bound && !simulated.empty() ? Json(simulated) : Json(nullptr)},
          {"bound_or", bound.rival() != nullptr ? Json(bound.rival()->resource) : Json(nullptr)},
          {"idle_cores", IdleCoresJson(result)},
          {"late_core", LateCoreJson(result)},
          {"next", ToJson(NextSteps(result))},
          {"lines", LinesJson(verdict)}};
}

Json VerdictJson(const FaultedRun& fault) {
  return {{"status", "fault"},
          {"ran", fault.result().description},
          {"checked", ""},
          {"problems", Json::array({fault.message()})},
          {"notes", Json::array()},
          {"time", ""},
          {"time_ns", nullptr},
          {"trust", ""},
          {"bound", ""},
          {"bound_by", nullptr},
          {"bound_share", nullptr},
          {"bound_or", nullptr},
          {"idle_cores", nullptr},
          {"late_core", nullptr},
          {"next", Json::array()},
          {"lines",
           {{{"label", "ran"}, {"text", fault.result().description}},
            {{"label", "FAULT"}, {"text", fault.message()}}}}};
}

}  // namespace spyre::cosim
