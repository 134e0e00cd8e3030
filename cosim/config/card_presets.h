// SPDX-License-Identifier: Apache-2.0
// The card presets that are compiled into the program, from configs/cards/.
#pragma once

#include <string>

namespace spyre::cosim {

// TOML text of the preset, or nullptr. The one preset is "spyre".
const char* FindCardPreset(const std::string& name);

}  // namespace spyre::cosim
