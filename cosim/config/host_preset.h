// SPDX-License-Identifier: Apache-2.0
// host.preset: the front end around a launch, as it is measured (docs/host.md). Pure functions, any
// thread.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "cosim/config/config.h"

namespace spyre::cosim {

const std::vector<std::string>& HostPresetNames();

// What a document, or a --set, says of host.preset, before anything else of it is read. name: of
// the document. Throws Error(kBadInput) if there is no such preset.
void FindHostPreset(HostConfig& host, const toml::table& document, const std::string& name);

// Sets the stages to those of the preset.
void ApplyHostPreset(HostConfig& host);

}  // namespace spyre::cosim
