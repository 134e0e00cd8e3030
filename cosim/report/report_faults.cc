// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/build_info/build_info.h"
#include "base/json_text.h"
#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_verdict.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json FaultsJson(const RunResult& result) {
  Json faults = Json::array();
  for (const FaultRecord& fault : result.faults) {
    Json entry = {{"fault", fault.number}, {"kind", fault.kind}, {"struck", fault.struck}};
    if (fault.struck) {
      entry["place"] = fault.place;
      entry["time_ns"] = Ns(fault.time_ps);
      entry["outcome"] = model::Name(fault.outcome);
      entry["by"] = fault.by;
      entry["after_ns"] = Ns(fault.after_ps);
    }
    faults.push_back(std::move(entry));
  }
  return faults;
}

std::string FaultsText(const RunResult& result) {
  if (result.faults.empty()) return "";
  std::string text = "  faults:\n";
  const std::string lines = FaultLines(result.faults);
  for (size_t begin = 0; begin <= lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    text += fmt::format("    {}\n", lines.substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

std::string FaultedReportJson(const FaultedRun& fault) {
  const RunResult& result = fault.result();
  const Json report = {{"workload", result.description},
                       {"build", JsonOf(ToJson(ThisBuild()))},
                       {"config", JsonOf(ToJson(result.config))},
                       {"sim_time_ns", Ns(result.sim_ps)},
                       {"verified", nullptr},
                       {"error", {{"kind", "device_fault"}, {"message", fault.message()}}},
                       {"verdict", VerdictJson(fault)},
                       {"faults", FaultsJson(result)},
                       {"warnings", result.warnings},
                       {"trace",
                        {{"path", result.trace_path},
                         {"digest", fmt::format("{:016x}", result.trace_digest)},
                         {"records", result.trace_records},
                         {"dropped", result.trace_dropped},
                         {"bytes", result.trace_bytes}}},
                       {"spyrecode", result.spyrecode_dir}};
  return DumpJson(report, 2) + "\n";
}

}  // namespace spyre::cosim
