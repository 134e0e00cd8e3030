// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/graph_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace spyre::compiler {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr size_t kMostOps = 4096;
constexpr size_t kMostReads = 64;

GraphOp::Kind KindOf(const JsonReader& value, const GraphOp& op) {
  if (const auto kind = Given(value, "kind")) {
    const std::string name = kind->String();
    if (name == "pointwise") return GraphOp::Kind::kPointwise;
    return name == "reduction" ? GraphOp::Kind::kReduction : GraphOp::Kind::kExtern;
  }
  if (!Given(value, "ranges") || Flag(value, "extern", false) || !Flag(value, "computed", true)) {
    return GraphOp::Kind::kExtern;
  }
  return op.reduction_ranges.empty() ? GraphOp::Kind::kPointwise : GraphOp::Kind::kReduction;
}

BufferLayout DefaultBufferLayout(const JsonReader& value, const GraphOp& op) {
  BufferLayout layout;
  layout.size = op.ranges;
  layout.stride = ContiguousExtents(op.ranges);
  layout.kind = BufferLayout::Kind::kPlain;
  if (!AllNumbers(op.ranges)) return layout;
  layout = MakeBufferLayout(Numbers(op.ranges), DeviceFormatOf(op.host_format));
  if (const auto order = Given(value, "dim_order")) {
    layout.device = MakeLayout(Numbers(layout.size), Numbers(layout.stride), layout.device.format,
                               IntsFromJson(*order));
  }
  return layout;
}

std::optional<LoopStamp> StampFromJson(const JsonReader& value) {
  const auto id = Given(value, "loop_group_id");
  if (!id) return std::nullopt;
  LoopStamp stamp;
  stamp.group_id = IntsFromJson(*id);
  stamp.count = ExtentsFromJson(value.At("loop_count"));
  if (const auto dims = Given(value, "loop_tiled_dims")) {
    for (size_t i = 0; i < dims->Size(); ++i) {
      stamp.tiled_dims.push_back(IntsFromJson(dims->At(i)));
    }
    if (stamp.tiled_dims.size() > stamp.count.size()) {
      dims->Fail(fmt::format("at most {} levels, as loop_count has", stamp.count.size()));
    }
  }
  return stamp;
}

DimHint HintFromJson(const JsonReader& value) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  DimHint hint;
  hint.hint_id = static_cast<int>(value.At("hint_id").Integer(-kMost, kMost));
  if (const auto count = Given(value, "split_count")) hint.count = count->Integer(1, kLargest);
  if (const auto index = Given(value, "dim_index")) {
    hint.dim_index = static_cast<int>(index->Integer(-kMost, kMost));
  }
  hint.is_reduction = Flag(value, "is_reduction", false);
  return hint;
}

GraphOp GraphOpFromJson(const JsonReader& value) {
  GraphOp op;
  op.name = value.At("name").String();
  if (const auto ranges = Given(value, "ranges")) op.ranges = ExtentsFromJson(*ranges);
  if (const auto ranges = Given(value, "reduction_ranges")) {
    op.reduction_ranges = ExtentsFromJson(*ranges);
  }
  op.kind = KindOf(value, op);
  if (const auto dtype = Given(value, "dtype")) op.host_format = FormatFromName(dtype->String());
  if (const auto reads = Given(value, "reads")) {
    if (reads->Size() > kMostReads) {
      reads->Fail(fmt::format("at most {} reads are expected", kMostReads));
    }
    for (const std::string& name : reads->Strings()) op.reads.push_back({name, {}, {}});
  }
  if (const auto hints = Given(value, "dim_hints")) {
    for (size_t i = 0; i < hints->Size(); ++i) op.dim_hints.push_back(HintFromJson(hints->At(i)));
  }
  op.loop = StampFromJson(value);
  op.layout = DefaultBufferLayout(value, op);
  return op;
}

}  // namespace

std::optional<JsonReader> Given(const JsonReader& object, const char* key) {
  if (!object.Has(key)) return std::nullopt;
  JsonReader value = object.At(key);
  if (value.value().is_null()) return std::nullopt;
  return value;
}

bool Flag(const JsonReader& object, const char* key, bool otherwise) {
  const auto value = Given(object, key);
  if (!value) return otherwise;
  if (!value->value().is_boolean()) value->Fail("true or false is expected");
  return value->value().get<bool>();
}

std::vector<int> IntsFromJson(const JsonReader& value) {
  const std::vector<int64_t> numbers =
      value.Integers(std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  return {numbers.begin(), numbers.end()};
}

Extent ExtentFromJson(const JsonReader& value) {
  if (value.value().is_string()) return Extent::Parse(value.String());
  return value.Integer(0, kLargest);
}

std::vector<Extent> ExtentsFromJson(const JsonReader& value) {
  std::vector<Extent> extents;
  for (size_t i = 0; i < value.Size(); ++i) extents.push_back(ExtentFromJson(value.At(i)));
  return extents;
}

ordered_json ToJson(const Extent& extent) {
  return extent.is_number() ? ordered_json(extent.number()) : ordered_json(extent.ToString());
}

ordered_json ToJson(const std::vector<Extent>& extents) {
  ordered_json json = ordered_json::array();
  for (const Extent& extent : extents) json.push_back(ToJson(extent));
  return json;
}

std::vector<GraphOp> GraphOpsFromJson(const JsonReader& value) {
  std::vector<GraphOp> ops;
  if (value.Size() > kMostOps)
    value.Fail(fmt::format("at most {} operations are expected", kMostOps));
  std::set<std::string> names;
  for (size_t i = 0; i < value.Size(); ++i) {
    ops.push_back(GraphOpFromJson(value.At(i)));
    if (!names.insert(ops.back().name).second) {
      value.At(i).Fail(fmt::format("a second operation named {}", ops.back().name));
    }
  }
  return ops;
}

BufferLayout BufferLayoutFromJson(const JsonReader& value, DataFormat device_format) {
  BufferLayout layout;
  layout.kind = BufferLayout::Kind::kPlain;
  layout.size = ExtentsFromJson(value.At("size"));
  layout.stride = ExtentsFromJson(value.At("stride"));
  if (const auto size = Given(value, "device_size")) {
    layout.kind = BufferLayout::Kind::kTiled;
    layout.device.format = device_format;
    layout.device.device_size = size->Integers(1, kLargest);
    layout.device.stride_map = value.At("stride_map").Integers(-1, kLargest);
    if (AllNumbers(layout.size)) layout.device.host_size = Numbers(layout.size);
    if (AllNumbers(layout.stride)) layout.device.host_stride = Numbers(layout.stride);
  }
  layout.per_tile_fixed = Flag(value, "per_tile_fixed", false);
  return layout;
}

ordered_json ToJson(const BufferLayout& layout) {
  ordered_json json = {{"size", ToJson(layout.size)}, {"stride", ToJson(layout.stride)}};
  if (layout.kind != BufferLayout::Kind::kTiled) return json;
  json["device_size"] = layout.device.device_size;
  json["stride_map"] = layout.device.stride_map;
  json["per_tile_fixed"] = layout.per_tile_fixed;
  return json;
}

}  // namespace spyre::compiler
