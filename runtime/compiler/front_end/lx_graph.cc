// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/lx_graph.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

constexpr std::string_view kMovesData = "ReStickifyOpHBM";

std::vector<int> LoopsOf(const GraphOp& op) {
  return op.loop ? op.loop->group_id : std::vector<int>{};
}

bool WrittenInParts(const Graph& graph, const std::string& buffer) {
  return AnyFits(graph.ops, [&](const GraphOp& op) {
    return op.layout.target == buffer && !op.layout.offset.empty();
  });
}

}  // namespace

std::map<std::string, std::string> DeviceBuffers(const Graph& graph) {
  std::map<std::string, std::string> device;
  const std::string moves = "restickify moves its data between cores, through device memory";
  for (const GraphOp& op : graph.ops) {
    if (op.layout.kind == BufferLayout::Kind::kMutation && !op.layout.offset.empty())
      device.emplace(op.layout.target, "several operations write parts of it");
    if (op.layout.chosen >= 0)
      device.emplace(op.layout.target, fmt::format("'{}' writes by indices", op.name));
    if (op.kind == GraphOp::Kind::kExtern)
      device.emplace(op.name, fmt::format("{} computes it outside of the card", op.op));
    else if (!op.IsComputed() && !WrittenInParts(graph, op.name))
      device.emplace(op.name, "the whole result of a loop, which walks through it");
    if (op.op == kMovesData) device.emplace(op.name, moves);
    for (const GraphRead& read : op.reads) {
      const GraphOp* writer = graph.Find(read.buffer);
      // core_view.h does not say which core holds the part.
      if (!read.offset.empty())
        device.emplace(read.buffer, fmt::format("'{}' reads a part of it", op.name));
      if (op.op == kMovesData) device.emplace(read.buffer, moves);
      if (op.Gathers())
        device.emplace(read.buffer, fmt::format("'{}' chooses from it, or by it", op.name));
      if (op.kind == GraphOp::Kind::kExtern)
        device.emplace(read.buffer, fmt::format("'{}' reads it outside of the card", op.name));
      if (writer != nullptr && LoopsOf(*writer) != LoopsOf(op))
        device.emplace(read.buffer, fmt::format("'{}' reads it in another loop", op.name));
    }
  }
  return device;
}

LxGraph ToLxGraph(const Graph& graph, const std::map<std::string, WorkDivision>& divisions,
                  const std::map<std::string, std::string>& device, bool lx_planning,
                  const std::map<std::string, LxPin>& pins) {
  LxGraph result;
  for (const GraphOp& op : graph.ops) {
    if (!op.IsComputed()) continue;
    LxOperation operation;
    operation.op = op.op;
    operation.ir = ToOpIr(graph, op);
    const WorkDivision& division = divisions.at(op.name);
    operation.splits = division.splits;
    operation.k_fastest = division.k_fastest;
    const std::string& buffer = operation.ir.output.name;
    const auto barred = device.find(buffer);
    const bool may = lx_planning || pins.count(buffer) != 0;
    operation.may_stay_in_lx = may && barred == device.end();
    operation.stays_out = barred != device.end() ? barred->second
                          : may                  ? ""
                                                 : "no result may (workload.lx = \"none\")";
    if (op.loop) operation.loops = op.loop->group_id;
    result.operations.push_back(std::move(operation));
  }
  for (const GraphInput& input : graph.inputs) result.inputs.push_back(input.name);
  result.outputs = graph.outputs;
  // What is computed elsewhere comes from outside, and so goes what it reads.
  for (const GraphOp& op : graph.ops) {
    if (op.kind != GraphOp::Kind::kExtern) continue;
    result.inputs.push_back(op.name);
    for (const GraphRead& read : op.reads) result.outputs.push_back(read.buffer);
  }
  return result;
}

}  // namespace spyre::compiler
