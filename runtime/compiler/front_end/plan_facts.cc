// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/plan_facts.h"

#include <algorithm>

#include "base/joined.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/ir/device_coordinates.h"
#include "runtime/compiler/tiling/loop_groups.h"

namespace spyre::compiler {
namespace {

// The size of the sticks that one execution walks.
int64_t WalkedBytes(const OpIr& op, const TensorAccess& access) {
  const std::vector<Coordinate> coordinates =
      DeviceCoordinates(access.layout, access.index, op.loops);
  int64_t sticks = 1;
  for (size_t d = 0; d + 1 < coordinates.size(); ++d) {
    int64_t extent = 1;
    for (const CoordinateTerm& term : coordinates[d].terms) {
      int64_t last = term.step * (op.loops[static_cast<size_t>(term.variable)].range - 1);
      if (term.modulus > 0) last = std::min(last, term.modulus - 1);
      extent += last / term.divisor;
    }
    sticks *= std::min(extent, access.layout.device_size[d]);
  }
  return sticks * static_cast<int64_t>(kStickBytes);
}

std::string LoopText(const Graph& graph, const std::vector<LoopNode>& nodes) {
  std::vector<std::string> parts;
  for (const LoopNode& node : nodes) {
    if (const auto* member = std::get_if<size_t>(&node)) {
      const GraphOp& op = graph.ops[*member];
      if (op.IsComputed()) parts.push_back(op.name);
    } else {
      const auto& loop = std::get<CountedLoop>(node);
      parts.push_back(fmt::format("{}x[{}]", loop.count.ToString(), LoopText(graph, loop.body)));
    }
  }
  return fmt::format("{}", Joined(parts, " "));
}

std::string PlaceText(const LxPlan& lx, const std::string& buffer) {
  const LxBufferPlan* const plan = lx.Find(buffer);
  if (plan != nullptr && plan->lx_address) return fmt::format("lx {}", *plan->lx_address);
  if (plan != nullptr && plan->pool_offset) return fmt::format("pool {}", *plan->pool_offset);
  return "result";
}

}  // namespace

int64_t IterationsOf(const GraphOp& op) {
  int64_t iterations = 1;
  if (!op.loop) return iterations;
  for (const Extent& count : op.loop->count) iterations *= count.number();
  return iterations;
}

DeviceTraffic TrafficOf(const Graph& graph, const LxPlan& lx) {
  const auto in_lx = [&](const std::string& name) {
    const LxBufferPlan* const buffer = lx.Find(name);
    return buffer != nullptr && buffer->lx_address.has_value();
  };
  DeviceTraffic traffic;
  for (const GraphOp& op : graph.ops) {
    if (!op.IsComputed()) continue;
    const OpIr ir = ToOpIr(graph, op);
    const int64_t iterations = IterationsOf(op);
    for (const TensorAccess& input : ir.inputs)
      if (!in_lx(input.name)) traffic.bytes_read += iterations * WalkedBytes(ir, input);
    if (!in_lx(ir.output.name)) traffic.bytes_written += iterations * WalkedBytes(ir, ir.output);
  }
  return traffic;
}

PlanFacts FactsOf(const FrontEndResult& result) {
  PlanFacts facts;
  facts.loops = LoopText(result.graph, GroupLoops(LoopMembersOf(result.graph)));
  facts.pool_bytes = result.lx.pool_bytes;
  for (const LxBufferPlan& buffer : result.lx.buffers) {
    if (!buffer.lx_address) continue;
    const int64_t end = *buffer.lx_address + buffer.device_bytes / std::max(buffer.cores, 1);
    facts.lx_bytes = std::max(facts.lx_bytes, end);
  }
  facts.traffic = TrafficOf(result.graph, result.lx);
  for (const GraphOp& op : result.graph.ops) {
    if (!op.IsComputed()) continue;
    const WorkDivision& division = result.divisions.at(op.name);
    const OpIr ir = ToOpIr(result.graph, op);
    facts.operations.push_back({op.name, op.op, fmt::format("{}", Joined(division.splits, " x ")),
                                division.cores_used, PlaceText(result.lx, ir.output.name)});
  }
  return facts;
}

}  // namespace spyre::compiler
