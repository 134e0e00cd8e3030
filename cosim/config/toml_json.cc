// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/toml_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "cosim/config/field.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

Json TableJson(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
  const auto place = [](const toml::key* key) {
    const toml::source_position at = key->source().begin;
    return std::make_tuple(at.line, at.column);
  };
  StableSort(entries,
             [&](const auto& a, const auto& b) { return place(a.first) < place(b.first); });
  Json json = Json::object();
  for (const auto& [key, node] : entries) json[std::string(key->str())] = JsonOfToml(*node);
  return json;
}

std::string KeyText(const std::string& key) {
  const bool bare = !key.empty() && AllFit(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare ? key : TomlString(key);
}

std::string NumberText(double value) {
  std::string text = fmt::format("{}", value);
  // TOML wants a float to look like one.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

Json JsonOfToml(const toml::node& node) {
  if (const toml::table* table = node.as_table()) return TableJson(*table);
  if (const toml::array* array = node.as_array()) {
    Json json = Json::array();
    for (const toml::node& item : *array) json.push_back(JsonOfToml(item));
    return json;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  throw BadInput("line {}, column {}: a date or time has no meaning here", node.source().begin.line,
                 node.source().begin.column);
}

std::string TomlOfJson(const Json& value) {
  std::string text;
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      text += text.empty() ? " " : ", ";
      text += KeyText(key) + " = " + TomlOfJson(item);
    }
    return text.empty() ? "{}" : "{" + text + " }";
  }
  if (value.is_array()) {
    const bool tables = !value.empty() && value[0].is_object();
    for (const Json& item : value) {
      if (!text.empty()) text += tables ? "," : ", ";
      if (tables) text += "\n  ";
      text += TomlOfJson(item);
    }
    return tables ? "[" + text + "\n]" : "[" + text + "]";
  }
  if (value.is_string()) return TomlString(value.get<std::string>());
  if (value.is_number_float()) return NumberText(value.get<double>());
  return DumpJson(value);
}

}  // namespace spyre::cosim
