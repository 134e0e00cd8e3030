// SPDX-License-Identifier: Apache-2.0
// TOML values as JSON and back. Keys keep the order of the file, which TOML tables do not promise
// but the slices of a hint need. Pure functions, any thread.
#pragma once

#include <toml++/toml.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spyre::cosim {

// Throws BadInput for dates and times. ParseToml has bounded the depth.
nlohmann::ordered_json JsonOfToml(const toml::node& node);

// Inline: `{ name = "a", dims = ["A", 64] }`. A list of tables has one to a line.
std::string TomlOfJson(const nlohmann::ordered_json& value);

}  // namespace spyre::cosim
