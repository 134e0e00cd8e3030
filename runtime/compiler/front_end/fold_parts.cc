// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/fold_parts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/ranges.h"
#include "runtime/compiler/front_end/lower_to_op_specs.h"
#include "runtime/compiler/ops/op_entries.h"

namespace spyre::compiler {
namespace {

constexpr const char* kChunk = ".chunk";
constexpr size_t kSecondOperand = 1;

int64_t At(const std::vector<int64_t>& offset, size_t d) {
  return d < offset.size() ? offset[d] : 0;
}

class Folder {
 public:
  explicit Folder(const FrontEndResult& graph) : result_(graph), graph_(graph.graph) {}

  FoldedGraph Run() {
    FoldedGraph folded;
    folded.loop_names = result_.loop_names;
    for (const GraphOp& op : graph_.ops) {
      if (op.kind == GraphOp::Kind::kEmpty || used_.count(op.name) != 0) continue;
      if (const auto sum = SumOf(op)) {
        folded.loop_names[sum->name] = LoopNames(op.name);
        folded.ops.push_back(*sum);
      } else if (const auto whole = WholeOf(op)) {
        folded.loop_names[whole->name] = LoopNames(op.name);
        folded.ops.push_back(*whole);
      } else {
        folded.ops.push_back(op);
      }
    }
    for (GraphOp& op : folded.ops) Unpad(op, folded.ops);
    folded.ops.erase(std::remove_if(folded.ops.begin(), folded.ops.end(),
                                    [&](const GraphOp& op) { return used_.count(op.name) != 0; }),
                     folded.ops.end());
    return folded;
  }

 private:
  std::vector<std::string> LoopNames(const std::string& op) const {
    const auto found = result_.loop_names.find(op);
    return found == result_.loop_names.end() ? std::vector<std::string>() : found->second;
  }

  // ---------------------------------------------------------------- chunks

  // The operation whose first chunk this is; nothing: it is not a chunk, or not all are there.
  std::optional<GraphOp> WholeOf(const GraphOp& first) {
    const size_t suffix = first.name.rfind(kChunk);
    if (suffix == std::string::npos || first.layout.kind != BufferLayout::Kind::kMutation)
      return std::nullopt;
    std::vector<const GraphOp*> chunks;
    for (const GraphOp& op : graph_.ops)
      if (op.name.compare(0, suffix + 1, first.name, 0, suffix + 1) == 0 &&
          op.name.rfind(kChunk) == suffix)
        chunks.push_back(&op);
    const std::optional<size_t> dim = DimOf(chunks);
    if (!dim) return std::nullopt;
    GraphOp whole = first;
    whole.name = first.name.substr(0, suffix);
    int64_t end = At(first.layout.offset, *dim);
    for (const GraphOp* const chunk : chunks) {
      if (!IsNext(first, *chunk, *dim, end)) return std::nullopt;
      end += chunk->ranges[*dim].number();
    }
    whole.ranges[*dim] = Extent(end - At(first.layout.offset, *dim));
    const GraphOp* const buffer = graph_.Find(whole.name);
    if (buffer != nullptr && buffer->kind == GraphOp::Kind::kEmpty) {
      if (first.layout.target != whole.name || buffer->ranges != whole.ranges) return std::nullopt;
      whole.layout = buffer->layout;
    }
    for (const GraphOp* const chunk : chunks) used_.insert(chunk->name);
    return whole;
  }

  // The dimension along which the parts of the result follow each other.
  static std::optional<size_t> DimOf(const std::vector<const GraphOp*>& chunks) {
    if (chunks.size() < 2) return std::nullopt;
    std::optional<size_t> dim;
    for (size_t d = 0; d < chunks[0]->ranges.size(); ++d) {
      if (At(chunks[0]->layout.offset, d) == At(chunks[1]->layout.offset, d)) continue;
      if (dim) return std::nullopt;
      dim = d;
    }
    return dim;
  }

  // Whether the chunk does what the first one does, from `begin` on.
  static bool IsNext(const GraphOp& first, const GraphOp& chunk, size_t dim, int64_t begin) {
    bool same = chunk.kind == first.kind && chunk.op == first.op &&
                chunk.reduction_type == first.reduction_type &&
                chunk.ranges.size() == first.ranges.size() &&
                chunk.reduction_ranges == first.reduction_ranges &&
                chunk.reads.size() == first.reads.size() &&
                chunk.host_format == first.host_format && !chunk.loop && !first.loop &&
                chunk.layout.kind == BufferLayout::Kind::kMutation &&
                chunk.layout.target == first.layout.target &&
                chunk.constants.size() == first.constants.size();
    for (size_t i = 0; same && i < chunk.constants.size(); ++i)
      same = chunk.constants[i].name == first.constants[i].name &&
             chunk.constants[i].value == first.constants[i].value;
    for (size_t d = 0; same && d < chunk.ranges.size(); ++d) {
      const int64_t expected = d == dim ? begin : At(first.layout.offset, d);
      same = At(chunk.layout.offset, d) == expected &&
             (d == dim || chunk.ranges[d] == first.ranges[d]);
    }
    const int64_t moved = begin - At(first.layout.offset, dim);
    for (size_t r = 0; same && r < chunk.reads.size(); ++r) {
      const GraphRead& own = chunk.reads[r];
      const GraphRead& its = first.reads[r];
      same = own.buffer == its.buffer && own.loop == its.loop;
      for (size_t d = 0; same && d < own.loop.size(); ++d) {
        const bool walks = own.loop[d] == static_cast<int>(dim);
        same = At(own.offset, d) == At(its.offset, d) + (walks ? moved : 0);
      }
    }
    return same;
  }

  // ---------------------------------------------------------------- sums of tiles

  // The sum of which this makes the tiles; nothing: it does not, or they are not added up.
  std::optional<GraphOp> SumOf(const GraphOp& tile) {
    if (!tile.partial || tile.kind != GraphOp::Kind::kReduction ||
        tile.layout.kind != BufferLayout::Kind::kTiled || compiler::CombinerOf(tile.op).empty())
      return std::nullopt;
    const GraphOp* const add = OnlyReader(tile.name);
    if (add == nullptr || add->layout.kind != BufferLayout::Kind::kMutation) return std::nullopt;
    const GraphOp* const sum = graph_.Find(add->layout.target);
    const GraphOp* const start = sum == nullptr ? nullptr : OtherWriter(*sum, *add);
    if (sum == nullptr || sum->kind != GraphOp::Kind::kEmpty || start == nullptr ||
        !IsStart(*start, *sum, tile) || !IsAdd(*add, *sum, tile))
      return std::nullopt;
    GraphOp whole = tile;
    whole.name = sum->name;
    whole.partial = false;
    whole.layout = sum->layout;
    for (size_t level = 0; whole.loop && level < whole.loop->tiled_dims.size(); ++level) {
      std::vector<int>& dims = whole.loop->tiled_dims[level];
      for (const int dim : dims) {
        const auto d = static_cast<size_t>(dim);
        if (d < whole.ranges.size()) continue;
        Extent& range = whole.reduction_ranges[d - whole.ranges.size()];
        range = range * whole.loop->count[level];
      }
      dims.erase(
          std::remove_if(dims.begin(), dims.end(),
                         [&](int dim) { return static_cast<size_t>(dim) >= whole.ranges.size(); }),
          dims.end());
    }
    used_.insert(add->name);
    used_.insert(start->name);
    return whole;
  }

  // Null: none, or several.
  const GraphOp* OnlyReader(const std::string& buffer) const {
    const GraphOp* found = nullptr;
    for (const GraphOp& op : graph_.ops) {
      if (!op.Reads(buffer)) continue;
      if (found != nullptr) return nullptr;
      found = &op;
    }
    return graph_.IsOutput(buffer) ? nullptr : found;
  }

  // The other one of two writers; null if there are more than two.
  const GraphOp* OtherWriter(const GraphOp& buffer, const GraphOp& one) const {
    const GraphOp* other = nullptr;
    for (const GraphOp& op : graph_.ops) {
      if (op.layout.kind != BufferLayout::Kind::kMutation || op.layout.target != buffer.name ||
          &op == &one)
        continue;
      if (other != nullptr) return nullptr;
      other = &op;
    }
    return other;
  }

  bool IsStart(const GraphOp& start, const GraphOp& sum, const GraphOp& tile) const {
    if (compiler::CombinerOf(tile.op) != "add") return IsFirstPart(start, sum, tile);
    return start.kind == GraphOp::Kind::kPointwise && start.op == "identity" && !start.loop &&
           start.constants.empty() && start.layout.offset.empty() && start.ranges == sum.ranges &&
           start.reads.size() == 1 && start.reads[0].offset.empty() &&
           IsZero(start.reads[0].buffer);
  }

  // The largest or smallest of some elements among those of the tiles.
  static bool IsFirstPart(const GraphOp& start, const GraphOp& sum, const GraphOp& tile) {
    bool right = start.kind == GraphOp::Kind::kReduction && start.op == tile.op && !start.loop &&
                 start.reduction_type == tile.reduction_type && !start.partial &&
                 start.constants.empty() && start.layout.offset.empty() &&
                 start.ranges == sum.ranges && start.reads.size() == 1 && tile.reads.size() == 1 &&
                 start.reads[0].buffer == tile.reads[0].buffer &&
                 start.reads[0].loop == tile.reads[0].loop && tile.reads[0].offset.empty() &&
                 start.reduction_ranges.size() == tile.reduction_ranges.size();
    for (const int64_t offset : start.reads[0].offset) right = right && offset == 0;
    return right;
  }

  // sum + tile, element by element, in the loops of the tile; nothing reads the sum before.
  bool IsAdd(const GraphOp& add, const GraphOp& sum, const GraphOp& tile) const {
    bool right = add.kind == GraphOp::Kind::kPointwise && add.op == compiler::CombinerOf(tile.op) &&
                 add.constants.empty() && add.layout.offset.empty() && add.reads.size() == 2 &&
                 add.reads[0].buffer == sum.name && add.reads[1].buffer == tile.name &&
                 add.ranges == tile.ranges && add.loop.has_value() == tile.loop.has_value() &&
                 add.host_format == tile.host_format && sum.host_format == tile.host_format;
    for (size_t r = 0; right && r < add.reads.size(); ++r) {
      right = add.reads[r].offset.empty() && add.reads[r].loop.size() == add.ranges.size();
      for (size_t d = 0; right && d < add.ranges.size(); ++d)
        right = add.reads[r].loop[d] == static_cast<int>(d);
    }
    if (right && add.loop) {
      right = add.loop->group_id == tile.loop->group_id && add.loop->count == tile.loop->count;
      for (size_t level = 0; right && level < add.loop->tiled_dims.size(); ++level) {
        std::vector<int> own;
        for (const int dim : tile.loop->tiled_dims[level])
          if (static_cast<size_t>(dim) < tile.ranges.size()) own.push_back(dim);
        // A loop that divides nothing would add the same tile again.
        right = add.loop->tiled_dims[level] == own &&
                (!tile.loop->tiled_dims[level].empty() || add.loop->count[level] == Extent(1));
      }
    }
    const auto place = [&](const GraphOp& op) { return &op - graph_.ops.data(); };
    for (const GraphOp& op : graph_.ops) {
      if (&op == &add || !op.Reads(sum.name)) continue;
      const bool inside =
          op.loop && add.loop && op.loop->group_id.front() == add.loop->group_id.front();
      right = right && place(op) > place(add) && !inside;
    }
    return right && place(tile) < place(add);
  }

  // ---------------------------------------------------------------- padding

  // A matmul whose second operand is a buffer of the operand and zeros behind it. `ops`: with
  // chunks put together, for the copies into that buffer may be cut as others.
  void Unpad(GraphOp& op, const std::vector<GraphOp>& ops) {
    const auto mask = FindIf(op.constants, [](const OpConstant& c) {
      return c.name == kMaskContraction && c.value == 1;
    });
    if (op.reduction_type != "batchmatmul" || op.reads.size() != kSecondOperand + 1 ||
        mask == op.constants.end())
      return;
    GraphRead& read = op.reads[kSecondOperand];
    const GraphOp* const whole = graph_.Find(read.buffer);
    const auto sums =
        std::find(read.loop.begin(), read.loop.end(), static_cast<int>(op.ranges.size()));
    if (whole == nullptr || whole->kind != GraphOp::Kind::kEmpty || sums == read.loop.end()) return;
    const auto k = static_cast<size_t>(sums - read.loop.begin());
    const GraphOp* const rows = WriterOf(ops, whole->name, false);
    const GraphOp* const zeros = WriterOf(ops, whole->name, true);
    if (rows == nullptr || zeros == nullptr) return;
    for (size_t d = 0; d < whole->ranges.size(); ++d) {
      const int64_t size = whole->ranges[d].number();
      const int64_t own = rows->ranges[d].number();
      const bool right = rows->reads[0].loop[d] == static_cast<int>(d) &&
                         At(rows->layout.offset, d) == 0 &&
                         At(zeros->layout.offset, d) == (d == k ? own : 0) &&
                         zeros->ranges[d].number() == (d == k ? size - own : size) &&
                         (d == k ? own == op.reduction_ranges[0].number() : own == size) &&
                         At(read.offset, d) == 0;
      if (!right) return;
    }
    read.buffer = rows->reads[0].buffer;
    read.offset = rows->reads[0].offset;  // of a slice
    op.constants.erase(mask);
    used_.insert(rows->name);
    used_.insert(zeros->name);
  }

  // The only copy into the buffer of one number 0, or of another buffer; null: none, or several.
  const GraphOp* WriterOf(const std::vector<GraphOp>& ops, const std::string& buffer,
                          bool zero) const {
    const GraphOp* found = nullptr;
    int writers = 0;
    for (const GraphOp& op : ops) {
      if (op.layout.kind != BufferLayout::Kind::kMutation || op.layout.target != buffer) continue;
      ++writers;
      const bool copies = op.op == "identity" && op.reads.size() == 1 && !op.loop &&
                          op.reduction_ranges.empty() && op.constants.empty();
      if (copies && IsZero(op.reads[0].buffer) == zero) found = &op;
    }
    return writers == 2 ? found : nullptr;
  }

  bool IsZero(const std::string& buffer) const {
    for (const NamedTensor& tensor : result_.primitives.tensors)
      if (tensor.name == buffer)
        return tensor.origin == NamedTensor::Origin::kConstant && tensor.value == 0;
    return false;
  }

  const FrontEndResult& result_;
  const Graph& graph_;
  std::set<std::string> used_;  // operations that are parts of others
};

}  // namespace

FoldedGraph FoldParts(const FrontEndResult& graph) { return Folder(graph).Run(); }

}  // namespace spyre::compiler
