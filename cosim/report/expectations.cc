// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_energy.h"
#include "traces/check/check.h"

namespace spyre::cosim {
namespace {

uint64_t KernelPs(const RunResult& result) {
  uint64_t ps = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (result.IsKernel(operation)) ps += operation.finished_ps - operation.started_ps;
  }
  return ps;
}

}  // namespace

std::vector<Expectation> ExpectationsOf(const RunResult& result) {
  const ExpectConfig& expect = result.config.expect;
  std::vector<Expectation> all;
  const auto at_most = [&all](const char* key, const char* what, double value, double most,
                              const char* unit) {
    all.push_back({key, fmt::format("{} {:.3f} {}, expected at most {:g}", what, value, unit, most),
                   value <= most});
  };
  const auto equal = [&all](const char* key, const char* what, const std::string& value,
                            const std::string& expected) {
    all.push_back(
        {key, fmt::format("{} {}, expected {}", what, value, expected), value == expected});
  };
  if (expect.max_launch_ns > 0) {
    at_most("expect.max_launch_ns", "launches took", Ns(result.LaunchPs()),
            static_cast<double>(expect.max_launch_ns), "ns");
  }
  if (expect.max_device_ns > 0) {
    at_most("expect.max_device_ns", "kernels took", Ns(KernelPs(result)),
            static_cast<double>(expect.max_device_ns), "ns");
  }
  const WindowShares& shares = result.launch_shares;
  // Not followed: several functions or cards, and a card in another process.
  const auto share = [&](const char* key, const char* what, uint64_t ps, uint64_t most) {
    if (most >= 100) return;
    if (shares.window_ps == 0) {
      all.push_back({key, "the window of this run is not split into card, host and idle", false});
      return;
    }
    at_most(key, what, 100 * static_cast<double>(ps) / static_cast<double>(shares.window_ps),
            static_cast<double>(most), "%");
  };
  share("expect.max_host_percent", "only the host worked", shares.host_ps, expect.max_host_percent);
  share("expect.max_idle_percent", "neither card nor host worked", shares.idle_ps,
        expect.max_idle_percent);
  if (expect.max_energy_uj > 0) {
    if (const std::optional<LaunchEnergy> launches = EnergyOfLaunches(result)) {
      at_most("expect.max_energy_uj", "launches cost", launches->TotalUj(),
              static_cast<double>(expect.max_energy_uj), "uJ");
    } else {
      all.push_back({"expect.max_energy_uj", "the energy of this run is not known", false});
    }
  }
  if (!expect.bound_by.empty()) {
    equal("expect.bound_by", "bound by", trace::BoundOf(result.launch_path).resource,
          expect.bound_by);
  }
  if (!expect.digest.empty()) {
    equal("expect.digest", "digest", fmt::format("{:016x}", result.trace_digest), expect.digest);
  }
  if (expect.rules.empty()) return all;
  if (result.trace_path.empty()) {
    all.push_back({"expect.rules", "there is no trace to hold to the rules", false});
    return all;
  }
  const std::vector<trace::Rule> rules = trace::ReadRules(expect.rules);
  for (const trace::RuleResult& rule :
       trace::CheckRules(trace::ReadTrace(result.trace_path), rules)) {
    std::string found = rule.found;
    for (const std::string& problem : rule.problems) found += "; " + problem;
    all.push_back({"expect.rules, " + rule.name, std::move(found), rule.passed});
  }
  return all;
}

nlohmann::ordered_json ToJson(const std::vector<Expectation>& expectations) {
  auto list = nlohmann::ordered_json::array();
  for (const Expectation& expectation : expectations) {
    list.push_back(
        {{"key", expectation.key}, {"found", expectation.found}, {"met", expectation.met}});
  }
  return list;
}

std::string ToText(const std::vector<Expectation>& expectations) {
  if (expectations.empty()) return "";
  const auto met = std::count_if(expectations.begin(), expectations.end(),
                                 [](const Expectation& expectation) { return expectation.met; });
  std::string text = fmt::format("  expected: {} of {} met\n", met, expectations.size());
  for (const Expectation& expectation : expectations) {
    if (!expectation.met)
      text += fmt::format("    NOT MET {}: {}\n", expectation.key, expectation.found);
  }
  return text;
}

}  // namespace spyre::cosim
