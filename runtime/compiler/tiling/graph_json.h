// Graphs as JSON, in the form that the tiling passes of `spyre-cosim opt` read and write. Pure
// functions, any thread. Throw BadInput naming the key, what was there and what would be right.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/compiler/graph.h"
#include "runtime/json/json_reader.h"

namespace spyre::compiler {

// A list of objects: name, ranges, reduction_ranges?, kind?, dtype?, dim_order?, reads?,
// loop_group_id?, loop_count?, loop_tiled_dims?, dim_hints?. Kinds are "pointwise" and "reduction";
// with another, without ranges, or with `computed` false an operation is not computed; without a
// kind, reduction_ranges decide. dtype: float16; dim_order: as they come. Names are unique; at most
// 4096 operations of 64 reads.
std::vector<GraphOp> GraphOpsFromJson(const runtime::JsonReader& value);

// {"size", "stride", "device_size"?, "stride_map"?, "per_tile_fixed"?}; without device_size it has
// no place in device memory. `device_format` is not in it.
BufferLayout BufferLayoutFromJson(const runtime::JsonReader& value, DataFormat device_format);
nlohmann::ordered_json ToJson(const BufferLayout& layout);

// A number, or text with symbols.
Extent ExtentFromJson(const runtime::JsonReader& value);
std::vector<Extent> ExtentsFromJson(const runtime::JsonReader& value);
nlohmann::ordered_json ToJson(const Extent& extent);
nlohmann::ordered_json ToJson(const std::vector<Extent>& extents);

// The list of a key, or nothing if it is missing or null.
std::optional<runtime::JsonReader> Given(const runtime::JsonReader& object, const char* key);
bool Flag(const runtime::JsonReader& object, const char* key, bool otherwise);
std::vector<int> IntsFromJson(const runtime::JsonReader& value);

}  // namespace spyre::compiler
