// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/indirect_step.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace {

enum IndirectToken : uint8_t {
  kNoToken = 0,
  kBlockFull = 1,  // load -> store
  kBlockFree = 2,  // store -> load
  kIndices = 3,    // load -> the unit that follows the indices
};

constexpr int kIn = 0;
constexpr int kOut = 1;
constexpr int kIndex = 2;
constexpr int kSlots = 4;  // blocks under way
constexpr int64_t kNumberBytes = 4;

// A dimension that blocks do not have: an index for each of its elements.
struct Position {
  int64_t count = 1;
  int64_t lx_stride = 0;  // of the indices in LX; 0: not walked by them
  int64_t stick = 1;  // indices in a stick, if it is inside the sticks; then lx_stride is a stick's
  int64_t other_stride = 0;  // of the tensor that is not indexed
};

// A dimension of a block, in sticks if it is inside them.
struct BlockSide {
  int64_t count = 1;
  int64_t indexed_stride = 0;
  int64_t other_stride = 0;
};

class Indirect {
 public:
  Indirect(const SuperDsc& dsc, Problem& problem)
      : dsc_(dsc), p_(problem), index_(dsc.tensors[dsc.index]), lx_(problem.lx_base) {
    gathers_ = IsIndexed(dsc.tensors[dsc.inputs.front()]);
    const SdscTensor& indexed = dsc.tensors[gathers_ ? dsc.inputs.front() : dsc.outputs.front()];
    const SdscTensor& other = dsc.tensors[gathers_ ? dsc.outputs.front() : dsc.inputs.front()];
    if (IsIndexed(other)) {
      throw BadInput("{}: input and output both are taken by an index; one of them may be",
                     p_.name);
    }
    if (indexed.stick_dims != other.stick_dims || indexed.stick_sizes != other.stick_sizes ||
        indexed.format != other.format || indexed.stick_dims.size() != 1) {
      throw BadInput(
          "{}: {} and {} must have the same dimension in their sticks, and the same "
          "format",
          p_.name, indexed.name, other.name);
    }
    if (index_.in_lx || index_.stick_dims.size() != 1 || index_.word_bytes != kNumberBytes) {
      throw BadInput("{}: the index tensor {} must be 32-bit numbers in device memory", p_.name,
                     index_.name);
    }
    indexed_ = gathers_ ? kIn : kOut;
    other_ = gathers_ ? kOut : kIn;
    staged_ = !p_.operands[other_].in_lx;
    block_bytes_ = IndexedBlockBytes(dsc, indexed);
    ReadDims(indexed, other);
    PlaceInLx();
  }

  uint64_t Build(StepCode& code) {
    code.Emit(Unit::kLoad, [&](SectionBuilder& b) { Load(b, code.loops(Unit::kLoad)); });
    if (staged_ || !gathers_)
      code.Emit(Unit::kStore, [&](SectionBuilder& b) { Store(b, code.loops(Unit::kStore)); });
    code.Keep(lx_.uses());
    return lx_.used();
  }

 private:
  static int ScaleOf(const SdscTensor& tensor, int dim) {
    const auto at = std::find(tensor.dim_order.begin(), tensor.dim_order.end(), dim);
    return at == tensor.dim_order.end()
               ? -1
               : tensor.scale[static_cast<size_t>(at - tensor.dim_order.begin())];
  }

  void ReadDims(const SdscTensor& indexed, const SdscTensor& other) {
    const std::vector<int64_t> indexed_stride = DimStrides(dsc_, indexed);
    const std::vector<int64_t> other_stride = DimStrides(dsc_, other);
    const std::vector<int64_t> index_stride = DimStrides(dsc_, index_);
    const int stick = indexed.stick_dims.front();
    const int index_stick = index_.stick_dims.front();
    for (int dim = 0; dim < static_cast<int>(dsc_.dims.size()); ++dim) {
      const SdscDim& d = dsc_.dims[static_cast<size_t>(dim)];
      const bool chosen = ScaleOf(indexed, dim) == 0;
      const bool has_index = d.per_core > 1 && ScaleOf(index_, dim) > 0;
      if (chosen && dim == stick) {
        throw BadInput("{}: '{}' is inside the sticks of {}; an index chooses whole sticks",
                       p_.name, d.name, indexed.name);
      }
      if (has_index && !chosen) {
        throw BadInput(
            "{}: {} has an index for each element of '{}', which is inside the blocks; "
            "one for each block is supported",
            p_.name, index_.name, d.name);
      }
      const int64_t elements = dim == stick ? indexed.stick_sizes.front() : 1;
      if (d.slices > 1 && d.per_core % elements != 0) {
        throw BadInput("{}: {} elements of '{}' on each core are not whole sticks", p_.name,
                       d.per_core, d.name);
      }
      if (!chosen) {
        const int64_t count = (d.per_core + elements - 1) / elements;
        const auto at = static_cast<size_t>(dim);
        if (count > 1) sides_.push_back({count, indexed_stride[at], other_stride[at]});
        continue;
      }
      Position position;
      position.count = d.per_core;
      position.other_stride = other_stride[static_cast<size_t>(dim)];
      if (has_index && dim == index_stick) position.stick = index_.stick_sizes.front();
      if (has_index && d.slices > 1 && d.per_core % position.stick != 0) {
        throw BadInput("{}: {} indices of '{}' on each core are not whole sticks of {}", p_.name,
                       d.per_core, d.name, position.stick);
      }
      positions_.push_back(position);
      index_strides_.push_back(has_index ? index_stride[static_cast<size_t>(dim)] : 0);
    }
    // Rows of sticks of indices follow each other in LX, those of the last dimension innermost.
    int64_t next = kStick;
    for (size_t i = positions_.size(); i-- > 0;) {
      if (index_strides_[i] == 0 && positions_[i].stick == 1) continue;
      positions_[i].lx_stride = next;
      if (positions_[i].stick == 1) loads_ *= positions_[i].count;
      next *= (positions_[i].count + positions_[i].stick - 1) / positions_[i].stick;
    }
    index_bytes_ = next;
    // The denser side of the box in memory that is not chosen at random.
    StableSort(sides_, [](const BlockSide& a, const BlockSide& b) {
      return a.indexed_stride < b.indexed_stride;
    });
  }

  void PlaceInLx() {
    indices_at_ = lx_.Take(index_bytes_, "indices");
    rows_ = sides_.empty() ? 1 : sides_.front().count;
    planes_ = sides_.size() < 2 ? 1 : sides_[1].count;
    const auto left = static_cast<int64_t>(p_.lx_bytes - std::min(p_.lx_bytes, lx_.used()));
    const int64_t most = staged_ ? left / (kSlots * kStick) : rows_ * planes_;
    if (most < 1) {
      throw BadInput("{}: needs {} bytes of LX; {} may be used", p_.name,
                     index_bytes_ + kSlots * kStick, p_.lx_bytes);
    }
    rows_ = BalancedTile(rows_, most);
    planes_ = BalancedTile(planes_, std::max<int64_t>(1, most / rows_));
    if (staged_) blocks_ = Buffers::Take(lx_, rows_ * planes_ * kStick, kSlots, "blocks");
  }

  // The indices of the core: whole sticks, one load for each run of them.
  void LoadIndices(SectionBuilder& b, Reg device) const {
    IndexRows(b, 0, device, b.Const(indices_at_));
  }
  void IndexRows(SectionBuilder& b, size_t level, Reg device, Reg lx) const {
    if (level == positions_.size()) return LoadRun(b, device, lx);
    const Position& position = positions_[level];
    if (position.lx_stride == 0 || position.stick > 1) return IndexRows(b, level + 1, device, lx);
    b.Loop(b.Const(position.count), [&](Reg i) {
      IndexRows(b, level + 1, b.Add(device, i, index_strides_[level]),
                b.Add(lx, i, position.lx_stride));
    });
  }
  void LoadRun(SectionBuilder& b, Reg device, Reg lx) const {
    BoxSide sticks{b.Const(1), kZero, kZero};
    for (size_t i = 0; i < positions_.size(); ++i) {
      const Position& position = positions_[i];
      if (position.stick == 1) continue;
      sticks = {b.Const((position.count + position.stick - 1) / position.stick),
                b.Const(index_strides_[i]), b.Const(position.lx_stride)};
    }
    EmitBox(b, Op::kLoad, {kNoToken, kIndices}, lx, device, sticks, {b.Const(1), kZero, kZero});
  }

  // Calls body with the address of each index in LX, and of its block of the other tensor.
  using Body = std::function<void(Reg index, Reg other)>;
  void ForEachIndex(SectionBuilder& b, size_t level, Reg index, Reg other, const Body& body) const {
    if (level == positions_.size()) return body(index, other);
    const Position& position = positions_[level];
    if (position.count == 1) return ForEachIndex(b, level + 1, index, other, body);
    if (position.stick == 1) {
      b.Loop(b.Const(position.count), [&](Reg i) {
        ForEachIndex(b, level + 1, b.Add(index, i, position.lx_stride),
                     b.Add(other, i, position.other_stride), body);
      });
      return;
    }
    const int64_t sticks = (position.count + position.stick - 1) / position.stick;
    b.Loop(b.Const(sticks), [&](Reg stick) {
      const Reg left = b.Add(b.Const(position.count), stick, -position.stick);
      const Reg of_stick = b.Add(index, stick, position.lx_stride);
      const Reg other_of_stick = b.Add(other, stick, position.stick * position.other_stride);
      b.Loop(b.Min(b.Const(position.stick), left), [&](Reg i) {
        ForEachIndex(b, level + 1, b.Add(of_stick, i, kNumberBytes),
                     b.Add(other_of_stick, i, position.other_stride), body);
      });
    });
  }

  // Calls body with the addresses of each box of a block, and its rows and planes.
  using Box = std::function<void(Reg indexed, Reg other, Reg rows, Reg planes)>;
  void ForEachBox(SectionBuilder& b, size_t level, Reg indexed, Reg other, Reg rows, Reg planes,
                  const Box& body) const {
    if (level == sides_.size()) return body(indexed, other, rows, planes);
    const BlockSide& side = sides_[level];
    const int64_t tile = level == 0 ? rows_ : level == 1 ? planes_ : 1;
    Reg& count = level == 0 ? rows : planes;
    if (tile == side.count) {
      if (level < 2) count = b.Const(tile);
      return ForEachBox(b, level + 1, indexed, other, rows, planes, body);
    }
    b.Loop(b.Const((side.count + tile - 1) / tile), [&](Reg i) {
      if (level < 2) count = b.Min(b.Const(tile), b.Add(b.Const(side.count), i, -tile));
      ForEachBox(b, level + 1, b.Add(indexed, i, tile * side.indexed_stride),
                 b.Add(other, i, tile * side.other_stride), rows, planes, body);
    });
  }

  BoxSide SideOf(SectionBuilder& b, size_t level, Reg count, bool indexed, bool in_place) const {
    if (level >= sides_.size()) return {b.Const(1), kZero, kZero};
    const BlockSide& side = sides_[level];
    const int64_t packed = level == 0 ? kStick : rows_ * kStick;
    return {count, b.Const(indexed ? side.indexed_stride : side.other_stride),
            b.Const(in_place ? side.other_stride : packed)};
  }

  // All boxes in order, moved between device memory and LX. indexed: the address follows the
  // indices, else it is the other tensor's.
  void Move(SectionBuilder& b, Op op, bool indexed, const std::vector<Reg>& outer) const {
    const bool is_load = op == Op::kLoad;
    std::vector<int> operands = {indexed ? indexed_ : other_};
    const bool in_place = !staged_;  // the other tensor is in LX, and the only staging there is
    if (in_place) operands = {indexed_, other_};
    TileWalk walk(b, p_, operands, outer);
    const Reg start = walk.address(indexed ? indexed_ : other_);
    const Reg other_start = in_place || !indexed ? walk.address(other_) : kZero;
    BufferCursor buffer(b, blocks_);
    ForEachIndex(b, 0, b.Const(indices_at_), other_start, [&](Reg index, Reg other) {
      const Reg chosen =
          indexed
              ? b.Add(start, b.Index(index, b.Const(p_.index_tensor), p_.index_rows), block_bytes_)
              : kZero;
      ForEachBox(
          b, 0, chosen, other, b.Const(1), b.Const(1), [&](Reg from, Reg to, Reg rows, Reg planes) {
            const Order order = in_place  ? Order{kNoToken, kNoToken}
                                : is_load ? Order{kBlockFree, kBlockFull}
                                          : Order{kBlockFull, kBlockFree};
            EmitBox(b, op, order, in_place ? to : buffer.at(), indexed ? from : to,
                    SideOf(b, 0, rows, indexed, in_place), SideOf(b, 1, planes, indexed, in_place));
            if (!in_place) buffer.Advance();
          });
    });
  }

  void Load(SectionBuilder& b, const std::vector<Reg>& outer) const {
    b.Scoped([&] {
      TileWalk walk(b, p_, {kIndex}, outer);
      LoadIndices(b, walk.address(kIndex));
    });
    if (gathers_) b.Wait(kIndices, loads_);
    if (!gathers_ && !staged_) return;
    Move(b, Op::kLoad, gathers_, outer);
    if (staged_) b.Wait(kBlockFree, kSlots);
  }

  void Store(SectionBuilder& b, const std::vector<Reg>& outer) const {
    if (staged_) b.Signal(kBlockFree, kSlots);
    if (!gathers_) b.Wait(kIndices, loads_);
    Move(b, Op::kStore, !gathers_, outer);
  }

  const SuperDsc& dsc_;
  Problem& p_;
  const SdscTensor& index_;
  LxAllocator lx_;
  bool gathers_ = true;
  bool staged_ = true;
  int indexed_ = kIn, other_ = kOut;  // operands
  int64_t block_bytes_ = 0;
  std::vector<Position> positions_;
  std::vector<int64_t> index_strides_;  // of each position in device memory
  std::vector<BlockSide> sides_;
  int64_t index_bytes_ = 0;
  int64_t indices_at_ = 0;
  int64_t rows_ = 1, planes_ = 1;  // sticks of a box
  Buffers blocks_;
  int64_t loads_ = 1;  // of indices
};

}  // namespace

uint64_t BuildIndirect(const SuperDsc& dsc, Problem& problem, StepCode& code) {
  return Indirect(dsc, problem).Build(code);
}

}  // namespace spyre::compiler
