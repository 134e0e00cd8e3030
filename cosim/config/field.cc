// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/field.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/config/toml_json.h"

namespace spyre::cosim {
namespace {

template <class ToText>
std::string Join(const std::vector<std::string>& items, ToText to_text) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + to_text(item);
  return text;
}

}  // namespace

bool IsFormerKey(std::string_view key) {
  constexpr std::string_view kCard = "card.";
  if (key.substr(0, kCard.size()) == kCard) key.remove_prefix(kCard.size());
  // What a softmax takes follows from its passes.
  return key == "core.vector_loop_softmax_centicycles" || key == "fast.tile_pass_ns" ||
         key == "fast.softmax_overlap_permille";
}

std::string TomlString(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string Field::AllowedText() const {
  if (std::holds_alternative<uint64_t*>(value)) return fmt::format("{} .. {}", min, max);
  if (std::holds_alternative<double*>(value)) return "0 .. 1";
  if (std::holds_alternative<bool*>(value)) return "true, false";
  if (std::holds_alternative<NumberTable*>(value)) {
    return fmt::format("NAME = {} .. {}", min, max);
  }
  if (std::holds_alternative<TableList*>(value)) return "tables";
  if (std::holds_alternative<FileOrTable*>(value)) return "a path or a table";
  const bool is_list = std::holds_alternative<std::vector<std::string>*>(value);
  if (choices.empty())
    return is_list ? (is_path ? "paths" : "texts") : (is_path ? "a path" : "text");
  return Join(choices, [](const std::string& choice) { return choice; });
}

std::string Field::ValueText() const {
  struct {
    const std::vector<std::string>& choices;
    std::string operator()(const uint64_t* number) const { return fmt::format("{}", *number); }
    std::string operator()(const double* number) const { return fmt::format("{}", *number); }
    std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
    std::string operator()(const std::string* text) const { return TomlString(*text); }
    std::string operator()(const ChoiceRef& choice) const {
      return TomlString(choices[choice.index()]);
    }
    std::string operator()(const std::vector<std::string>* list) const {
      return "[" + Join(*list, TomlString) + "]";
    }
    std::string operator()(const NumberTable* table) const {
      std::string text;
      for (const auto& [name, number] : *table)
        text += fmt::format("{} {} = {}", text.empty() ? "" : ",", TomlString(name), number);
      return text.empty() ? "{}" : "{" + text + " }";
    }
    std::string operator()(const TableList* tables) const {
      return tables->json.empty() ? "[]" : TomlOfJson(JsonOf(tables->json));
    }
    std::string operator()(const FileOrTable* table) const {
      return table->json.empty() ? "{}" : TomlOfJson(JsonOf(table->json));
    }
  } to_text{choices};
  return std::visit(to_text, value);
}

Field& FieldCollector::Add(const char* key, Field::Value value, const char* description,
                           const char* source) {
  Field& field = fields_.emplace_back();
  const std::string_view name = key;
  field.key.reserve(prefix_.size() + 1 + name.size());
  field.key = prefix_;
  if (!prefix_.empty()) field.key += '.';
  field.key += name;
  field.value = value;
  field.meaning = description;
  field.source = source;
  return field;
}

void FieldCollector::Number(const char* key, uint64_t& value, uint64_t min, uint64_t max,
                            const char* unit, const char* description, const char* source,
                            const char* description_end) {
  Field& field = Add(key, &value, description, source);
  field.meaning_end = description_end;
  field.min = min;
  field.max = max;
  field.unit = unit;
}

void FieldCollector::Choice(const char* key, std::string& value,
                            const std::vector<std::string>& allowed, const char* description,
                            const char* source) {
  Add(key, &value, description, source).choices = allowed;
}

void FieldCollector::Flag(const char* key, bool& value, const char* description,
                          const char* source) {
  Add(key, &value, description, source);
}

void FieldCollector::Fraction(const char* key, double& value, const char* description) {
  Add(key, &value, description, "choice");
}

void FieldCollector::Text(const char* key, std::string& value, const char* description) {
  Add(key, &value, description, "choice");
}

void FieldCollector::Path(const char* key, std::string& value, const char* description) {
  Add(key, &value, description, "choice").is_path = true;
}

void FieldCollector::List(const char* key, std::vector<std::string>& value,
                          const std::vector<std::string>& allowed, const char* description) {
  Add(key, &value, description, "choice").choices = allowed;
}

void FieldCollector::PathList(const char* key, std::vector<std::string>& value,
                              const char* description) {
  Add(key, &value, description, "choice").is_path = true;
}

void FieldCollector::Table(const char* key, NumberTable& value, uint64_t min, uint64_t max,
                           const char* description) {
  Field& field = Add(key, &value, description, "choice");
  field.min = min;
  field.max = max;
}

void FieldCollector::Tables(const char* key, TableList& value, const char* description,
                            const char* path_key) {
  Add(key, &value, description, "choice").path_key = path_key;
}

void FieldCollector::FileOrTableOf(const char* key, FileOrTable& value, const char* description) {
  Add(key, &value, description, "choice");
}

void FieldCollector::Parameters(const std::vector<model::Parameter>& parameters) {
  SetPrefix("");
  for (const model::Parameter& parameter : parameters) {
    const auto value = std::visit([](auto at) { return Field::Value(at); }, parameter.value);
    Field& field = Add(parameter.key, value, parameter.meaning, parameter.source);
    field.unit = parameter.unit;
    field.min = parameter.least;
    field.max = parameter.most;
    field.choices.assign(parameter.choices.begin(), parameter.choices.end());
    field.is_path = parameter.is_path;
  }
}

}  // namespace spyre::cosim
