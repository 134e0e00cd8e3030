// SPDX-License-Identifier: Apache-2.0
// What `lower` and the passes behind it made, in the form of a graph: operations with loops,
// layouts, loop groups and splits; groups; places of buffers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "runtime/compiler/graph_form/graph_form_values.h"
#include "runtime/compiler/tiling/graph_json.h"

namespace spyre::compiler {
namespace {

using GraphOpKind = GraphOp::Kind;

// Of elements, and of strides and offsets in elements: far beyond any memory, and products of them
// with the bytes of an element do not overflow.
constexpr int64_t kLargestNumber = int64_t{1} << 48;
constexpr int kMostInt = std::numeric_limits<int>::max();

constexpr std::pair<GraphOpKind, const char*> kKinds[] = {{GraphOpKind::kPointwise, "pointwise"},
                                                          {GraphOpKind::kReduction, "reduction"},
                                                          {GraphOpKind::kEmpty, "empty"},
                                                          {GraphOpKind::kExtern, "extern"}};

// ---------------------------------------------------------------- layouts

OrderedJson MutationToJson(const BufferLayout& layout) {
  OrderedJson json = {{"writes", layout.target}};
  if (!layout.offset.empty()) json["offset"] = layout.offset;
  if (layout.chosen >= 0) json["chosen"] = layout.chosen;
  return json;
}

void RequireFewElements(const FormValue& value, const std::vector<int64_t>& size) {
  int64_t elements = 1;
  for (const int64_t n : size) {
    if (__builtin_mul_overflow(elements, std::max<int64_t>(n, 1), &elements) ||
        elements > kLargestNumber)
      value.Fail("sizes of at most 2^48 elements together");
  }
}

void RequireFewElements(const FormValue& value, const std::vector<Extent>& size) {
  if (AllNumbers(size)) RequireFewElements(value, Numbers(size));
}

OrderedJson LayoutToJson(const BufferLayout& layout) {
  if (layout.kind == BufferLayout::Kind::kMutation) return MutationToJson(layout);
  OrderedJson json = {{"size", ToJson(layout.size)}};
  if (layout.stride != ContiguousExtents(layout.size)) json["stride"] = ToJson(layout.stride);
  if (layout.kind == BufferLayout::Kind::kPlain) return json;
  const StickLayout& device = layout.device;
  json["device_size"] = device.device_size;
  json["stride_map"] = device.stride_map;
  json["host_dim"] = device.host_dim;
  if (Extents(device.host_size) != layout.size) json["host_size"] = device.host_size;
  if (Extents(device.host_stride) != layout.stride) json["host_stride"] = device.host_stride;
  json["format"] = FormatName(device.format);
  if (layout.per_tile_fixed) json["per_tile_fixed"] = true;
  return json;
}

BufferLayout ReadLayout(const FormValue& value) {
  BufferLayout layout;
  if (const auto target = value.Find("writes")) {
    value.RequireKeys({"writes", "offset", "chosen"});
    if (const auto offset = value.Find("offset"))
      layout.offset = offset->Integers(0, kLargestNumber);
    if (const auto chosen = value.Find("chosen"))
      layout.chosen = static_cast<int>(chosen->Integer(0, kMostInt));
    layout.kind = BufferLayout::Kind::kMutation;
    layout.target = target->Text();
    return layout;
  }
  value.RequireKeys({"size", "stride", "device_size", "stride_map", "host_dim", "host_size",
                     "host_stride", "format", "per_tile_fixed"});
  layout.size = value.At("size").Sizes();
  RequireFewElements(value.At("size"), layout.size);
  const auto stride = value.Find("stride");
  layout.stride = stride ? stride->Sizes() : ContiguousExtents(layout.size);
  if (layout.stride.size() != layout.size.size())
    stride->Fail(fmt::format("{} strides", layout.size.size()));
  if (!value.Has("device_size")) {
    layout.kind = BufferLayout::Kind::kPlain;
    return layout;
  }
  StickLayout& device = layout.device;
  device.device_size = value.At("device_size").Integers(1, kLargestNumber);
  device.stride_map = value.At("stride_map").Integers(-1, kLargestNumber);
  device.host_dim = value.At("host_dim").Ints(-1, static_cast<int>(layout.size.size()) - 1);
  if (device.device_size.empty() || device.stride_map.size() != device.device_size.size() ||
      device.host_dim.size() != device.device_size.size())
    value.Fail("one stride_map and one host_dim for each device_size");
  RequireFewElements(value.At("device_size"), device.device_size);
  const auto host_size = value.Find("host_size");
  device.host_size = host_size ? host_size->Integers(0, kLargestNumber) : Numbers(layout.size);
  const auto host_stride = value.Find("host_stride");
  device.host_stride =
      host_stride ? host_stride->Integers(0, kLargestNumber) : Numbers(layout.stride);
  if (host_size) RequireFewElements(*host_size, device.host_size);
  device.format = FormatFromName(value.At("format").Text());
  if (const auto fixed = value.Find("per_tile_fixed")) layout.per_tile_fixed = fixed->Flag();
  return layout;
}

// ---------------------------------------------------------------- operations

OrderedJson ReadsToJson(const GraphOp& op) {
  OrderedJson json = OrderedJson::array();
  for (const GraphRead& read : op.reads) {
    OrderedJson entry = {{"buffer", read.buffer}, {"loop", read.loop}};
    if (!read.offset.empty()) entry["offset"] = read.offset;
    if (read.chosen >= 0) entry["chosen"] = read.chosen;
    json.push_back(std::move(entry));
  }
  return json;
}

OrderedJson HintsToJson(const GraphOp& op) {
  OrderedJson json = OrderedJson::array();
  for (const DimHint& hint : op.dim_hints) {
    OrderedJson entry = {{"hint", hint.hint_id}, {"dim", hint.dim}, {"count", hint.count}};
    if (hint.dim_index) entry["index"] = *hint.dim_index;
    if (hint.is_reduction) entry["reduction"] = true;
    json.push_back(std::move(entry));
  }
  return json;
}

OrderedJson OpToJson(const GraphOp& op, const FrontEndResult& graph) {
  OrderedJson json = {{"name", op.name}};
  for (const auto& [kind, name] : kKinds)
    if (kind == op.kind) json["kind"] = name;
  json["op"] = op.op;
  if (!op.reduction_type.empty()) json["reduction_type"] = op.reduction_type;
  json["ranges"] = ToJson(op.ranges);
  if (!op.reduction_ranges.empty()) json["reduction_ranges"] = ToJson(op.reduction_ranges);
  if (op.partial) json["partial"] = true;
  const auto loops = graph.loop_names.find(op.name);
  if (loops != graph.loop_names.end()) json["loops"] = loops->second;
  if (!op.reads.empty()) json["reads"] = ReadsToJson(op);
  json["dtype"] = FormatName(op.host_format);
  json["layout"] = LayoutToJson(op.layout);
  if (op.loop) {
    json["loop_group_id"] = op.loop->group_id;
    json["loop_count"] = ToJson(op.loop->count);
    json["loop_tiled_dims"] = op.loop->tiled_dims;
  }
  if (!op.dim_hints.empty()) json["dim_hints"] = HintsToJson(op);
  for (const OpConstant& constant : op.constants) json["constants"][constant.name] = constant.value;
  const auto division = graph.divisions.find(op.name);
  if (division == graph.divisions.end()) return json;
  json["splits"] = division->second.splits;
  json["cores"] = division->second.cores_used;
  if (division->second.k_fast_applied) json["k_fast"] = true;
  if (division->second.k_fastest) json["k_fastest"] = true;
  return json;
}

bool FlagOf(const FormValue& value, const char* key) {
  const auto flag = value.Find(key);
  return flag && flag->Flag();
}

WorkDivision DivisionFromJson(const FormValue& value) {
  WorkDivision division;
  division.splits = value.At("splits").Ints(1, kMaxCores);
  division.cores_used = static_cast<int>(value.At("cores").Integer(1, kMaxCores));
  division.k_fast_applied = FlagOf(value, "k_fast");
  division.k_fastest = FlagOf(value, "k_fastest");
  division.slice = CoreToSlice(division.splits, division.k_fastest);
  return division;
}

void LoopFromJson(const FormValue& value, GraphOp& op) {
  const auto id = value.Find("loop_group_id");
  if (!id) return;
  LoopStamp stamp;
  stamp.group_id = id->Ints(0, kMostInt);
  stamp.count = value.At("loop_count").Sizes();
  const size_t loops = op.ranges.size() + (op.partial ? op.reduction_ranges.size() : 0);
  for (const FormValue& level : value.At("loop_tiled_dims").Items())
    stamp.tiled_dims.push_back(level.Ints(0, static_cast<int>(loops) - 1));
  op.loop = std::move(stamp);
}

DimHint HintFromJson(const FormValue& value) {
  value.RequireKeys({"hint", "dim", "count", "index", "reduction"});
  DimHint hint;
  hint.hint_id = static_cast<int>(value.At("hint").Integer(-1, kMostInt));
  hint.dim = value.At("dim").Text();
  hint.count = value.At("count").Integer(1, kLargestNumber);
  if (const auto index = value.Find("index"))
    hint.dim_index = static_cast<int>(index->Integer(0, kMostInt));
  hint.is_reduction = FlagOf(value, "reduction");
  return hint;
}

GraphOp ReadOp(const FormValue& value, FrontEndResult& graph) {
  value.RequireKeys({"name",
                     "kind",
                     "op",
                     "reduction_type",
                     "partial",
                     "ranges",
                     "reduction_ranges",
                     "loops",
                     "reads",
                     "dtype",
                     "layout",
                     "loop_group_id",
                     "loop_count",
                     "loop_tiled_dims",
                     "dim_hints",
                     "constants",
                     "splits",
                     "cores",
                     "k_fast",
                     "k_fastest"});
  GraphOp op;
  op.name = value.At("name").Text();
  const FormValue kind = value.At("kind");
  bool is_known = false;
  for (const auto& [known, name] : kKinds) {
    if (kind.Text() != name) continue;
    op.kind = known;
    is_known = true;
  }
  if (!is_known) kind.Fail("pointwise, reduction, empty or extern");
  op.op = value.At("op").Text();
  if (const auto type = value.Find("reduction_type")) op.reduction_type = type->Text();
  op.ranges = value.At("ranges").Sizes();
  if (const auto ranges = value.Find("reduction_ranges")) op.reduction_ranges = ranges->Sizes();
  std::vector<Extent> steps = op.ranges;
  steps.insert(steps.end(), op.reduction_ranges.begin(), op.reduction_ranges.end());
  RequireFewElements(value.At("ranges"), steps);
  if (const auto loops = value.Find("loops"))
    op.loop_names = graph.loop_names[op.name] = loops->Texts();
  if (const auto reads = value.Find("reads")) {
    for (const FormValue& read : reads->Items()) {
      read.RequireKeys({"buffer", "loop", "offset", "chosen"});
      GraphRead entry;
      entry.buffer = read.At("buffer").Text();
      entry.loop = read.At("loop").Ints(-1, kMostInt);
      if (const auto offset = read.Find("offset"))
        entry.offset = offset->Integers(0, kLargestNumber);
      if (const auto chosen = read.Find("chosen"))
        entry.chosen =
            static_cast<int>(chosen->Integer(0, static_cast<int64_t>(entry.loop.size()) - 1));
      op.reads.push_back(std::move(entry));
    }
  }
  op.host_format = FormatFromName(value.At("dtype").Text());
  op.layout = ReadLayout(value.At("layout"));
  op.partial = FlagOf(value, "partial");
  LoopFromJson(value, op);
  if (const auto hints = value.Find("dim_hints"))
    for (const FormValue& hint : hints->Items()) op.dim_hints.push_back(HintFromJson(hint));
  if (const auto constants = value.Find("constants"))
    for (const auto& [name, number] : constants->Entries())
      op.constants.push_back({name, number.Number()});
  if (value.Has("splits")) graph.divisions[op.name] = DivisionFromJson(value);
  return op;
}

// ---------------------------------------------------------------- groups and places

OrderedJson GroupToJson(const TileGroup& group) {
  OrderedJson levels = OrderedJson::array();
  for (const TileLevel& level : group.levels)
    levels.push_back(
        {{"hint", level.hint_id}, {"count", ToJson(level.count)}, {"dims", level.dims}});
  return {{"ops", group.ops}, {"levels", std::move(levels)}};
}

TileGroup GroupFromJson(const FormValue& value) {
  value.RequireKeys({"ops", "levels"});
  TileGroup group;
  group.ops = value.At("ops").Texts();
  for (const FormValue& level : value.At("levels").Items()) {
    level.RequireKeys({"hint", "count", "dims"});
    group.levels.push_back({level.At("count").Size(), level.At("dims").Ints(0, kMostInt),
                            static_cast<int>(level.At("hint").Integer(-1, kMostInt))});
  }
  return group;
}

OrderedJson BufferToJson(const LxBufferPlan& buffer) {
  OrderedJson json = {{"name", buffer.name},
                      {"lives", {buffer.start, buffer.end}},
                      {"cores", buffer.cores},
                      {"bytes", buffer.device_bytes}};
  if (buffer.core_bytes != 0) json["core_bytes"] = buffer.core_bytes;
  if (buffer.is_input) json["input"] = true;
  if (buffer.lx_address) json["lx"] = *buffer.lx_address;
  if (buffer.pool_offset) json["pool"] = *buffer.pool_offset;
  return json;
}

LxBufferPlan BufferFromJson(const FormValue& value) {
  value.RequireKeys({"name", "lives", "cores", "bytes", "core_bytes", "input", "lx", "pool"});
  constexpr int64_t kMostBytes = 1ll << 48;
  LxBufferPlan buffer;
  buffer.name = value.At("name").Text();
  const std::vector<int64_t> lives = value.At("lives").Integers(0, kMostBytes);
  if (lives.size() != 2) value.At("lives").Fail("[first operation, behind the last]");
  buffer.start = lives[0];
  buffer.end = lives[1];
  buffer.cores = static_cast<int>(value.At("cores").Integer(LxBufferPlan::kCoresDiffer, kMaxCores));
  buffer.device_bytes = value.At("bytes").Integer(0, kMostBytes);
  if (const auto bytes = value.Find("core_bytes"))
    buffer.core_bytes = bytes->Integer(0, kMostBytes);
  buffer.is_input = FlagOf(value, "input");
  if (const auto lx = value.Find("lx")) buffer.lx_address = lx->Integer(0, kMostBytes);
  if (const auto pool = value.Find("pool")) buffer.pool_offset = pool->Integer(0, kMostBytes);
  return buffer;
}

}  // namespace

OrderedJson LoweredToJson(const FrontEndResult& graph) {
  OrderedJson inputs = OrderedJson::array();
  for (const GraphInput& input : graph.graph.inputs)
    inputs.push_back({{"name", input.name},
                      {"dtype", FormatName(input.host_format)},
                      {"dim_names", input.dim_names},
                      {"layout", LayoutToJson(input.layout)}});
  OrderedJson operations = OrderedJson::array();
  for (const GraphOp& op : graph.graph.ops) operations.push_back(OpToJson(op, graph));
  OrderedJson json = {{"inputs", std::move(inputs)},
                      {"operations", std::move(operations)},
                      {"outputs", graph.graph.outputs}};
  if (graph.HasRun("hints")) {
    json["groups"] = OrderedJson::array();
    for (const TileGroup& group : graph.groups) json["groups"].push_back(GroupToJson(group));
    if (!graph.kept_out.empty()) json["kept_out"] = graph.kept_out;
  }
  if (graph.HasRun("lx")) {
    json["buffers"] = OrderedJson::array();
    for (const LxBufferPlan& buffer : graph.lx.buffers)
      json["buffers"].push_back(BufferToJson(buffer));
    json["pool_bytes"] = graph.lx.pool_bytes;
  }
  return json;
}

void LoweredFromJson(const FormValue& value, FrontEndResult& graph) {
  value.RequireKeys(
      {"inputs", "operations", "outputs", "groups", "kept_out", "buffers", "pool_bytes"});
  for (const FormValue& input : value.At("inputs").Items()) {
    input.RequireKeys({"name", "dtype", "dim_names", "layout"});
    graph.graph.inputs.push_back({input.At("name").Text(), FormatFromName(input.At("dtype").Text()),
                                  ReadLayout(input.At("layout")), input.At("dim_names").Texts()});
  }
  for (const FormValue& op : value.At("operations").Items())
    graph.graph.ops.push_back(ReadOp(op, graph));
  graph.graph.outputs = value.At("outputs").Texts();
  if (const auto groups = value.Find("groups"))
    for (const FormValue& group : groups->Items()) graph.groups.push_back(GroupFromJson(group));
  if (const auto kept_out = value.Find("kept_out"))
    for (const auto& [name, why] : kept_out->Entries()) graph.kept_out[name] = why.Text();
  if (const auto buffers = value.Find("buffers")) {
    for (const FormValue& buffer : buffers->Items())
      graph.lx.buffers.push_back(BufferFromJson(buffer));
    graph.lx.pool_bytes = value.At("pool_bytes").Integer(0, kLargestNumber);
  }
}

}  // namespace spyre::compiler
