// SPDX-License-Identifier: Apache-2.0
// Cells of a table as comma-separated values (RFC 4180). Pure functions, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spyre::cosim {

// Quoted where a reader would split it otherwise.
std::string CsvCell(const std::string& text);
// A text as it is, null as nothing, everything else as JSON.
std::string CsvCell(const nlohmann::ordered_json& value);

}  // namespace spyre::cosim
