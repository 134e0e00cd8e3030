// SPDX-License-Identifier: Apache-2.0
// The effective configuration as TOML and JSON, and the reference of all keys.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/config/effect.h"
#include "cosim/config/fault_tables.h"
#include "cosim/config/toml_json.h"

namespace spyre::cosim {
namespace {

// Whether a list of tables stands at the top of the file.
bool IsTop(const std::string& key) { return key.find('.') == std::string::npos; }
std::string TopTables(const Field& field) {
  const std::string& json = std::get<TableList*>(field.value)->json;
  std::string text;
  if (json.empty()) return text;
  for (const auto& table : JsonOf(json)) {
    text += fmt::format("\n[[{}]]\n", field.key);
    for (const auto& [key, value] : table.items())
      text += fmt::format("{} = {}\n", key, TomlOfJson(value));
  }
  return text;
}

std::string TableOf(const std::string& key) { return key.substr(0, key.rfind('.')); }
std::string NameOf(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// Tables are JSON inside JSON, choices are their names, everything else is a value.
struct ToJsonValue {
  const Field& field;

  template <class Value>
  nlohmann::ordered_json operator()(const Value* value) const {
    return *value;
  }
  nlohmann::ordered_json operator()(const ChoiceRef& choice) const {
    return field.choices[choice.index()];
  }
  nlohmann::ordered_json operator()(const TableList* tables) const {
    return tables->json.empty() ? nlohmann::ordered_json::array() : JsonOf(tables->json);
  }
  nlohmann::ordered_json operator()(const FileOrTable* table) const {
    return table->json.empty() ? nlohmann::ordered_json::object() : JsonOf(table->json);
  }
};

// Fields() takes a reference because readers write through it; a copy keeps the caller's constant.
template <class Visit>
void ForEachField(RunConfig config, Visit visit) {
  for (const Field& field : Fields(config)) visit(field);
}

}  // namespace

std::string ToToml(const RunConfig& config) {
  std::string text;
  std::string table;
  RunConfig usual;
  const std::vector<Field> defaults = Fields(usual);
  size_t i = 0;
  ForEachField(config, [&](const Field& field) {
    const std::string value = field.ValueText();
    const std::string usual_value = defaults[i++].ValueText();
    if (IsTop(field.key)) {
      text += TopTables(field);
      return;
    }
    const bool is_idle = value == usual_value && !HasEffect(config, field.key);
    if (TableOf(field.key) != table) {
      table = TableOf(field.key);
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", table);
    }
    text += fmt::format("{}{} = {}{}{}\n", is_idle ? "# " : "", NameOf(field.key), value,
                        field.unit.empty() ? "" : "  # ", field.unit);
  });
  return text;
}

std::string ToJson(const RunConfig& config) {
  nlohmann::ordered_json root;
  ForEachField(config, [&](const Field& field) {
    if (IsTop(field.key) && std::get<TableList*>(field.value)->json.empty()) return;
    nlohmann::ordered_json* node = &root;
    size_t begin = 0;
    for (size_t dot = field.key.find('.'); dot != std::string::npos;
         dot = field.key.find('.', begin)) {
      node = &(*node)[field.key.substr(begin, dot - begin)];
      begin = dot + 1;
    }
    (*node)[field.key.substr(begin)] = std::visit(ToJsonValue{field}, field.value);
  });
  return DumpJson(root, 2);
}

std::string ConfigReference() {
  std::string text =
      "# Configuration reference\n\n"
      "Every key of a run's TOML file and of `--set key.path=value`, printed by\n"
      "`spyre-cosim check --reference`. Weakest first: the defaults below, the card preset, the\n"
      "file, `--set` in the order given. Unknown keys are errors, and so are keys of a workload or "
      "of\n"
      "waves that have no effect on what runs. Relative paths in a file are relative to that file, "
      "in\n"
      "`--set` to the working directory.\n\n"
      "When the work division is not forced by `workload.split`, the compiler uses at most\n"
      "`workload.cores` cores; without that key `card.cores`, and at most `SENCORES` (1 .. 32) of\n"
      "them if that environment variable is set.\n\n"
      "Source: *public* a documented or measured fact; *derived* arithmetic on public facts; "
      "*JEDEC*\n"
      "the LPDDR5 standard; *fit* to the public calibration, the meaning says to which points;\n"
      "*assumed* not public, the meaning says why this value; *choice* the user's to choose.\n";
  std::string table;
  ForEachField(RunConfig(), [&](const Field& field) {
    if (field.key == "fault") return;  // whose keys follow
    if (TableOf(field.key) != table) {
      table = TableOf(field.key);
      text += fmt::format(
          "\n## {}\n\n| Key | Default | Unit | Allowed | Source | Meaning |\n"
          "|---|---|---|---|---|---|\n",
          IsTop(field.key) ? "[[" + table + "]]" : "[" + table + "]");
    }
    text += fmt::format("| `{}` | `{}` | {} | {} | {} | {} |\n", field.key, field.ValueText(),
                        field.unit, field.AllowedText(), field.source, field.Description());
  });
  return text + FaultReference();
}

}  // namespace spyre::cosim
