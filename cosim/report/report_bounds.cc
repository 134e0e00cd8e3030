// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/joined.h"
#include "base/ranges.h"
#include "cosim/report/nanoseconds.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kResourcesShown = 5;

double PartOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// What the data buses of the channels spent their time on while there were requests.
Json BusesJson(const Usage& usage) {
  uint64_t total = usage.channel_busy_ps, check = 0;
  std::vector<std::pair<const char*, uint64_t>> parts;
  for (const char* cause : {"row_miss", "turnaround", "refresh", "bank_group", "ecc_check"}) {
    const auto lost =
        FindIf(usage.lost, [cause](const LostTime& time) { return time.cause == cause; });
    const uint64_t ps = lost == usage.lost.end() ? 0 : lost->ps;
    parts.emplace_back(cause, ps);
    if (std::string(cause) == "ecc_check") {
      check = ps;  // part of the busy time
    } else {
      total += ps;
    }
  }
  if (total == 0) return nullptr;
  Json shares = {
      {"data", PartOf(usage.channel_busy_ps - std::min(check, usage.channel_busy_ps), total)}};
  for (const auto& [cause, ps] : parts) shares[cause] = PartOf(ps, total);
  return shares;
}

}  // namespace

Json BoundsJson(const Usage& usage) {
  const trace::Bound bound = trace::BoundOf(usage.path);
  Json resources = Json::array();
  for (const trace::ResourceTime& resource : bound.resources) {
    resources.push_back({{"resource", resource.resource},
                         {"ns", Ns(resource.time_ps)},
                         {"share", PartOf(resource.time_ps, bound.total_ps)}});
  }
  Json causes = Json::object();
  for (size_t i = 0; i < trace::kCauses; ++i) {
    if (usage.path[i] > 0)
      causes[trace::CauseName(static_cast<trace::Cause>(i))] = Ns(usage.path[i]);
  }
  return {{"bound_by", bound.resource},     {"share", bound.share()},
          {"path_ns", Ns(bound.total_ps)},  {"resources", std::move(resources)},
          {"causes_ns", std::move(causes)}, {"memory", BusesJson(usage)}};
}

std::string BoundSentence(const trace::Bound& bound) {
  if (bound.total_ps == 0) return "";
  return fmt::format("bound by {} ({})", trace::ResourceText(bound.resource),
                     trace::FormatPercent(bound.share()));
}

std::string PathSentence(const trace::Bound& bound) {
  if (bound.total_ps == 0) return "";
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(bound.resources.size(), kResourcesShown); ++i) {
    const trace::ResourceTime& resource = bound.resources[i];
    parts.push_back(fmt::format("{} {}", trace::ResourceText(resource.resource),
                                trace::FormatPercent(PartOf(resource.time_ps, bound.total_ps))));
  }
  return fmt::format("critical path: {}", Joined(parts, ", "));
}

std::string WindowText(const RunResult& result) {
  const WindowShares& shares = result.launch_shares;
  if (shares.window_ps == 0) return "";
  return fmt::format("  window {} = card {} + host {} + idle {}\n",
                     trace::FormatTime(shares.window_ps), trace::FormatTime(shares.card_ps),
                     trace::FormatTime(shares.host_ps), trace::FormatTime(shares.idle_ps));
}

Json WindowJson(const RunResult& result) {
  const WindowShares& shares = result.launch_shares;
  return {{"window_ns", Ns(shares.window_ps)},
          {"card_ns", Ns(shares.card_ps)},
          {"host_ns", Ns(shares.host_ps)},
          {"idle_ns", Ns(shares.idle_ps)}};
}

}  // namespace spyre::cosim
