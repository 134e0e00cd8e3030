// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/plan_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/tune/history.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void MakeAbsolute(std::string& path) {
  if (!path.empty() && path != kBuiltInPreset)
    path = fs::absolute(path).lexically_normal().string();
}

// The files that entries of a table name.
void MakeFilesAbsolute(std::string& json) {
  if (json.empty()) return;
  Json tables = JsonOf(json);
  const auto of_table = [](Json& table) {
    const auto file = table.is_object() ? table.find("file") : table.end();
    if (file == table.end() || !file->is_string()) return;
    auto path = file->get<std::string>();
    MakeAbsolute(path);
    *file = path;
  };
  if (tables.is_array()) {
    for (Json& table : tables) of_table(table);
  } else {
    of_table(tables);
  }
  json = DumpJson(tables);
}

void MakePathsAbsolute(RunConfig& config) {
  for (const Field& field : Fields(config)) {
    if (auto* const tables = std::get_if<TableList*>(&field.value)) {
      MakeFilesAbsolute((*tables)->json);
    } else if (auto* const either = std::get_if<FileOrTable*>(&field.value)) {
      MakeFilesAbsolute((*either)->json);
    } else if (field.is_path) {
      if (auto* const path = std::get_if<std::string*>(&field.value)) {
        MakeAbsolute(**path);
      } else if (auto* const list = std::get_if<std::vector<std::string>*>(&field.value)) {
        for (std::string& one : **list) MakeAbsolute(one);
      }
    }
  }
}

}  // namespace

std::string PlanFile(const RunConfig& config, const TuneResult& result) {
  RunConfig absolute = config;
  MakePathsAbsolute(absolute);
  RunConfig usual = LoadConfig("", {"card.preset=" + TomlString(absolute.preset)});
  const Plan& plan = result.best_trial().plan;
  std::string text = fmt::format(
      "# The best plan that `spyre-cosim tune {0}` found: {1} {2}, and {3} as given.\n"
      "# The marked keys are the plan; the others are those of {0}.\n",
      result.config, NumberFigures()[result.objective].name,
      FigureText(result, result.best_trial()), FigureText(result, result.given()));
  std::string table;
  const std::vector<Field> fields = Fields(absolute), defaults = Fields(usual);
  for (const bool is_top : {true, false}) {  // keys of no table come before all tables
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string& key = fields[i].key;
      const size_t dot = key.find('.');
      if ((dot == std::string::npos) != is_top) continue;
      const std::string value = fields[i].ValueText();
      if (value == defaults[i].ValueText() && config.given.count(key) == 0) continue;
      if (!is_top && key.substr(0, dot) != table) {
        table = key.substr(0, dot);
        text += fmt::format("\n[{}]\n", table);
      }
      text += fmt::format("{} = {}{}\n", is_top ? key : key.substr(dot + 1), value,
                          plan.keys.count(key) != 0 ? "  # plan" : "");
    }
  }
  return text;
}

}  // namespace spyre::cosim
