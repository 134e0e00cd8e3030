// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_energy.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "base/ranges.h"
#include "base/time_units.h"
#include "cosim/report/nanoseconds.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;
using model::Activity;
using model::Energy;

constexpr double kUjPerJ = 1e6;
constexpr double kPjPerJ = 1e12;
constexpr double kNamed = 0.005;  // parts of the summary: less is not named

struct Part {
  const char* name;
  double Energy::*of;
  bool of_card;  // and so of no kernel
};
constexpr std::array<Part, 8> kParts = {{{"idle", &Energy::idle, true},
                                         {"busy", &Energy::busy, false},
                                         {"macs", &Energy::macs, false},
                                         {"vector", &Energy::vector, false},
                                         {"lx", &Energy::lx, false},
                                         {"ring", &Energy::ring, false},
                                         {"memory", &Energy::memory, false},
                                         {"pcie", &Energy::pcie, true}}};

uint64_t LaunchWindowPs(const RunResult& run) { return run.launch_end_ps - run.launch_begin_ps; }

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// {"total_uj": ..., "parts_uj": {...}}
Json EnergyFields(const Energy& energy, bool of_kernel) {
  Json parts = Json::object();
  for (const Part& part : kParts)
    if (!of_kernel || !part.of_card) parts[part.name] = energy.*part.of * kUjPerJ;
  return {{"total_uj", energy.Total() * kUjPerJ}, {"parts_uj", std::move(parts)}};
}

Json CountedJson(const Activity& activity) {
  return {{"busy_ns", Ns(activity.busy_ps)},       {"fp16_macs", activity.fp16_macs},
          {"vector_bytes", activity.vector_bytes}, {"lx_bytes", activity.lx_bytes},
          {"ring_bytes", activity.ring_bytes},     {"memory_bytes", activity.memory_bytes},
          {"pcie_bytes", activity.pcie_bytes}};
}

uint64_t TokensOf(const RunResult& result) {
  uint64_t tokens = 0;
  for (const TenantResult& tenant : result.tenants) tokens += TokensOf(tenant.run);
  for (const CardResult& card : result.cards) {
    // Outputs that are added up are parts of the same tokens.
    const bool together = result.config.cards.collective != runtime::Collective::kNone ||
                          !result.list_collectives.empty();
    if (tokens == 0 || !together) tokens += TokensOf(card.run);
  }
  if (!result.tenants.empty() || !result.cards.empty()) return tokens;
  return result.model ? result.model->tokens() : result.config.workload.tokens;
}

// Of one card, over its launches.
std::optional<LaunchEnergy> OfOneCard(const RunResult& run, const model::PowerConfig& power) {
  const uint64_t span_ps = LaunchWindowPs(run);
  if (!run.launch_activity || span_ps == 0) return std::nullopt;
  LaunchEnergy launches;
  launches.activity = *run.launch_activity;
  launches.energy = EnergyOf(power, launches.activity, span_ps);
  launches.power_w = launches.energy.Total() / (static_cast<double>(span_ps) / kPsPerSecond);
  for (const flex::CompletedOperation& operation : run.launches) launches.macs += operation.macs;
  launches.tokens = TokensOf(run);
  return launches;
}

// Launches that were not simulated whole have counters that were carried on from those that were.
bool IsEstimated(const RunResult& result) {
  return result.fast && result.fast->partly + result.fast->repeated > 0;
}

Json LaunchJson(const RunResult& result, const LaunchEnergy& launches) {
  Json json = EnergyFields(launches.energy, false);
  json["power_w"] = launches.power_w;
  json["macs"] = launches.macs;
  json["pj_per_mac"] = OrNull(launches.PjPerMac());
  json["tokens"] = launches.tokens == 0 ? Json(nullptr) : Json(launches.tokens);
  json["uj_per_token"] = OrNull(launches.UjPerToken());
  json["estimated"] = IsEstimated(result);
  json["counted"] = CountedJson(launches.activity);
  return json;
}

// Of a kernel that marks its steps, all executions of each together. The parts of a launch that was
// not simulated whole are not known by step.
Json StepEnergiesJson(const RunResult& result, const KernelUsage& kernel) {
  if (kernel.steps.empty() || result.fast) return nullptr;
  Json steps = Json::array();
  for (const StepUsage& step : kernel.steps) {
    Json json = {{"step", step.step}, {"name", step.name}, {"executions", step.executions}};
    json.update(EnergyFields(EnergyOf(result.config.card.power, step.activity, 0), true));
    steps.push_back(std::move(json));
  }
  return steps;
}

struct Kernels {
  Json list = Json::array();
  Activity activity;  // of all
};

// The launches of a model are many and alike: those of one name are one entry.
Kernels KernelsOfModel(const RunResult& result) {
  struct Group {
    std::string name;
    uint64_t launches = 0;
    Activity activity;
  };
  std::vector<Group> groups;  // in the order of their first launch
  Kernels kernels;
  for (const flex::CompletedOperation& operation : result.launches) {
    const auto kernel = result.kernel_usages.find(operation.correlation);
    if (kernel == result.kernel_usages.end()) continue;
    auto group = FindIf(groups, [&](const Group& other) { return other.name == operation.name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {operation.name, 0, {}});
    ++group->launches;
    group->activity = group->activity + kernel->second.activity;
  }
  for (const Group& group : groups) {
    Json json = {{"name", group.name}, {"launches", group.launches}};
    json.update(EnergyFields(EnergyOf(result.config.card.power, group.activity, 0), true));
    kernels.list.push_back(std::move(json));
    kernels.activity = kernels.activity + group.activity;
  }
  return kernels;
}

Kernels KernelsOf(const RunResult& result) {
  if (result.model) return KernelsOfModel(result);
  Kernels kernels;
  for (const flex::CompletedOperation& operation : result.launches) {
    const auto kernel = result.kernel_usages.find(operation.correlation);
    if (kernel == result.kernel_usages.end()) continue;
    const auto number = result.kernel_numbers.find(operation.correlation);
    Json json = Json::object();
    if (number != result.kernel_numbers.end()) json["number"] = number->second;
    json["name"] = operation.name;
    json["stream"] = operation.stream;
    const Activity& activity = kernel->second.activity;
    json.update(EnergyFields(EnergyOf(result.config.card.power, activity, 0), true));
    if (Json steps = StepEnergiesJson(result, kernel->second); !steps.is_null())
      json["steps"] = std::move(steps);
    kernels.list.push_back(std::move(json));
    kernels.activity = kernels.activity + activity;
  }
  return kernels;
}

std::string JoulesText(double joules) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}}};
  for (const auto& [size, name] : kUnits)
    if (joules >= size) return fmt::format("{:.2f} {}", joules / size, name);
  return fmt::format("{:.2f} pJ", joules * kPjPerJ);
}

// "idle 66.4 %, busy 20.1 %, ..."; the largest first.
std::string PartsText(const Energy& energy) {
  std::vector<Part> parts(kParts.begin(), kParts.end());
  StableSort(parts, [&](const Part& a, const Part& b) { return energy.*a.of > energy.*b.of; });
  const double total = energy.Total();
  std::vector<std::string> texts;
  for (const Part& part : parts) {
    if (energy.*part.of < kNamed * total || total == 0) continue;
    texts.push_back(fmt::format("{} {}", std::string(part.name) == "macs" ? "MACs" : part.name,
                                trace::FormatPercent(energy.*part.of / total)));
  }
  return fmt::format("{}", Joined(texts, ", "));
}

}  // namespace

double LaunchEnergy::TotalUj() const { return energy.Total() * kUjPerJ; }

std::optional<double> LaunchEnergy::PjPerMac() const {
  if (macs == 0) return std::nullopt;
  return energy.Total() * kPjPerJ / static_cast<double>(macs);
}

std::optional<double> LaunchEnergy::UjPerToken() const {
  if (tokens == 0) return std::nullopt;
  return TotalUj() / static_cast<double>(tokens);
}

std::optional<LaunchEnergy> EnergyOfLaunches(const RunResult& result) {
  const model::PowerConfig& power = result.config.card.power;
  if (result.cards.empty()) return OfOneCard(result, power);
  std::optional<LaunchEnergy> all;
  for (const CardResult& card : result.cards) {
    const std::optional<LaunchEnergy> one = OfOneCard(card.run, power);
    if (!one) continue;
    if (!all) all.emplace();
    all->energy = all->energy + one->energy;
    all->activity = all->activity + one->activity;
    all->power_w += one->power_w;
    all->macs += one->macs;
  }
  if (all) all->tokens = TokensOf(result);
  return all;
}

Json EnergyJson(const RunResult& result) {
  const std::optional<LaunchEnergy> launches = EnergyOfLaunches(result);
  if (!launches) return nullptr;
  Json json = LaunchJson(result, *launches);
  if (!result.cards.empty()) return json;  // kernels are logged of card 0 alone
  Kernels kernels = KernelsOf(result);
  const Activity outside = launches->activity - kernels.activity;
  json["kernels"] = std::move(kernels.list);
  json["outside_kernels"] =
      EnergyFields(EnergyOf(result.config.card.power, outside, LaunchWindowPs(result)), false);
  return json;
}

Json CardEnergyJson(const RunResult& result, const CardResult& card) {
  const std::optional<LaunchEnergy> launches = OfOneCard(card.run, result.config.card.power);
  return launches ? LaunchJson(result, *launches) : Json(nullptr);
}

std::string EnergyText(const RunResult& result) {
  const std::optional<LaunchEnergy> launches = EnergyOfLaunches(result);
  if (!launches) return "";
  std::string text =
      fmt::format("  energy of the launches: {}{} ({:.1f} W)", IsEstimated(result) ? "about " : "",
                  JoulesText(launches->energy.Total()), launches->power_w);
  if (const std::string parts = PartsText(launches->energy); !parts.empty()) text += ": " + parts;
  if (const auto pj = launches->PjPerMac()) text += fmt::format("; {:.2f} pJ/MAC", *pj);
  if (const auto uj = launches->UjPerToken())
    text += fmt::format("; {} a token", JoulesText(*uj / kUjPerJ));
  return text + "\n";
}

}  // namespace spyre::cosim
