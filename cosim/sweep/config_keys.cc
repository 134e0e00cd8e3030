// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/config_keys.h"

#include <algorithm>

#include "base/error.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/config/toml_json.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

bool IsBelow(const std::string& key, const std::string& table) {
  return key.size() > table.size() && key[table.size()] == '.' &&
         key.compare(0, table.size(), table) == 0;
}

bool HasFreeNames(const Field& field) {
  return std::holds_alternative<NumberTable*>(field.value) ||
         std::holds_alternative<FileOrTable*>(field.value);
}

bool IsWholeFrom(const Json& value, uint64_t min, uint64_t max) {
  if (!value.is_number_integer()) return false;
  if (!value.is_number_unsigned() && value.get<int64_t>() < 0) return false;
  const auto number = value.get<uint64_t>();
  return number >= min && number <= max;
}

bool IsAllowedText(const Json& value, const std::vector<std::string>& choices) {
  return value.is_string() &&
         (choices.empty() ||
          std::find(choices.begin(), choices.end(), value.get<std::string>()) != choices.end());
}

bool IsAllowed(const Field& field, const Json& value) {
  if (std::holds_alternative<uint64_t*>(field.value) ||
      std::holds_alternative<NumberTable*>(field.value))
    return IsWholeFrom(value, field.min, field.max);
  if (std::holds_alternative<double*>(field.value))
    return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
  if (std::holds_alternative<bool*>(field.value)) return value.is_boolean();
  if (std::holds_alternative<std::string*>(field.value) ||
      std::holds_alternative<ChoiceRef>(field.value))
    return IsAllowedText(value, field.choices);
  if (std::holds_alternative<std::vector<std::string>*>(field.value)) {
    return value.is_array() &&
           AllFit(value, [&](const Json& item) { return IsAllowedText(item, field.choices); });
  }
  return true;  // tables of free form: their readers check them
}

}  // namespace

const Field* ConfigKeys::Find(const std::string& key) const {
  const auto found = FindIf(fields_, [&](const Field& field) {
    return field.key == key || (HasFreeNames(field) && IsBelow(key, field.key));
  });
  return found == fields_.end() ? nullptr : &*found;
}

bool ConfigKeys::IsTable(const std::string& key) const {
  return AnyFits(fields_, [&](const Field& field) { return IsBelow(field.key, key); });
}

void ConfigKeys::RefuseKey(const std::string& place, const std::string& key) const {
  std::vector<std::string> candidates;
  for (const Field& field : fields_) candidates.push_back(field.key);
  throw BadInput("{}: unknown key '{}'{} (docs/configuration.md lists the keys)", place, key,
                 DidYouMean(key, candidates))
      .Subject(key)
      .Remedy(Nearest(key, candidates));
}

void ConfigKeys::CheckValue(const std::string& place, const std::string& key,
                            const Json& value) const {
  const Field* const field = Find(key);
  if (field == nullptr) RefuseKey(place, key);
  const bool is_whole_table = field->key == key && HasFreeNames(*field);
  const bool is_plan = std::holds_alternative<FileOrTable*>(field->value);
  if (is_whole_table || is_plan || IsAllowed(*field, value)) return;
  throw BadInput("{}: {} = {} is not allowed (allowed: {}{}{})", place, key, TomlOfJson(value),
                 field->AllowedText(), field->unit.empty() ? "" : " ", field->unit)
      .Subject(key)
      .Value(TomlOfJson(value))
      .Remedy(field->AllowedText());
}

Json ValueOf(const RunConfig& config, const std::string& key) {
  const Json all = JsonOf(ToJson(config));
  const Json* node = &all;
  for (size_t begin = 0; begin <= key.size();) {
    const size_t dot = std::min(key.find('.', begin), key.size());
    if (!node->is_object()) return nullptr;
    const auto found = node->find(key.substr(begin, dot - begin));
    if (found == node->end()) return nullptr;
    node = &*found;
    begin = dot + 1;
  }
  return *node;
}

}  // namespace spyre::cosim
