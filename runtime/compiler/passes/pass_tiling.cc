// SPDX-License-Identifier: Apache-2.0
// `coarse-tile`, `tiling-propagation`, `group-loops`: operations into counted loops.
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/compiler/passes/pass_table.h"
#include "runtime/compiler/tiling/coarse_tile.h"
#include "runtime/compiler/tiling/graph_json.h"
#include "runtime/compiler/tiling/loop_groups.h"
#include "runtime/compiler/tiling/tiling_propagation.h"

namespace spyre::compiler {
namespace {

using nlohmann::ordered_json;

// [count, dims] or [hint id, count, dims].
TileLevel LevelFromJson(const JsonReader& value) {
  const size_t parts = value.Size();
  if (parts != 2 && parts != 3) value.Fail("[count, dims] or [hint id, count, dims] is expected");
  TileLevel level;
  if (parts == 3) {
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    level.hint_id = static_cast<int>(value.At(size_t{0}).Integer(-kMost, kMost));
  }
  level.count = ExtentFromJson(value.At(parts - 2));
  const JsonReader dims = value.At(parts - 1);
  level.dims = dims.value().is_null() ? std::vector<int>{0} : IntsFromJson(dims);
  return level;
}

TileGroup GroupFromJson(const JsonReader& value, const std::vector<int>& default_dims) {
  TileGroup group;
  group.ops = value.At("ops").Strings();
  if (const auto levels = Given(value, "levels")) {
    for (size_t i = 0; i < levels->Size(); ++i) {
      group.levels.push_back(LevelFromJson(levels->At(i)));
    }
    return group;
  }
  // A group may give dimensions of its own; null is one that says the first, whatever the default.
  std::vector<int> dims = default_dims;
  if (value.Has("tiled_dims")) {
    const auto own = Given(value, "tiled_dims");
    dims = own ? IntsFromJson(*own) : std::vector<int>{0};
  }
  group.levels.push_back({ExtentFromJson(value.At("count")), std::move(dims)});
  return group;
}

ordered_json StampJson(const GraphOp& op) {
  ordered_json json = {{"name", op.name},
                       {"ranges", ToJson(op.ranges)},
                       {"reduction_ranges", ToJson(op.reduction_ranges)},
                       {"loop_group_id", nullptr},
                       {"loop_count", nullptr},
                       {"loop_tiled_dims", nullptr},
                       {"layout", ToJson(op.layout)}};
  if (op.loop) {
    json["loop_group_id"] = op.loop->group_id;
    json["loop_count"] = ToJson(op.loop->count);
    json["loop_tiled_dims"] = op.loop->tiled_dims;
  }
  return json;
}

const char* DecisionName(TileDecision decision) {
  switch (decision) {
    case TileDecision::kNone:
      return "none";
    case TileDecision::kPerTileFixed:
      return "per_tile_fixed";
    case TileDecision::kCopy:
      return "copy";
    case TileDecision::kMutation:
      return "mutation";
  }
  return "";
}

ordered_json ActionJson(const TileAction& action) {
  switch (action.kind) {
    case TileAction::Kind::kAllocateFull:
      return {{"action", "allocate_full"},
              {"for", action.op},
              {"size", action.size},
              {"insert_before", action.before}};
    case TileAction::Kind::kInsertCopyAfter:
      return {{"action", "insert_copy_after"}, {"op", action.op}, {"target", action.target}};
    case TileAction::Kind::kRedirectConsumers:
      return {{"action", "redirect_consumers"},
              {"from", action.op},
              {"to", action.target},
              {"consumers", action.consumers}};
    case TileAction::Kind::kRedirectGraphOutput:
      return {{"action", "redirect_graph_output"}, {"from", action.op}, {"to", action.target}};
  }
  return nullptr;
}

ordered_json TreeJson(const std::vector<LoopNode>& nodes, const std::vector<LoopMember>& members) {
  ordered_json json = ordered_json::array();
  for (const LoopNode& node : nodes) {
    if (const auto* member = std::get_if<size_t>(&node)) {
      json.push_back(members[*member].name);
    } else {
      const auto& loop = std::get<CountedLoop>(node);
      json.push_back({{"loop", ToJson(loop.count)}, {"body", TreeJson(loop.body, members)}});
    }
  }
  return json;
}

}  // namespace

ordered_json PassCoarseTile(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  Graph graph;
  graph.ops = GraphOpsFromJson(reader.At("operations"));
  if (const auto layouts = Given(reader, "layout_before")) {
    if (layouts->Size() != graph.ops.size()) layouts->Fail("one layout per operation is expected");
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const JsonReader layout = layouts->At(i);
      if (layout.value().is_null()) continue;
      GraphOp& op = graph.ops[i];
      op.layout = BufferLayoutFromJson(layout, DeviceFormatOf(op.host_format));
    }
  }
  std::vector<int> default_dims = {0};
  if (const auto dims = Given(reader, "default_tiled_dims")) default_dims = IntsFromJson(*dims);
  std::vector<TileGroup> groups;
  const JsonReader list = reader.At("groups");
  for (size_t i = 0; i < list.Size(); ++i) {
    groups.push_back(GroupFromJson(list.At(i), default_dims));
  }
  StampTiles(graph, groups);
  ordered_json ops = ordered_json::array();
  for (const GraphOp& op : graph.ops) ops.push_back(StampJson(op));
  return {{"ops", std::move(ops)}};
}

ordered_json PassTilingPropagation(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  Graph graph;
  graph.ops = GraphOpsFromJson(reader.At("operations"));
  graph.outputs = reader.At("graph_outputs").Strings();
  std::vector<std::string> names;
  for (const GraphOp& op : graph.ops) names.push_back(op.name);
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  ordered_json actions = ordered_json::array();
  for (const TileAction& action : result.actions) actions.push_back(ActionJson(action));
  ordered_json decisions = ordered_json::object();
  for (const std::string& name : names) decisions[name] = DecisionName(result.decisions.at(name));
  ordered_json order = ordered_json::array();
  for (const GraphOp& op : graph.ops) order.push_back(op.name);
  return {{"actions", std::move(actions)},
          {"decision", std::move(decisions)},
          {"operation_order", std::move(order)}};
}

ordered_json PassGroupLoops(const nlohmann::json& input) {
  const JsonReader nodes = JsonReader(input, "line").At("nodes");
  std::vector<LoopMember> members;
  for (size_t i = 0; i < nodes.Size(); ++i) {
    const JsonReader node = nodes.At(i);
    LoopMember member{node.At("name").String(), {}, {}};
    if (const auto id = Given(node, "loop_group_id")) member.group_id = IntsFromJson(*id);
    if (const auto count = Given(node, "loop_count")) member.count = ExtentsFromJson(*count);
    members.push_back(std::move(member));
  }
  return {{"tree", TreeJson(GroupLoops(members), members)}};
}

}  // namespace spyre::compiler
