// SPDX-License-Identifier: Apache-2.0
// ReStickifyOpHBM: a tensor whose sticks run along one dimension becomes one whose sticks run along
// another. The tile is blocks of 64 by 64 elements, which the vector unit transposes. An operand in
// LX that ends within a block has no room for the rest of it there: its rows are copied to or from
// a buffer that has.
#include <algorithm>

#include "base/error.h"
#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace one_input {
namespace {
constexpr int64_t kBlock = kStickElements * kStick;  // bytes of 64 sticks

class TransposeKernel {
 public:
  explicit TransposeKernel(Problem& problem)
      : problem_(problem),
        from_(problem.operands[kIn].stick_axis),
        to_(problem.operands[kOut].stick_axis),
        lx_(problem.lx_base) {
    if (from_ < 0 || to_ < 0 || from_ == to_) {
      throw BadInput("{}: input and output have the same dimension in their sticks", problem_.name);
    }
    for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
      if (axis != from_ && axis != to_) loops_.push_back(axis);
    }
    loops_.insert(loops_.end(), {from_, to_});
    ChooseTiles();
    const int64_t bytes = problem_.axes[from_].tile * problem_.axes[to_].tile * kBlock;
    if (buffered(kIn)) in_ = Buffers::Take(lx_, bytes, kSlots, "input");
    if (buffered(kOut)) out_ = Buffers::Take(lx_, bytes, kSlots, "out");
  }

  uint64_t Build(StepCode& code) {
    if (staged(kIn)) {
      code.Emit(Unit::kLoad, [&](SectionBuilder& b) { Load(b, code.loops(Unit::kLoad)); });
    }
    code.Emit(Unit::kVector, [&](SectionBuilder& b) { Transpose(b, code.loops(Unit::kVector)); });
    if (staged(kOut)) {
      code.Emit(Unit::kStore, [&](SectionBuilder& b) { Store(b, code.loops(Unit::kStore)); });
    }
    code.Keep(lx_.uses());
    return lx_.used();
  }

 private:
  bool staged(int operand) const { return !problem_.operands[operand].in_lx; }
  // In LX, and its rows, which are elements of the other side's sticks, end within a block.
  bool copied(int operand) const {
    return !staged(operand) && partial(operand == kIn ? to_ : from_);
  }
  bool buffered(int operand) const { return staged(operand) || copied(operand); }

  // Blocks in LX: as many as stream well, the longer side along the one that is dense in memory.
  void ChooseTiles() {
    const int buffers = kSlots * ((buffered(kIn) ? 1 : 0) + (buffered(kOut) ? 1 : 0));
    const uint64_t left = problem_.lx_bytes - std::min(problem_.lx_bytes, problem_.lx_base);
    const int64_t most = buffers == 0 ? INT64_MAX : static_cast<int64_t>(left) / (buffers * kBlock);
    if (most < 1) {
      throw BadInput("{}: needs {} bytes of LX, for {} blocks of 64 by 64 elements; {} may be used",
                     problem_.name, buffers * kBlock, buffers, left);
    }
    Axis& from = problem_.axes[from_];
    Axis& to = problem_.axes[to_];
    int64_t blocks = std::min(most, int64_t{16});  // 128 KiB: long runs on both sides
    if (problem_.schedule == Schedule::kPublic) {
      constexpr int64_t kLeastTiles = 8;  // transposes of a few blocks are no faster on the card
      int64_t of_core = 1;
      for (const Axis& axis : problem_.axes) of_core *= axis.slice;
      blocks = std::clamp<int64_t>(of_core / kLeastTiles, 1, blocks);
    }
    to.tile = BalancedTile(to.slice, std::max<int64_t>(1, blocks / 4));
    from.tile = BalancedTile(from.slice, std::max<int64_t>(1, blocks / to.tile));
  }

  // The tensor ends within a block.
  bool partial(int axis) const { return problem_.axes[axis].size % kStickElements != 0; }

  Reg CoreElements(TileWalk& walk, int axis) const {
    return partial(axis) ? walk.CoreElements(axis) : kZero;
  }
  // Rows of a side's sticks are elements of the other side's stick dimension; at its end they are
  // fewer than the block has.
  BoxSide Rows(SectionBuilder& b, TileWalk& walk, int operand, int axis, Reg core_elements) const {
    const Reg rows = partial(axis) ? walk.TileElements(axis, core_elements)
                                   : b.Add(kZero, walk.size(axis), kStickElements);
    return {rows, walk.ElementStride(operand, axis), b.Const(kStick)};
  }
  int64_t in_plane() const { return problem_.axes[to_].tile * kBlock; }
  int64_t out_plane() const { return problem_.axes[from_].tile * kBlock; }

  void Load(SectionBuilder& b, const std::vector<Reg>& outer) const {
    BufferCursor in(b, in_);
    TileWalk walk(b, problem_, {kIn}, outer);
    const Reg elements = CoreElements(walk, to_);
    walk.Run(loops_, [&] {
      b.Scoped([&] {
        EmitBox(b, Op::kLoad, {kInFree, kInFull}, in.at(), walk.address(kIn),
                Rows(b, walk, kIn, to_, elements),
                {walk.size(from_), walk.stride(kIn, from_), b.Const(in_plane())});
      });
      in.Advance();
    });
    b.Wait(kInFree, kSlots);
  }

  struct Sticks {
    Reg at, plane, row;
  };
  static void EmitCopy(SectionBuilder& b, const Sticks& to, const Sticks& from, Reg rows,
                       Reg planes) {
    b.Emit(Op::kVunary, static_cast<uint8_t>(UnaryFn::kCopy), {},
           {to.at, from.at, kZero, rows, planes, to.plane, from.plane, kZero, to.row, from.row});
  }

  void Transpose(SectionBuilder& b, const std::vector<Reg>& outer) const {
    std::vector<int> in_lx;
    for (int operand : {kIn, kOut}) {
      if (!staged(operand)) in_lx.push_back(operand);
    }
    // Rows that nothing fills are transposed as well.
    const bool fills = buffered(kIn) && partial(to_);
    const auto fill = [&](Reg at, int64_t bytes) {
      b.Scoped([&] { b.Emit(Op::kVfill, 0, {}, {at, kZero, b.Const(bytes), b.Const(1), kZero}); });
    };
    if (fills) b.Scoped([&] { fill(b.Const(in_.base), in_.bytes * kSlots); });
    if (staged(kIn)) b.Signal(kInFree, kSlots);
    BufferCursor in(b, in_);
    BufferCursor out(b, out_);
    TileWalk walk(b, problem_, in_lx, outer);
    const Reg in_elements = copied(kIn) ? CoreElements(walk, to_) : kZero;
    const Reg out_elements = copied(kOut) ? CoreElements(walk, from_) : kZero;
    walk.Run(loops_, [&] {
      if (staged(kIn)) b.Wait(kInFull);
      if (staged(kOut)) b.Wait(kOutFree);
      if (copied(kIn)) {
        b.Scoped([&] {
          const BoxSide rows = Rows(b, walk, kIn, to_, in_elements);
          EmitCopy(b, {in.at(), b.Const(in_plane()), rows.lx_stride},
                   {walk.address(kIn), walk.stride(kIn, from_), rows.device_stride}, rows.count,
                   walk.size(from_));
        });
      }
      b.Scoped([&] {
        const Reg stick = b.Const(kStick);
        const Reg block = b.Const(kBlock);
        const bool in_buffer = buffered(kIn), out_buffer = buffered(kOut);
        const Reg in_stick = in_buffer ? stick : walk.ElementStride(kIn, to_);
        const Reg out_stick = out_buffer ? stick : walk.ElementStride(kOut, from_);
        const Reg in_block = in_buffer ? block : walk.stride(kIn, to_);
        const Reg out_block = out_buffer ? b.Const(out_plane()) : walk.stride(kOut, to_);
        const Reg in_plane_reg = in_buffer ? b.Const(in_plane()) : walk.stride(kIn, from_);
        const Reg out_plane_reg = out_buffer ? block : walk.stride(kOut, from_);
        b.Emit(Op::kVtranspose, 0, {},
               {out_buffer ? out.at() : walk.address(kOut), in_buffer ? in.at() : walk.address(kIn),
                out_stick, in_stick, walk.size(to_), out_block, in_block, walk.size(from_),
                out_plane_reg, in_plane_reg});
      });
      if (copied(kOut)) {
        b.Scoped([&] {
          const BoxSide rows = Rows(b, walk, kOut, from_, out_elements);
          EmitCopy(b, {walk.address(kOut), walk.stride(kOut, to_), rows.device_stride},
                   {out.at(), b.Const(out_plane()), rows.lx_stride}, rows.count, walk.size(to_));
        });
      }
      // The last tile finds rows of the ones before it.
      if (fills && problem_.axes[to_].tiles() > 1) fill(in.at(), in_.bytes);
      if (staged(kIn)) b.Signal(kInFree);
      if (staged(kOut)) b.Signal(kOutFull);
      in.Advance();
      out.Advance();
    });
    if (staged(kOut)) b.Wait(kOutFree, kSlots);
  }

  void Store(SectionBuilder& b, const std::vector<Reg>& outer) const {
    b.Signal(kOutFree, kSlots);
    BufferCursor out(b, out_);
    TileWalk walk(b, problem_, {kOut}, outer);
    const Reg elements = CoreElements(walk, from_);
    walk.Run(loops_, [&] {
      b.Scoped([&] {
        EmitBox(b, Op::kStore, {kOutFull, kOutFree}, out.at(), walk.address(kOut),
                Rows(b, walk, kOut, from_, elements),
                {walk.size(to_), walk.stride(kOut, to_), b.Const(out_plane())});
      });
      out.Advance();
    });
  }

  Problem& problem_;
  int from_;  // axis inside the sticks of the input
  int to_;    // of the output
  std::vector<int> loops_;
  LxAllocator lx_;
  Buffers in_, out_;
};

}  // namespace
}  // namespace one_input

uint64_t BuildTranspose(Problem& problem, StepCode& code) {
  return one_input::TransposeKernel(problem).Build(code);
}

}  // namespace spyre::compiler
