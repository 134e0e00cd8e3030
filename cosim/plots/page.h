// SPDX-License-Identifier: Apache-2.0
// A page with plots that stands alone: one file, no network. Pure function, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spyre::cosim {

// script: one of assets.h, which has draw(page, data).
std::string PlotPage(const std::string& title, const char* script,
                     const nlohmann::ordered_json& data);

}  // namespace spyre::cosim
