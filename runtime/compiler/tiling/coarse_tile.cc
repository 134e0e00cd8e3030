// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/coarse_tile.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/joined.h"
#include "runtime/compiler/ir/nearest_number.h"
#include "runtime/compiler/tiling/tiling_propagation.h"

namespace spyre::compiler {
namespace {

CompileError RuntimeFault(std::string kind, const std::string& message) {
  return {"RuntimeError", std::move(kind), message};
}

void CheckAdjacent(const TileGroup& group, size_t number,
                   const std::map<std::string, size_t>& position) {
  std::vector<size_t> at;
  for (const std::string& name : group.ops) {
    const auto it = position.find(name);
    if (it == position.end()) {
      throw RuntimeFault("unknown_op", fmt::format("coarse tiling: group {} names operation {}, "
                                                   "which is not in the list of operations",
                                                   number, name));
    }
    at.push_back(it->second);
  }
  const auto [low, high] = std::minmax_element(at.begin(), at.end());
  if (*high - *low + 1 == at.size()) return;
  throw RuntimeFault("not_contiguous",
                     fmt::format("coarse tiling: the operations of group {} are not adjacent "
                                 "(positions {}): a data flow crosses the border of the group",
                                 number, Joined(at, ", ")));
}

bool InRange(int dim, size_t rank) { return dim >= 0 && static_cast<size_t>(dim) < rank; }

void ResizeLayout(BufferLayout& layout, const std::vector<Extent>& ranges,
                  const std::vector<int>& dims) {
  if (layout.kind == BufferLayout::Kind::kMutation || layout.size.size() != ranges.size()) return;
  for (const int dim : dims) {
    if (InRange(dim, ranges.size())) layout.size[static_cast<size_t>(dim)] = ranges[dim];
  }
  layout.stride = ContiguousExtents(layout.size);
  if (layout.kind != BufferLayout::Kind::kTiled || !AllNumbers(layout.size)) return;
  const std::vector<int64_t> size = Numbers(layout.size);
  const int stick = StickDimOf(layout.device, Numbers(layout.stride));
  layout.device = MakeBufferLayout(size, layout.device.format, stick).device;
}

void DivideRanges(GraphOp& op, const Extent& count, const std::vector<int>& dims) {
  std::vector<Extent> ranges = op.ranges;
  if (op.partial)
    ranges.insert(ranges.end(), op.reduction_ranges.begin(), op.reduction_ranges.end());
  if (ranges.empty()) return;
  for (const int dim : dims) {
    if (!InRange(dim, ranges.size())) continue;
    Extent& range = ranges[static_cast<size_t>(dim)];
    if (range.is_number() && count.is_number() && range.number() % count.number() != 0) {
      constexpr int64_t kLargest = int64_t{1} << 40;  // whose divisors are found in a moment
      const bool is_small = range.number() >= 1 && range.number() <= kLargest;
      const std::string nearest =
          is_small ? NearestOf(count.number(), DivisorsUpTo(range.number(), range.number())) : "";
      throw RuntimeFault("not_divisible",
                         fmt::format("coarse tiling: operation {}: range {} of dimension {} is not "
                                     "a multiple of the trip count {}{}",
                                     op.name, range.ToString(), dim, count.ToString(),
                                     nearest.empty() ? "" : "; nearest: " + nearest));
    }
    range = range / count;
  }
  const auto own = ranges.begin() + static_cast<std::ptrdiff_t>(op.ranges.size());
  if (op.partial) op.reduction_ranges.assign(own, ranges.end());
  op.ranges.assign(ranges.begin(), own);
  ResizeLayout(op.layout, op.ranges, dims);
}

// The dimensions that a level divides in one operation.
std::vector<int> DimsOf(const GraphOp& op, const TileLevel& level) {
  if (op.dim_hints.empty()) return level.dims;
  std::vector<int> dims;
  for (const DimHint& hint : op.dim_hints) {
    const bool divides = !hint.is_reduction || op.partial;
    if (hint.hint_id == level.hint_id && hint.dim_index && divides) {
      dims = {*hint.dim_index};
    }
  }
  return dims;
}

void StampOp(GraphOp& op, size_t number, const TileGroup& group) {
  LoopStamp stamp;
  stamp.group_id = group.path;
  if (group.path.empty()) {
    stamp.group_id.assign(std::max<size_t>(group.levels.size(), 1), 0);
    stamp.group_id[0] = static_cast<int>(number);
  }
  for (const TileLevel& level : group.levels) {
    const std::vector<int> dims = DimsOf(op, level);
    DivideRanges(op, level.count, dims);
    stamp.count.push_back(level.count);
    stamp.tiled_dims.push_back(dims);
  }
  op.loop = std::move(stamp);
}

bool Divides(const LoopStamp& stamp, size_t level, int dim) {
  const std::vector<int>& dims = stamp.tiled_dims[level];
  return std::find(dims.begin(), dims.end(), dim) != dims.end() && stamp.count[level] != Extent(1);
}

// Loops that are around both, outermost first.
size_t SharedLoops(const GraphOp& a, const GraphOp& b) {
  if (!a.loop || !b.loop) return 0;
  const std::vector<int>& first = a.loop->group_id;
  const std::vector<int>& second = b.loop->group_id;
  const size_t most = std::min(first.size(), second.size());
  size_t shared = 0;
  while (shared < most && first[shared] == second[shared]) ++shared;
  return std::min({shared, a.loop->count.size(), b.loop->count.size()});
}

void CheckTileRead(const GraphOp& producer, const GraphOp& reader, const GraphRead& read) {
  const size_t shared = SharedLoops(producer, reader);
  for (size_t level = 0; level < shared; ++level) {
    for (size_t d = 0; d < read.loop.size(); ++d) {
      const int loop = read.loop[d];
      const bool reduced = loop >= 0 && static_cast<size_t>(loop) >= reader.ranges.size();
      const bool walked = loop >= 0 && Divides(*reader.loop, level, loop);
      const bool divided = Divides(*producer.loop, level, static_cast<int>(d));
      // A tile of a part of a dimension is not the tile of the same number of the whole.
      const bool part = divided && walked && !read.offset.empty() &&
                        (read.offset[d] != 0 || producer.ranges[d] != reader.RangeOf(loop));
      if (divided == walked && !part) continue;
      throw RuntimeFault(
          reduced ? "tiled_reduction_dim" : "tile_mismatch",
          fmt::format("coarse tiling: {} reads {}, whose dimension {} is {}divided by loop level "
                      "{} of their group, and {}",
                      reader.name, producer.name, d, divided ? "" : "not ", level,
                      part      ? "walks a slice of it"
                      : reduced ? "reduces along it"
                      : walked  ? "walks a tile of it only"
                                : "walks all of it"));
    }
  }
}

}  // namespace

int StickDimOf(const StickLayout& device, const std::vector<int64_t>& stride) {
  const auto last = static_cast<int>(stride.size()) - 1;
  if (device.stride_map.empty()) return last;
  const auto it = std::find(stride.begin(), stride.end(), device.stride_map.back());
  return it == stride.end() ? last : static_cast<int>(it - stride.begin());
}

void StampTiles(Graph& graph, const std::vector<TileGroup>& groups) {
  std::map<std::string, size_t> position;
  for (size_t i = 0; i < graph.ops.size(); ++i) position[graph.ops[i].name] = i;
  for (size_t number = 0; number < groups.size(); ++number) {
    const TileGroup& group = groups[number];
    if (group.ops.empty()) continue;
    for (const TileLevel& level : group.levels) {
      if (level.count.is_number() && level.count.number() < 1) {
        throw BadInput("coarse tiling: group {} has a trip count of {}; at least 1 is needed",
                       number, level.count.ToString());
      }
    }
    CheckAdjacent(group, number, position);
    for (const std::string& name : group.ops) {
      GraphOp& op = graph.ops[position.at(name)];
      if (op.IsComputed()) StampOp(op, number, group);
    }
  }
}

void CheckTileReads(const Graph& graph) {
  for (const GraphOp& reader : graph.ops) {
    for (const GraphRead& read : reader.reads) {
      const GraphOp* producer = graph.Find(read.buffer);
      if (producer != nullptr) CheckTileRead(*producer, reader, read);
    }
  }
}

void CoarseTile(Graph& graph, const std::vector<TileGroup>& groups) {
  StampTiles(graph, groups);
  CheckTileReads(graph);
  PropagateTiles(graph, TileReaders::kInnermostLoop);
}

}  // namespace spyre::compiler
