// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/tiled_reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/ranges.h"
#include "runtime/compiler/front_end/bmm_padding.h"
#include "runtime/compiler/front_end/named_lowering.h"
#include "runtime/compiler/ops/op_entries.h"

namespace spyre::compiler {
namespace {

// What puts the results of two tiles together; "": nothing does.
std::string CombinerOf(const GraphOp& op) {
  return op.kind == GraphOp::Kind::kReduction ? std::string(compiler::CombinerOf(op.op)) : "";
}

bool HasTiles(const GraphOp& op) {
  return AnyFits(op.dim_hints,
                 [](const DimHint& hint) { return hint.is_reduction && hint.count > 1; });
}

class Splitter {
 public:
  explicit Splitter(FrontEndResult& result) : result_(result), graph_(result.graph) {}

  void Run() {
    std::vector<std::string> reductions;
    for (const GraphOp& op : graph_.ops)
      if (!CombinerOf(op).empty() && HasTiles(op)) reductions.push_back(op.name);
    for (const std::string& name : reductions) Split(name);
    if (!reductions.empty()) result_.loop_names = NameLoops(graph_);
  }

 private:
  void Split(const std::string& name) {
    const size_t at = PositionOf(name);
    const auto [first, last] = GroupOf(at);
    CheckReaders(name, at, last);
    CheckTiles(graph_.ops[at]);

    GraphOp tile = graph_.ops[at];
    tile.name = UnusedName(result_, name + kTileOfReduction);
    tile.partial = true;

    GraphOp whole;
    whole.name = name;
    whole.kind = GraphOp::Kind::kEmpty;
    whole.op = "empty";
    whole.host_format = tile.host_format;
    whole.ranges = tile.ranges;
    whole.layout = tile.layout;

    GraphOp start = WriterOf(whole, ".start", "identity", tile);
    const std::string combiner = CombinerOf(tile);
    if (combiner == "add") {
      start.reads = {{ZeroArgument(result_, tile.host_format), {-1}, {}}};
    } else {
      BeginWithTheFirstTile(tile, first, start);
    }

    GraphOp add = WriterOf(whole, ".combine", combiner, tile);
    GraphRead all{name, std::vector<int>(whole.ranges.size()), {}};
    std::iota(all.loop.begin(), all.loop.end(), 0);
    add.reads = {all, all};
    add.reads[1].buffer = tile.name;
    add.dim_hints = tile.dim_hints;
    for (DimHint& hint : add.dim_hints)
      if (hint.is_reduction) hint = {hint.hint_id, hint.dim, hint.count, std::nullopt, false};

    Explain(name, tile);
    graph_.ops[at] = std::move(tile);
    graph_.ops.insert(graph_.ops.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(add));
    graph_.ops.insert(graph_.ops.begin() + static_cast<std::ptrdiff_t>(first),
                      {std::move(whole), std::move(start)});
  }

  GraphOp WriterOf(const GraphOp& whole, const char* suffix, const std::string& func,
                   const GraphOp& tile) const {
    GraphOp op;
    op.name = UnusedName(result_, whole.name + suffix);
    op.op = func;
    op.ranges = whole.ranges;
    op.host_format = whole.host_format;
    op.loop_names = tile.loop_names;
    op.loop_names.resize(std::min(op.loop_names.size(), op.ranges.size()));
    op.layout.kind = BufferLayout::Kind::kMutation;
    op.layout.target = whole.name;
    return op;
  }

  // The largest of nothing is not a number, and to take the first tile twice changes nothing.
  void BeginWithTheFirstTile(const GraphOp& tile, size_t first, GraphOp& start) const {
    const std::string& operand = tile.reads.front().buffer;
    if (graph_.Find(operand) != nullptr && PositionOf(operand) >= first)
      throw CompileError(
          "RuntimeError", "tiled_reduction_dim",
          fmt::format("coarse tiling: {} reduces along what a hint divides, beginning with the "
                      "first tile of {}, which is made in the same loop; begin the hint behind {}",
                      ListNameOf(tile.name), operand, operand))
          .Subject(operand)
          .Remedy("begin the hint behind " + operand);
    start.kind = GraphOp::Kind::kReduction;
    start.op = tile.op;
    start.reduction_type = tile.reduction_type;
    start.loop_names = tile.loop_names;
    start.reduction_ranges = tile.reduction_ranges;
    for (const DimHint& hint : tile.dim_hints) {
      if (!hint.is_reduction) continue;
      Extent& range =
          start.reduction_ranges[static_cast<size_t>(*hint.dim_index) - tile.ranges.size()];
      range = range / Extent(hint.count);
    }
    start.reads = tile.reads;
    for (GraphRead& read : start.reads) read.offset.resize(read.loop.size());  // a part of it
  }

  // Operations that become one group: neighbours under the same hints. First, behind the last.
  std::pair<size_t, size_t> GroupOf(size_t at) const {
    const auto same = [&](size_t i) {
      const GraphOp& op = graph_.ops[i];
      return op.IsComputed() && HintIds(op) == HintIds(graph_.ops[at]);
    };
    size_t first = at, last = at + 1;
    while (first > 0 && same(first - 1)) --first;
    while (last < graph_.ops.size() && same(last)) ++last;
    return {first, last};
  }

  static std::vector<int> HintIds(const GraphOp& op) {
    std::vector<int> ids;
    for (const DimHint& hint : op.dim_hints) ids.push_back(hint.hint_id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  void CheckReaders(const std::string& name, size_t at, size_t last) const {
    for (size_t i = at + 1; i < last; ++i) {
      if (!graph_.ops[i].Reads(name)) continue;
      throw CompileError(
          "RuntimeError", "tiled_reduction_dim",
          fmt::format(
              "coarse tiling: {} reads {} in the loop that makes it tile by tile, and {} is "
              "whole only behind the loop; end the hint with {}, or cut a dimension that "
              "{} does not reduce",
              graph_.ops[i].name, name, name, name, name))
          .Subject(name)
          .Remedy("end the hint behind " + name);
    }
  }

  // Checks the tiles of the reduced dimensions. Others are checked where tiles are made.
  void CheckTiles(const GraphOp& op) const {
    for (const DimHint& hint : op.dim_hints) {
      if (hint.dim_index || hint.count == 1) continue;
      throw CompileError(
          "RuntimeError", "tiled_reduction_dim",
          fmt::format(
              "coarse tiling: {} has no dimension {}, so that it would take its tiles again "
              "in each of the {} iterations; leave {} out of that hint",
              op.name, hint.dim, hint.count, op.name))
          .Subject(op.name)
          .Remedy("leave it out of the hint");
    }
    std::map<int, int64_t> cut;
    for (const DimHint& hint : op.dim_hints)
      if (hint.is_reduction) cut.emplace(*hint.dim_index, 1).first->second *= hint.count;
    for (const auto& [loop, count] : cut) {
      const int64_t size = op.RangeOf(loop).number();
      if (size % count != 0)
        throw CompileError("RuntimeError", "not_divisible",
                           fmt::format("coarse tiling: operation {}: the {} elements that it "
                                       "reduces are not a multiple of {} tiles",
                                       op.name, size, count))
            .Subject(op.name);
      for (const GraphRead& read : op.reads) {
        const StickLayout& layout = graph_.LayoutOf(read.buffer).device;
        const auto host = std::find(read.loop.begin(), read.loop.end(), loop);
        const int64_t per_stick = ElementsPerStick(layout.format);
        if (host == read.loop.end() || layout.stick_dim() != host - read.loop.begin() ||
            size / count % per_stick == 0)
          continue;
        throw CompileError("Unsupported", "partial_stick_tile",
                           fmt::format("operation '{}': a tile of {} elements of '{}' is not a "
                                       "whole number of sticks of {}; use fewer slices",
                                       op.name, size / count, read.buffer, per_stick))
            .Subject(op.name)
            .Remedy("fewer slices");
      }
    }
  }

  size_t PositionOf(const std::string& op) const {
    return static_cast<size_t>(graph_.Find(op) - graph_.ops.data());
  }

  void Explain(const std::string& name, const GraphOp& tile) {
    int64_t tiles = 1;
    for (const DimHint& hint : tile.dim_hints)
      if (hint.is_reduction) tiles *= hint.count;
    result_.decisions.push_back(
        {"hints",
         name,
         fmt::format("{} tiles, whose results are put together by '{}'", tiles, CombinerOf(tile)),
         "a hint divides what it reduces (tiled_reductions = plan)",
         {}});
  }

  FrontEndResult& result_;
  Graph& graph_;
};

}  // namespace

void SplitTiledReductions(FrontEndResult& graph) { Splitter(graph).Run(); }

}  // namespace spyre::compiler
