// SPDX-License-Identifier: Apache-2.0
// The answers of `what-if` as JSON and as text.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/ranges.h"
#include "base/terminal.h"
#include "cosim/what_if/what_if.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kShownInReport = 0.002;  // of the figure: less is "no effect"
constexpr const char* kWindow = "program_ns";
constexpr size_t kPairRows = 5;

const char* Name(Direction direction) {
  switch (direction) {
    case Direction::kMoreIsFaster:
      return "more is faster";
    case Direction::kLessIsFaster:
      return "less is faster";
    case Direction::kEither:
      break;
  }
  return "either";
}

Json ChangeJson(const WhatIf& what_if, const Parameter& parameter,
                const std::optional<Change>& change) {
  if (!change) return nullptr;
  Json json = {{"value", change->value}, {"set", SetsOf(parameter, change->value)}};
  Json result = ToJson(change->result);
  result.erase("wall_s");
  if (change->result.ended()) json["change"] = ChangeOf(what_if, change->result);
  json.update(result);
  return json;
}

bool HasEffect(const WhatIf& what_if, const Answer& answer) {
  const auto has = [&](const std::optional<Change>& change) {
    return change && (!change->result.ended() ||
                      std::abs(ChangeOf(what_if, change->result)) >= kShownInReport);
  };
  return has(answer.faster) || has(answer.slower);
}

std::string FigureOf(const WhatIf& what_if, const TrialResult& result) {
  return FigureText(what_if.figure, result.Number(what_if.figure.name));
}

bool IsOfWindow(const WhatIf& what_if) { return std::string(what_if.figure.name) == kWindow; }
// The heading of columns.
std::string Heading(const WhatIf& what_if) {
  return IsOfWindow(what_if) ? "window" : what_if.figure.name;
}

std::string Percent(double change) { return fmt::format("{:+.1f} %", 100 * change); }

std::string ChangeCell(const WhatIf& what_if, const std::optional<Change>& change) {
  if (!change) return "-";
  if (!change->result.ended()) return Name(change->result.status);
  return Percent(ChangeOf(what_if, change->result));
}
std::string ValueCell(const std::optional<Change>& change) {
  return change ? std::to_string(change->value) : "-";
}

std::string SinglesText(const WhatIf& what_if, size_t width) {
  const std::string heading = Heading(what_if);
  trace::Table table(
      {"parameter", "value", "faster", heading, "slower", heading, "unit", "source"});
  for (const Answer& answer : what_if.answers) {
    if (!HasEffect(what_if, answer)) continue;
    table.Add(
        {answer.parameter.key + (answer.parameter.direction == Direction::kEither ? " *" : ""),
         std::to_string(answer.parameter.value), ValueCell(answer.faster),
         ChangeCell(what_if, answer.faster), ValueCell(answer.slower),
         ChangeCell(what_if, answer.slower), answer.parameter.unit, answer.parameter.source});
  }
  const bool of_window = IsOfWindow(what_if);
  if (table.empty()) {
    return fmt::format("No parameter changes {}.\n",
                       of_window ? "the launch window" : what_if.figure.name);
  }
  return fmt::format("{} with one parameter changed:\n",
                     of_window ? "Launch window" : what_if.figure.name) +
         table.ToString("  ", width);
}

std::string PairsText(const WhatIf& what_if, size_t width) {
  if (what_if.pairs.empty()) return "";
  trace::Table table({"both faster", "and", Heading(what_if), "change", "if independent"}, 2);
  for (size_t i = 0; i < std::min(what_if.pairs.size(), kPairRows); ++i) {
    const PairAnswer& pair = what_if.pairs[i];
    table.Add({what_if.answers[pair.first].parameter.key,
               what_if.answers[pair.second].parameter.key,
               pair.result.ended() ? FigureOf(what_if, pair.result) : Name(pair.result.status),
               Percent(ChangeOf(what_if, pair.result)), Percent(ExpectedOf(what_if, pair))});
  }
  return "\nPairs, those that help each other most first:\n" + table.ToString("  ", width);
}

// Values that the card or the compiler refuses, with the reason.
std::string RefusedText(const WhatIf& what_if) {
  std::string text;
  const auto add = [&](const Answer& answer, const std::optional<Change>& change) {
    if (!change || change->result.ended()) return;
    text +=
        fmt::format("  {} = {}: {}\n", answer.parameter.key, change->value, change->result.reason);
  };
  for (const Answer& answer : what_if.answers) {
    add(answer, answer.faster);
    add(answer, answer.slower);
  }
  return text.empty() ? "" : "\nDid not run:\n" + text;
}

std::string NoEffectText(const WhatIf& what_if) {
  size_t count = 0;
  std::string names;
  for (const Answer& answer : what_if.answers) {
    if (HasEffect(what_if, answer)) continue;
    names += (count++ == 0 ? "" : ", ") + answer.parameter.key;
  }
  if (count == 0) return "";
  return fmt::format("\nNo effect (below {:.1f} %), {} parameters: {}\n", 100 * kShownInReport,
                     count, names);
}

}  // namespace

Json ToJson(const WhatIf& what_if) {
  Json parameters = Json::array(), pairs = Json::array(), left_out = Json::array();
  for (const Answer& answer : what_if.answers) {
    parameters.push_back({{"key", answer.parameter.key},
                          {"value", answer.parameter.value},
                          {"unit", answer.parameter.unit},
                          {"source", answer.parameter.source},
                          {"direction", Name(answer.parameter.direction)},
                          {"faster", ChangeJson(what_if, answer.parameter, answer.faster)},
                          {"slower", ChangeJson(what_if, answer.parameter, answer.slower)}});
  }
  for (const PairAnswer& pair : what_if.pairs) {
    Json keys = Json::array(), values = Json::array();
    for (const size_t i : {pair.first, pair.second}) {
      keys.push_back(what_if.answers[i].parameter.key);
      values.push_back(BetterOf(what_if, what_if.answers[i])->value);
    }
    Json json = {{"keys", std::move(keys)}, {"values", std::move(values)}};
    if (pair.result.ended()) {
      json["change"] = ChangeOf(what_if, pair.result);
      json["expected_change"] = ExpectedOf(what_if, pair);
    }
    Json result = ToJson(pair.result);
    result.erase("wall_s");
    json.update(result);
    pairs.push_back(std::move(json));
  }
  for (const LeftOut& one : what_if.left_out)
    left_out.push_back({{"key", one.key}, {"reason", one.reason}});
  Json base = ToJson(what_if.base);
  base.erase("wall_s");
  return {{"config", what_if.config},
          {"factor", what_if.factor},
          {"figure", what_if.figure.name},
          {"base", std::move(base)},
          {"parameters", std::move(parameters)},
          {"pairs", std::move(pairs)},
          {"left_out", std::move(left_out)}};
}

std::string ToText(const WhatIf& what_if, size_t width) {
  std::string text =
      fmt::format("{}: {}{}\n\n", what_if.config, FigureOf(what_if, what_if.base),
                  IsOfWindow(what_if) ? std::string(" from first to last launch operation")
                                      : fmt::format(", {}", what_if.figure.description));
  text += SinglesText(what_if, width);
  const bool has_threshold = AnyFits(what_if.answers, [&](const Answer& answer) {
    return answer.parameter.direction == Direction::kEither && HasEffect(what_if, answer);
  });
  if (has_threshold) text += "  * a threshold: \"faster\" is larger\n";
  text += PairsText(what_if, width) + Wrap(RefusedText(what_if), width);
  text += Wrap(NoEffectText(what_if), width);
  if (!what_if.left_out.empty())
    text +=
        fmt::format("\n{} parameters are not asked; --json says why\n", what_if.left_out.size());
  return text;
}

}  // namespace spyre::cosim
