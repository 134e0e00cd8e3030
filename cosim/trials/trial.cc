// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 6> kStatusNames = {"done",       "unmet", "wrong",
                                                     "infeasible", "fault", "error"};

const Json& FieldOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw BadInput("the result of a trial has no '{}'", name);
  return *found;
}

// Whole numbers look like whole numbers.
Json NumberJson(double number) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (number == std::floor(number) && std::abs(number) < kExact)
    return static_cast<int64_t>(number);
  return number;
}

}  // namespace

const char* Name(TrialStatus status) { return kStatusNames[static_cast<size_t>(status)]; }

const std::vector<Figure>& NumberFigures() {
  static const std::vector<Figure> figures = {
      {"launch_ns", "ns", "from the first launch operation queued to the last finished"},
      {"device_ns", "ns", "device time of the kernels, summed"},
      {"window_ns", "ns", "launch window with the transfers of tensors and programs"},
      {"kernels", "", "kernel launches"},
      {"macs", "MAC", "multiply-accumulates of the kernels", true},
      {"tmac_per_s", "TMAC/s", "multiply-accumulates by device time", true},
      {"bytes_read", "bytes", "read from device memory by the kernels"},
      {"bytes_written", "bytes", "written to device memory by the kernels"},
      {"compute_share", "", "of the PT arrays' peak", true},
      {"memory_share", "", "of device memory's peak", true},
      {"cores_used", "cores", "cores that the work division uses"},
      {"lx_bytes_used", "bytes", "LX of a core that the program uses"},
      {"energy_uj", "uJ", "energy of the launches, by card.power", false, true},
      {"energy_per_token_uj", "uJ",
       "the same by new tokens; none without workload.tokens or a model", false, true, true},
      {"energy_delay_uj_us", "uJ us", "energy of the launches, times their window", false, true},
      {"collective_ns", "ns",
       "of several cards: from the first one's beginning of the collective to the last one's end",
       false, false, true},
      {"program_ns", "ns",
       "from the first launch operation queued to the last one's end, or that of the collective"},
  };
  return figures;
}

const std::vector<Figure>& TextFigures() {
  static const std::vector<Figure> figures = {
      {"bound_by", "", "what the report says bounds the launches"},
      {"division", "", "slices of each dimension in the work division"},
  };
  return figures;
}

size_t NumberFigure(const std::string& name) {
  const std::vector<Figure>& figures = NumberFigures();
  const auto found = FindIf(figures, [&](const Figure& figure) { return figure.name == name; });
  if (found != figures.end()) return static_cast<size_t>(found - figures.begin());
  std::vector<std::string> names;
  names.reserve(figures.size());
  for (const Figure& figure : figures) names.emplace_back(figure.name);
  throw BadInput("there is no figure '{}'{}; there are {}", name, DidYouMean(name, names),
                 Joined(names, ", "))
      .Subject(name);
}

std::string FigureText(const Figure& figure, double value) {
  const std::string unit = figure.unit;
  if (unit == "ns") return trace::FormatTime(static_cast<uint64_t>(value * 1000));
  if (unit == "bytes") return trace::FormatBytes(static_cast<uint64_t>(value));
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
}

ExitStatus ExitStatusOf(TrialStatus status) {
  switch (status) {
    case TrialStatus::kDone:
      return kDone;
    case TrialStatus::kUnmet:
    case TrialStatus::kWrong:
      return kWrong;
    case TrialStatus::kInfeasible:
      return kBadInputStatus;
    case TrialStatus::kFault:
      return kFaultStatus;
    case TrialStatus::kError:
      break;
  }
  return kBugStatus;
}

void RequireEnded(const TrialResult& result) {
  if (result.ended()) return;
  switch (result.status) {
    case TrialStatus::kInfeasible:
      throw Error(ErrorKind::kBadInput, result.reason);
    case TrialStatus::kFault:
      throw Error(ErrorKind::kDeviceFault, result.reason);
    default:
      throw Error(ErrorKind::kInternal, result.reason);
  }
}

Json ToJson(const TrialResult& result) {
  Json json = {{"status", Name(result.status)}, {"reason", result.reason}};
  for (size_t i = 0; i < result.numbers.size(); ++i) {
    if (!std::isnan(result.numbers[i]))
      json[NumberFigures()[i].name] = NumberJson(result.numbers[i]);
  }
  for (size_t i = 0; i < result.texts.size(); ++i) json[TextFigures()[i].name] = result.texts[i];
  json["wall_s"] = result.wall_s;
  if (!result.unmet.empty()) json["unmet"] = result.unmet;
  for (const TrialKernel& kernel : result.kernels) {
    json["kernels_of_program"].push_back({{"name", kernel.name},
                                          {"parts", kernel.parts},
                                          {"launches", kernel.launches},
                                          {"device_ns", kernel.device_ns},
                                          {"bound_by", kernel.bound_by},
                                          {"half_of", kernel.half_of},
                                          {"estimate", kernel.estimate}});
  }
  return json;
}

TrialResult TrialResultOf(const Json& json) {
  try {
    TrialResult result;
    const auto status = FieldOf(json, "status").get<std::string>();
    const auto* const name = std::find(kStatusNames.begin(), kStatusNames.end(), status);
    if (name == kStatusNames.end()) throw BadInput("'{}' is not a status of a trial", status);
    result.status = static_cast<TrialStatus>(name - kStatusNames.begin());
    result.reason = FieldOf(json, "reason").get<std::string>();
    result.wall_s = FieldOf(json, "wall_s").get<double>();
    if (json.contains("unmet")) result.unmet = json["unmet"].get<std::vector<std::string>>();
    if (json.contains("kernels_of_program")) {
      for (const Json& kernel : json["kernels_of_program"]) {
        result.kernels.push_back({FieldOf(kernel, "name").get<std::string>(),
                                  FieldOf(kernel, "parts").get<std::string>(),
                                  FieldOf(kernel, "launches").get<uint64_t>(),
                                  FieldOf(kernel, "device_ns").get<double>(),
                                  FieldOf(kernel, "bound_by").get<std::string>(),
                                  FieldOf(kernel, "half_of").get<std::string>(),
                                  FieldOf(kernel, "estimate").get<double>()});
      }
    }
    if (json.find(NumberFigures().front().name) == json.end()) return result;
    for (const Figure& figure : NumberFigures()) {
      const bool is_none = figure.may_be_none && !json.contains(figure.name);
      result.numbers.push_back(is_none ? NAN : FieldOf(json, figure.name).get<double>());
    }
    for (const Figure& figure : TextFigures())
      result.texts.push_back(FieldOf(json, figure.name).get<std::string>());
    return result;
  } catch (const Json::exception& error) {
    throw BadInput("the result of a trial cannot be read: {}", error.what());
  }
}

}  // namespace spyre::cosim
