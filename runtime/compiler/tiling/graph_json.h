// SPDX-License-Identifier: Apache-2.0
// Graphs as JSON, in the form that the tiling passes of `spyre-cosim opt` read and write. Pure
// functions, any thread. Throw BadInput naming the key, what was there and what would be right.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

// A list of objects: name, ranges, reduction_ranges?, kind?, dtype?, dim_order?, reads?,
// loop_group_id?, loop_count?, loop_tiled_dims?, dim_hints?. Kinds are "pointwise" and "reduction";
// with another, without ranges, or with `computed` false an operation is not computed; without a
// kind, reduction_ranges decide. dtype: float16; dim_order: as they come. Names are unique; at most
// 4096 operations of 64 reads.
std::vector<GraphOp> GraphOpsFromJson(const JsonReader& value);

// {"size", "stride", "device_size"?, "stride_map"?, "per_tile_fixed"?}; without device_size it has
// no place in device memory. `device_format` is not in it.
BufferLayout BufferLayoutFromJson(const JsonReader& value, DataFormat device_format);
nlohmann::ordered_json ToJson(const BufferLayout& layout);

// A number, or text with symbols.
Extent ExtentFromJson(const JsonReader& value);
std::vector<Extent> ExtentsFromJson(const JsonReader& value);
nlohmann::ordered_json ToJson(const Extent& extent);
nlohmann::ordered_json ToJson(const std::vector<Extent>& extents);

// The list of a key, or nothing if it is missing or null.
std::optional<JsonReader> Given(const JsonReader& object, const char* key);
bool Flag(const JsonReader& object, const char* key, bool otherwise);
std::vector<int> IntsFromJson(const JsonReader& value);

}  // namespace spyre::compiler
