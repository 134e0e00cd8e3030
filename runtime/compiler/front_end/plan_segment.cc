// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/plan_segment.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/co_optimize.h"
#include "runtime/compiler/front_end/lx_graph.h"
#include "runtime/compiler/front_end/named_lowering.h"
#include "runtime/compiler/front_end/plan_facts.h"
#include "runtime/compiler/tiling/tiling_propagation.h"

namespace spyre::compiler {
namespace {

// In groups the name of a composite stands for all that it became: "p" for "p.max" too.
bool IsNamedByAnother(const Graph& graph, const std::string& name) {
  return AnyFits(graph.ops,
                 [&](const GraphOp& other) { return name.rfind(other.name + ".", 0) == 0; });
}

// The user's divisions and places of the operations of a graph.
Plan PlanOf(const Graph& graph, const Plan& plan) {
  Plan own;
  for (const auto& [op, splits] : plan.splits)
    if (graph.Find(op) != nullptr) own.splits[op] = splits;
  for (const auto& [op, place] : plan.places)
    if (graph.Find(op) != nullptr) own.places[op] = place;
  return own;
}

// Results that are in LX, and whether one that could be there is not for lack of room.
struct Placed {
  std::vector<std::string> in_lx;
  bool is_short = false;
};

Placed PlacedIn(const LxPlan& lx, const std::map<std::string, LxPin>& pins) {
  Placed placed;
  for (const LxBufferPlan& buffer : lx.buffers) {
    if (buffer.lx_address && pins.count(buffer.name) == 0) placed.in_lx.push_back(buffer.name);
    if (!buffer.lx_address && buffer.core_bytes > 0) placed.is_short = true;
  }
  return placed;
}

}  // namespace

SegmentPlan MeasurePlan(const Graph& graph, const LxPlan& lx, const FrontEndOptions& options) {
  const CoOptimizeCost cost = options.co_optimize.value_or(CoOptimizeCost());
  const bool written_out = options.dialect == BundleDialect::kBakedAddresses;
  const DeviceTraffic traffic = TrafficOf(graph, lx);
  SegmentPlan plan;
  plan.traffic = traffic.bytes_read + traffic.bytes_written;
  for (const GraphOp& op : graph.ops) {
    if (!op.IsComputed()) continue;
    plan.steps += IterationsOf(op);
    plan.operations += written_out ? IterationsOf(op) : 1;
  }
  plan.cost =
      plan.traffic + cost.bytes_per_step * plan.steps + cost.bytes_per_operation * plan.operations;
  return plan;
}

Graph SegmentPlanner::GraphOf(size_t first, size_t last) const {
  const Graph& all = graph_.graph;
  Graph graph;
  graph.inputs = all.inputs;
  const auto is_read = [&](const std::string& buffer, bool inside) {
    for (size_t i = 0; i < all.ops.size(); ++i)
      if ((i >= first && i < last) == inside && all.ops[i].Reads(buffer)) return true;
    return false;
  };
  for (size_t i = 0; i < all.ops.size(); ++i) {
    const GraphOp& op = all.ops[i];
    const bool owns = op.layout.kind != BufferLayout::Kind::kMutation;
    if (i >= first && i < last) {
      graph.ops.push_back(op);
      if (owns && (all.IsOutput(op.name) || is_read(op.name, false)))
        graph.outputs.push_back(op.name);
    } else if (i < first && owns && is_read(op.name, true)) {
      graph.inputs.push_back({op.name, op.host_format, op.layout, {}});
    }
  }
  return graph;
}

// kept_out: of LX; nullptr: those are chosen. Throws what the passes throw.
SegmentPlan SegmentPlanner::Compile(Graph graph, const std::vector<TileGroup>& groups,
                                    const std::map<std::string, std::string>* kept_out) const {
  const Plan own = PlanOf(graph, options_.plan);
  if (!groups.empty()) {
    StampTiles(graph, groups);
    CheckTileReads(graph);
    RestoreSticks(graph_.primitives, options_.lowering, graph);
    PropagateTiles(graph, TileReaders::kInnermostLoop);
    RestoreSticks(graph_.primitives, options_.lowering, graph);
  }
  DivisionOptions division = options_.division;
  division.splits = own.splits;
  const std::map<std::string, WorkDivision> divisions =
      DivideGraph(graph, graph_.loop_names, division);
  for (const auto& [op, divided] : divisions) {
    if (options_.allow_long_spans || divided.too_far.empty()) continue;
    throw CompileError("Unsupported", "span_too_large",
                       fmt::format("{}", Joined(divided.too_far, "; ")));
  }
  LxOptions lx_options = options_.lx;
  lx_options.pins = PinsOf(own);
  std::map<std::string, std::string> device = DeviceBuffers(graph);
  if (kept_out != nullptr) device.insert(kept_out->begin(), kept_out->end());
  LxGraph lx_graph = ToLxGraph(graph, divisions, device, true, lx_options.pins);
  LxPlan lx = PlanLx(lx_graph, lx_options);
  CheckPlaces(own, graph, graph_.loop_names, divisions, device, lx, lx_options);
  SegmentPlan best = MeasurePlan(graph, lx, options_);
  best.groups = groups;
  const Placed placed = PlacedIn(lx, lx_options.pins);
  if (kept_out != nullptr || !placed.is_short) return best;
  // Every set of results that make room for others.
  const size_t count = std::min(placed.in_lx.size(), CoOptimizeBounds::kResults);
  for (unsigned set = 1; set < (1U << count); ++set) {
    std::set<std::string> out;
    for (size_t i = 0; i < count; ++i)
      if ((set >> i & 1U) != 0) out.insert(placed.in_lx[i]);
    for (LxOperation& operation : lx_graph.operations) {
      const std::string& name = operation.ir.output.name;
      operation.may_stay_in_lx = device.count(name) == 0 && out.count(name) == 0;
    }
    lx = PlanLx(lx_graph, lx_options);
    SegmentPlan plan = MeasurePlan(graph, lx, options_);
    if (plan.cost >= best.cost) continue;
    for (const std::string& name : out)
      plan.kept_out.emplace(name, "co-optimization gives its room to others, which saves more");
    plan.groups = groups;
    best = std::move(plan);
  }
  return best;
}

std::optional<SegmentPlan> SegmentPlanner::PlanRun(size_t first, size_t last,
                                                   const std::vector<TileGroup>& groups,
                                                   std::string& refusal) const {
  try {
    return Compile(GraphOf(first, last), groups, nullptr);
  } catch (const Error& error) {
    refusal = error.what();
    return std::nullopt;
  }
}

std::optional<SegmentPlan> SegmentPlanner::PlanLoop(size_t first, size_t last,
                                                    const std::vector<PlanLevel>& levels,
                                                    std::string& refusal) const {
  try {
    Graph graph = GraphOf(first, last);
    PlanNode node;
    node.path = "a loop";
    for (const GraphOp& op : graph.ops)
      if (!IsNamedByAnother(graph, op.name)) node.body.push_back({op.name, {}, {}, node.path});
    node.levels = levels;
    std::vector<std::string> log;
    const std::vector<TileGroup> groups = GroupsOfPlan(graph, graph_.loop_names, {node}, log);
    std::map<std::string, std::vector<DimHint>> hints;
    for (const GraphOp& op : graph.ops) hints[op.name] = op.dim_hints;
    SegmentPlan plan = Compile(std::move(graph), groups, nullptr);
    plan.hints = std::move(hints);
    return plan;
  } catch (const Error& error) {
    refusal = error.what();
    return std::nullopt;
  }
}

std::optional<SegmentPlan> SegmentPlanner::PlanAsItIs(
    const std::vector<TileGroup>& groups, const std::map<std::string, std::string>& kept_out,
    std::string& refusal) const {
  try {
    return Compile(graph_.graph, groups, &kept_out);
  } catch (const Error& error) {
    refusal = error.what();
    return std::nullopt;
  }
}

int64_t SegmentPlanner::LeastTraffic(size_t first, size_t last) const {
  const Graph graph = GraphOf(first, last);
  LxPlan lx;  // whatever stays inside is in LX
  for (const GraphOp& op : graph.ops) {
    if (graph.IsOutput(op.name)) continue;
    LxBufferPlan buffer;
    buffer.name = op.name;
    buffer.lx_address = 0;
    lx.buffers.push_back(std::move(buffer));
  }
  const DeviceTraffic traffic = TrafficOf(graph, lx);
  return traffic.bytes_read + traffic.bytes_written;
}

}  // namespace spyre::compiler
