// SPDX-License-Identifier: Apache-2.0
// JSON values as text, and texts of our own making as values. The printer and the parser of the
// library are templates that take half a second to compile in every file that uses them; they are
// compiled once, behind these functions. Text of unknown origin: base/json_reader.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace spyre {

// On one line, or with `indent` spaces for each level. Throws nlohmann::json::type_error if a text
// is not UTF-8.
std::string DumpJson(const nlohmann::ordered_json& value, int indent = -1);
std::string DumpJson(const nlohmann::json& value, int indent = -1);
// On one line; what is not UTF-8 is replaced, so it never throws.
std::string PrintableJson(const nlohmann::ordered_json& value);
std::string PrintableJson(const nlohmann::json& value);

// Throws nlohmann::json::parse_error.
nlohmann::ordered_json JsonOf(std::string_view text);
// The same with keys in alphabetic order.
nlohmann::json SortedJsonOf(std::string_view text);
// The value is_discarded() if the text is not JSON.
nlohmann::ordered_json JsonIfAny(std::string_view text);
nlohmann::json SortedJsonIfAny(std::string_view text);

}  // namespace spyre
