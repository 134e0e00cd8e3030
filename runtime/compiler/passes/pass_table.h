// SPDX-License-Identifier: Apache-2.0
// The JSON adaptors of the passes, one for each entry of the table in passes.cc. Only that table
// and the adaptors' own files include this.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>

namespace spyre::compiler {

inline constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();  // of what a case may name

nlohmann::ordered_json PassWorkDivision(const nlohmann::json& input);
nlohmann::ordered_json PassCoreSplit(const nlohmann::json& input);
nlohmann::ordered_json PassMultiDimSplit(const nlohmann::json& input);
nlohmann::ordered_json PassSplitEncoding(const nlohmann::json& input);
nlohmann::ordered_json PassDeviceLayout(const nlohmann::json& input);
nlohmann::ordered_json PassDeviceCoordinates(const nlohmann::json& input);
nlohmann::ordered_json PassCoreToSlice(const nlohmann::json& input);
nlohmann::ordered_json PassLxSolve(const nlohmann::json& input);
nlohmann::ordered_json PassLxPlan(const nlohmann::json& input);
nlohmann::ordered_json PassCoarseTile(const nlohmann::json& input);
nlohmann::ordered_json PassTilingPropagation(const nlohmann::json& input);
nlohmann::ordered_json PassGroupLoops(const nlohmann::json& input);
nlohmann::ordered_json PassUnroll(const nlohmann::json& input);
nlohmann::ordered_json PassBundle(const nlohmann::json& input);

}  // namespace spyre::compiler
