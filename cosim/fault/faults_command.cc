// SPDX-License-Identifier: Apache-2.0
#include "cosim/fault/faults_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/joined.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "model/fault/fault_kind.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;
using model::FaultKindInfo;

std::vector<std::string> KeysOf(const FaultKindInfo& info) {
  std::vector<std::string> keys;
  for (const std::string& key : info.where) keys.push_back("where." + key);
  keys.emplace_back("when.time_us");
  if (!info.is_moment()) {
    keys.emplace_back("when.count");
    keys.emplace_back("when.probability");
  }
  if (info.has_seed()) keys.emplace_back("when.seed");
  if (!info.is_moment()) keys.emplace_back("times");
  if (info.by_address) keys.emplace_back("when.address");
  if (info.lasts != nullptr) keys.emplace_back("lasts_us");
  if (info.slows()) keys.emplace_back("percent");
  return keys;
}

std::string Text(const FaultKindInfo& info) {
  std::string text = fmt::format(
      "{}\n  {}.\n  comes to: {}\n  who sees it: {}\n  what the work ends in: {}\n  recovery: {}\n"
      "  keys: {}\n",
      info.name, info.effect, model::Name(info.outcome), info.seen_by, info.ends, info.recovery,
      Joined(KeysOf(info), ", "));
  if (info.lasts != nullptr)
    text += fmt::format("  lasts_us: {}; default {}\n", info.lasts, info.lasts_us);
  return text;
}

Json ToJson(const FaultKindInfo& info) {
  Json json = {
      {"kind", info.name},       {"effect", info.effect}, {"outcome", model::Name(info.outcome)},
      {"seen_by", info.seen_by}, {"ends", info.ends},     {"recovery", info.recovery},
      {"keys", KeysOf(info)}};
  if (info.lasts != nullptr)
    json["lasts_us"] = {{"meaning", info.lasts}, {"default", info.lasts_us}};
  return json;
}

std::string TestOf(const FaultKindInfo& info) {
  if (info.kind == model::FaultKind::kRtlBitFlip) return "`RtlBitFlip`";
  return fmt::format("`EveryFault.EndsAsTheTableSays/{}`", info.name);
}

}  // namespace

std::string FaultTable() {
  std::string text =
      "| fault | what happens | comes to | who sees it | what the work ends in | recovery | test "
      "|\n"
      "|---|---|---|---|---|---|---|\n";
  for (const FaultKindInfo& info : model::FaultKinds()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", info.name, info.effect,
                        model::Name(info.outcome), info.seen_by, info.ends, info.recovery,
                        TestOf(info));
  }
  return text;
}

void AddFaultsCommand(command_line::Command& root) {
  command_line::Command& command =
      root.AddCommand("faults", "Kinds of fault for [[fault]] (docs/faults.md)");
  const auto kind = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  command.Add("KIND", *kind, "only this one");
  command.Add("--json", *json, "as a list of objects");
  const auto table = std::make_shared<bool>(false);
  command.Add("--table", *table, "the table of docs/faults.md, in Markdown");
  command.Action([kind, json, table] {
    if (*table) {
      std::cout << FaultTable();
      return 0;
    }
    const std::vector<std::string> names = model::FaultKindNames();
    if (!kind->empty() && std::find(names.begin(), names.end(), *kind) == names.end()) {
      throw BadInput("faults: there is no kind '{}'{}", *kind, DidYouMean(*kind, names))
          .Subject("KIND")
          .Value(*kind);
    }
    Json all = Json::array();
    for (const FaultKindInfo& info : model::FaultKinds()) {
      if (!kind->empty() && *kind != info.name) continue;
      if (*json) {
        all.push_back(ToJson(info));
      } else {
        std::cout << Text(info);
      }
    }
    if (*json) std::cout << DumpJson(all, 2) << "\n";
    return 0;
  });
}

}  // namespace spyre::cosim
