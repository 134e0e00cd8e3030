// SPDX-License-Identifier: Apache-2.0
// One --set argument as TOML. Pure function, any thread.
#pragma once

#include <toml++/toml.h>

#include <string>

namespace spyre::cosim {

// The value of "key=value" as TOML; what is not TOML is a bare string. a.b=1 is {a = {b = 1}}.
// Errors: Error(kBadInput) for a text without a key.
toml::table ParseOverride(const std::string& override_text);

}  // namespace spyre::cosim
