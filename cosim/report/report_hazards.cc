// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_hazards.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShown = 5;  // in the summary

Json OperationJson(const flex::HazardOperation& operation) {
  return {{"stream", operation.stream},
          {"name", operation.name},
          {"label", operation.label},
          {"tag", operation.tag},
          {"correlation", operation.correlation}};
}

}  // namespace

Json HazardsJson(const flex::HazardReport& report) {
  if (report.mode == flex::HazardMode::kOff) return nullptr;
  Json warnings = Json::array();
  for (const flex::Hazard& hazard : report.hazards) {
    warnings.push_back({{"kind", flex::Name(hazard.kind)},
                        {"earlier", OperationJson(hazard.earlier)},
                        {"later", OperationJson(hazard.later)},
                        {"location", flex::ToString(hazard.handle)},
                        {"size_bytes", hazard.size},
                        {"shared_bytes", hazard.shared_bytes}});
  }
  return {{"mode", flex::Name(report.mode)}, {"checked", report.checked},
          {"unknown", report.unknown},       {"found", report.found},
          {"events", report.events},         {"waits", report.waits},
          {"warnings", std::move(warnings)}};
}

std::string HazardsText(const flex::HazardReport& report) {
  if (report.mode == flex::HazardMode::kOff) return "";
  std::string text = fmt::format("  hazards between streams: {} found in {} operations",
                                 report.found, report.checked);
  if (report.unknown > 0) text += fmt::format(", {} launches not looked at", report.unknown);
  if (report.mode == flex::HazardMode::kEvent) {
    text += fmt::format("; ordered by {} events and {} waits", report.events, report.waits);
  }
  text += "\n";
  for (size_t i = 0; i < std::min(kShown, report.hazards.size()); ++i) {
    text += "    " + flex::ToString(report.hazards[i]) + "\n";
  }
  return text;
}

}  // namespace spyre::cosim
