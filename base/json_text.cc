// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <nlohmann/json.hpp>

namespace spyre {

std::string DumpJson(const nlohmann::ordered_json& value, int indent) { return value.dump(indent); }
std::string DumpJson(const nlohmann::json& value, int indent) { return value.dump(indent); }

std::string PrintableJson(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
std::string PrintableJson(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::ordered_json JsonOf(std::string_view text) { return nlohmann::ordered_json::parse(text); }
nlohmann::json SortedJsonOf(std::string_view text) { return nlohmann::json::parse(text); }
nlohmann::ordered_json JsonIfAny(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}
nlohmann::json SortedJsonIfAny(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace spyre
