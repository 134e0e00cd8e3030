// SPDX-License-Identifier: Apache-2.0
// DumpStage: what each pass of the front end left, as text.

#include <algorithm>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {
namespace {

std::string Sticks(const NamedGraph& graph) {
  std::string text;
  const auto tensor = [&](int index) {
    const NamedTensor& t = graph.tensors[static_cast<size_t>(index)];
    if (t.origin == NamedTensor::Origin::kConstant) return t.name;
    if (t.stick == NamedTensor::kNoChoice) return t.name + graph.ShapeText(t);
    const std::string stick =
        t.stick == NamedTensor::kSparse ? "sparse" : graph.dims[static_cast<size_t>(t.stick)].name;
    return fmt::format("{}{} by {}", t.name, graph.ShapeText(t), stick);
  };
  for (const NamedOp& op : graph.ops) {
    std::vector<std::string> inputs;
    for (const int input : op.inputs) inputs.push_back(tensor(input));
    text += fmt::format("{} = {}({})\n", tensor(op.output), op.op, Joined(inputs, ", "));
  }
  return text;
}

std::string Ranges(const std::vector<Extent>& extents) {
  std::vector<std::string> texts;
  texts.reserve(extents.size());
  for (const Extent& extent : extents) texts.push_back(extent.ToString());
  return fmt::format("[{}]", Joined(texts, ", "));
}

std::string LayoutText(const BufferLayout& layout) {
  if (layout.kind == BufferLayout::Kind::kMutation) {
    return layout.offset.empty()
               ? "writes " + layout.target
               : fmt::format("writes {} from [{}] on", layout.target, Joined(layout.offset, ", "));
  }
  return fmt::format("size={} device_size=[{}]{}", Ranges(layout.size),
                     Joined(layout.device.device_size, ", "),
                     layout.per_tile_fixed ? " per_tile_fixed" : "");
}

std::string GraphText(const Graph& graph) {
  std::string text;
  for (const GraphOp& op : graph.ops) {
    std::vector<std::string> reads;
    for (const GraphRead& read : op.reads) reads.push_back(read.buffer);
    text += fmt::format("{}: {}({})\n  ranges={}", op.name, op.op, Joined(reads, ", "),
                        Ranges(op.ranges));
    if (!op.reduction_ranges.empty())
      text += fmt::format(" reduction_ranges={}", Ranges(op.reduction_ranges));
    text += fmt::format("\n  layout {}\n", LayoutText(op.layout));
    if (!op.loop) continue;
    std::vector<std::string> dims;
    for (const std::vector<int>& level : op.loop->tiled_dims)
      dims.push_back(fmt::format("[{}]", Joined(level, ", ")));
    text +=
        fmt::format("  loop_group_id=({}) loop_count={} loop_tiled_dims=[{}]\n",
                    Joined(op.loop->group_id, ", "), Ranges(op.loop->count), Joined(dims, ", "));
  }
  return text;
}

std::string Groups(const std::vector<TileGroup>& groups) {
  std::string text;
  for (size_t i = 0; i < groups.size(); ++i) {
    text += fmt::format("group {}: {}\n", i, Joined(groups[i].ops, ", "));
    for (const TileLevel& level : groups[i].levels)
      text += fmt::format("  loop of {} over dims [{}]\n", level.count.ToString(),
                          Joined(level.dims, ", "));
  }
  return text;
}

std::string Division(const FrontEndResult& result) {
  std::string text;
  for (const GraphOp& op : result.graph.ops) {
    const auto found = result.divisions.find(op.name);
    if (found == result.divisions.end()) continue;
    text += fmt::format("{}: splits=[{}] cores={}\n", op.name, Joined(found->second.splits, ", "),
                        found->second.cores_used);
  }
  return text;
}

std::string Lx(const LxPlan& plan) {
  std::string text;
  for (const LxBufferPlan& buffer : plan.buffers) {
    const std::string place = buffer.lx_address    ? fmt::format("lx {}", *buffer.lx_address)
                              : buffer.pool_offset ? fmt::format("pool {}", *buffer.pool_offset)
                                                   : "argument";
    text += fmt::format("{}: {} bytes, operations {} .. {}, {}\n", buffer.name, buffer.device_bytes,
                        buffer.start, buffer.end, place);
  }
  return text;
}

std::string Loops(const std::vector<SpecNode>& nodes, const std::string& indent) {
  std::string text;
  for (const SpecNode& node : nodes) {
    if (const auto* op = std::get_if<OpSpec>(&node)) {
      std::vector<std::string> space;
      for (const IterationSymbol& symbol : op->iteration_space)
        space.push_back(symbol.split == 1 ? std::to_string(symbol.range)
                                          : fmt::format("{}/{}", symbol.range, symbol.split));
      text += fmt::format("{}{} [{}]\n", indent, op->op, Joined(space, ", "));
    } else if (const auto* loop = std::get_if<LoopSpec>(&node)) {
      text += fmt::format("{}loop {}\n", indent, std::get<int64_t>(loop->count));
      text += Loops(loop->body, indent + "  ");
    }
  }
  return text;
}

}  // namespace

const std::vector<std::string>& DumpStages() {
  static const std::vector<std::string> stages = {"sticks", "groups", "graph", "division",
                                                  "lx",     "loops",  "opspec"};
  return stages;
}

std::string DumpStage(const FrontEndResult& result, const std::string& stage) {
  if (stage == "deadcode_elimination" || stage == "decompose" || stage == "promote_types" ||
      stage == "copy_inputs" || stage == "stick")
    return Sticks(result.primitives);
  if (stage == "lower" || stage == "insert_bmm_padding" || stage == "chunk_large_tensors" ||
      stage == "tile" || stage == "propagate")
    return GraphText(result.graph);
  if (stage == "hints") return Groups(result.groups);
  if (stage == "kernel") return Loops(result.source.body, "");
  if (stage == "sticks") return Sticks(result.primitives);
  if (stage == "groups") return Groups(result.groups);
  if (stage == "graph") return GraphText(result.graph);
  if (stage == "division") return Division(result);
  if (stage == "lx") return Lx(result.lx);
  if (stage == "loops") return Loops(result.source.body, "");
  if (stage == "opspec") return ToSource(result.source);
  throw BadInput("stage '{}' is not known (known: {}){}", stage, Joined(DumpStages(), ", "),
                 DidYouMean(stage, DumpStages()));
}

}  // namespace spyre::compiler
