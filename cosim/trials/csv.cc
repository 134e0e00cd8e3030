// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/csv.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace spyre::cosim {

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

std::string CsvCell(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  return CsvCell(value.is_string() ? value.get<std::string>() : DumpJson(value));
}

}  // namespace spyre::cosim
