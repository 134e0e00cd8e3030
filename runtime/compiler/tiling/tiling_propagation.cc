// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/tiling_propagation.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/ranges.h"
#include "runtime/compiler/tiling/coarse_tile.h"

namespace spyre::compiler {
namespace {

bool InGroup(const GraphOp& op, int group) {
  return op.loop && !op.loop->group_id.empty() && op.loop->group_id.front() == group;
}

bool DividesNothing(const LoopStamp& loop) {
  return AllFit(loop.tiled_dims, [](const std::vector<int>& dims) { return dims.empty(); });
}

void CheckReduction(const GraphOp& op) {
  for (const std::vector<int>& dims : op.loop->tiled_dims) {
    for (const int dim : dims) {
      if (dim < 0 || static_cast<size_t>(dim) < op.ranges.size() || op.partial) continue;
      throw CompileError("RuntimeError", "tiled_reduction_dim",
                         fmt::format("coarse tiling: reduction {} is tiled along dimension {}, "
                                     "which is one it reduces: it has {} others",
                                     op.name, dim, op.ranges.size()))
          .Subject(op.name);
    }
  }
}

std::vector<int64_t> WholeSize(const GraphOp& op) {
  std::vector<Extent> size = op.ranges;
  for (size_t level = 0; level < op.loop->tiled_dims.size(); ++level) {
    for (const int dim : op.loop->tiled_dims[level]) {
      if (dim < 0 || static_cast<size_t>(dim) >= size.size()) continue;
      Extent& extent = size[static_cast<size_t>(dim)];
      extent = extent * op.loop->count.at(level);
    }
  }
  for (const Extent& extent : size) {
    if (extent.is_number()) continue;
    throw CompileError("TypeError", "symbolic_size",
                       fmt::format("coarse tiling: the whole buffer of {} has the symbolic size {}",
                                   op.name, extent.ToString()))
        .Subject(op.name);
  }
  return Numbers(size);
}

// Works on one graph; positions change as operations are inserted, names do not.
class Propagator {
 public:
  Propagator(Graph& graph, TileReaders readers) : graph_(graph), readers_(readers) {}

  TilePropagation Run() {
    std::map<int, std::vector<std::string>> groups;
    for (const GraphOp& op : graph_.ops) {
      result_.decisions[op.name] = TileDecision::kNone;
      if (op.IsComputed() && op.loop && !op.loop->group_id.empty()) {
        groups[op.loop->group_id.front()].push_back(op.name);
      }
    }
    for (const auto& [group, names] : groups) {
      for (const std::string& name : names) Propagate(name, group);
    }
    return std::move(result_);
  }

 private:
  void Propagate(const std::string& name, int group) {
    const GraphOp& op = *graph_.Find(name);
    if (op.kind == GraphOp::Kind::kReduction) CheckReduction(op);
    std::vector<std::string> outside;
    bool inside = false;
    for (const GraphOp& reader : graph_.ops) {
      if (!reader.IsComputed() || !reader.Reads(name)) continue;
      if (IsInside(reader, op, group)) {
        inside = true;
      } else {
        outside.push_back(reader.name);
      }
    }
    const bool result = graph_.IsOutput(name);
    if (DividesNothing(*op.loop) || (outside.empty() && !result)) {
      MarkFixed(name);
      return;
    }
    const std::string whole = Allocate(op, group);
    if (inside) {
      InsertCopy(name, whole);
    } else {
      Mutate(name, whole);
    }
    result_.decisions[name] = inside ? TileDecision::kCopy : TileDecision::kMutation;
    Redirect(name, whole, outside, result);
  }

  bool IsInside(const GraphOp& reader, const GraphOp& producer, int group) const {
    if (readers_ == TileReaders::kOutermostLoop) return InGroup(reader, group);
    return reader.loop && reader.loop->group_id == producer.loop->group_id;
  }

  void MarkFixed(const std::string& name) {
    BufferLayout& layout = graph_.Find(name)->layout;
    if (layout.kind != BufferLayout::Kind::kTiled) return;
    layout.per_tile_fixed = true;
    result_.decisions[name] = TileDecision::kPerTileFixed;
  }

  std::string Allocate(const GraphOp& op, int group) {
    GraphOp whole;
    whole.name = "full_" + op.name;
    whole.kind = GraphOp::Kind::kEmpty;
    whole.op = "empty";
    whole.host_format = op.host_format;
    const std::vector<int64_t> size = WholeSize(op);
    whole.ranges = Extents(size);
    const bool tiled = op.layout.kind == BufferLayout::Kind::kTiled;
    const DataFormat format = tiled ? op.layout.device.format : DeviceFormatOf(op.host_format);
    const std::vector<int64_t> stride = ContiguousStrides(size);
    whole.layout =
        MakeBufferLayout(size, format, tiled ? StickDimOf(op.layout.device, stride) : -1);
    const auto first = FindIf(graph_.ops, [&](const GraphOp& other) {
      return other.IsComputed() && InGroup(other, group);
    });
    result_.actions.push_back(
        {TileAction::Kind::kAllocateFull, op.name, whole.name, size, first->name, {}});
    std::string name = whole.name;
    graph_.ops.insert(first, std::move(whole));
    return name;
  }

  void InsertCopy(const std::string& name, const std::string& whole) {
    const auto it = FindIf(graph_.ops, [&](const GraphOp& op) { return op.name == name; });
    GraphOp copy;
    copy.name = "copy_" + name;
    copy.op = "identity";
    copy.ranges = it->ranges;
    copy.host_format = it->host_format;
    copy.loop = it->loop;
    copy.layout.kind = BufferLayout::Kind::kMutation;
    copy.layout.target = whole;
    GraphRead read{name, std::vector<int>(copy.ranges.size()), {}};
    std::iota(read.loop.begin(), read.loop.end(), 0);
    copy.reads.push_back(std::move(read));
    graph_.ops.insert(it + 1, std::move(copy));
    result_.actions.push_back({TileAction::Kind::kInsertCopyAfter, name, whole, {}, {}, {}});
  }

  void Mutate(const std::string& name, const std::string& whole) {
    BufferLayout layout;
    layout.kind = BufferLayout::Kind::kMutation;
    layout.target = whole;
    graph_.Find(name)->layout = std::move(layout);
  }

  void Redirect(const std::string& name, const std::string& whole,
                const std::vector<std::string>& outside, bool result) {
    for (const std::string& consumer : outside) {
      for (GraphRead& read : graph_.Find(consumer)->reads) {
        if (read.buffer == name) read.buffer = whole;
      }
    }
    result_.actions.push_back({TileAction::Kind::kRedirectConsumers, name, whole, {}, {}, outside});
    if (!result) return;
    std::replace(graph_.outputs.begin(), graph_.outputs.end(), name, whole);
    result_.actions.push_back({TileAction::Kind::kRedirectGraphOutput, name, whole, {}, {}, {}});
  }

  Graph& graph_;
  const TileReaders readers_;
  TilePropagation result_;
};

}  // namespace

TilePropagation PropagateTiles(Graph& graph, TileReaders readers) {
  return Propagator(graph, readers).Run();
}

}  // namespace spyre::compiler
