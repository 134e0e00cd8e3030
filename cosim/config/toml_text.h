// SPDX-License-Identifier: Apache-2.0
// TOML of unknown origin as a table. Pure functions, any thread.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace spyre::cosim {

// Throws BadInput if arrays, inline tables and dotted keys are nested deeper than anything of ours:
// the parser bounds the first two only, and what it makes of the third is destroyed by recursion.
void CheckTomlDepth(std::string_view text, const std::string& name);

// Checks and parses; `name` is what messages call the text. Throws BadInput with line and column.
toml::table ParseToml(const std::string& text, const std::string& name);

}  // namespace spyre::cosim
