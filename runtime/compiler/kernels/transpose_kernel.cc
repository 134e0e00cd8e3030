// SPDX-License-Identifier: Apache-2.0
// ReStickifyOpHBM: a tensor whose sticks run along one dimension becomes one whose sticks run along
// another. The tile is blocks of 64 by 64 elements, which the vector unit transposes.
#include <algorithm>

#include "base/error.h"
#include "runtime/compiler/kernels/one_input.h"
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
    RefusePartialBlocksInLx();
    ChooseTiles();
    const int64_t bytes = problem_.axes[from_].tile * problem_.axes[to_].tile * kBlock;
    if (staged(kIn)) in_ = Buffers::Take(lx_, bytes, kSlots, "input");
    if (staged(kOut)) out_ = Buffers::Take(lx_, bytes, kSlots, "out");
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

  // Blocks in LX: as many as stream well, the longer side along the one that is dense in memory.
  void ChooseTiles() {
    const int buffers = kSlots * ((staged(kIn) ? 1 : 0) + (staged(kOut) ? 1 : 0));
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

  // What lies behind the last row in LX is not the operation's.
  void RefusePartialBlocksInLx() const {
    const auto refuse = [&](int operand, int axis) {
      if (staged(operand) || !partial(axis)) return;
      throw BadInput(
          "{}: '{}' stays in LX, and its {} rows are not a whole number of blocks of {}: keep it "
          "in "
          "device memory",
          problem_.name, problem_.operands[operand].name, problem_.axes[axis].size, kStickElements);
    };
    refuse(kIn, to_);
    refuse(kOut, from_);
  }

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

  void Transpose(SectionBuilder& b, const std::vector<Reg>& outer) const {
    std::vector<int> in_lx;
    for (int operand : {kIn, kOut}) {
      if (!staged(operand)) in_lx.push_back(operand);
    }
    // Rows that no load fills are transposed as well.
    if (staged(kIn) && partial(to_)) {
      b.Scoped([&] {
        b.Emit(Op::kVfill, 0, {},
               {b.Const(in_.base), kZero, b.Const(in_.bytes * kSlots), b.Const(1), kZero});
      });
    }
    if (staged(kIn)) b.Signal(kInFree, kSlots);
    BufferCursor in(b, in_);
    BufferCursor out(b, out_);
    TileWalk walk(b, problem_, in_lx, outer);
    walk.Run(loops_, [&] {
      if (staged(kIn)) b.Wait(kInFull);
      if (staged(kOut)) b.Wait(kOutFree);
      b.Scoped([&] {
        const Reg stick = b.Const(kStick);
        const Reg block = b.Const(kBlock);
        const Reg in_stick = staged(kIn) ? stick : walk.ElementStride(kIn, to_);
        const Reg out_stick = staged(kOut) ? stick : walk.ElementStride(kOut, from_);
        const Reg in_block = staged(kIn) ? block : walk.stride(kIn, to_);
        const Reg out_block = staged(kOut) ? b.Const(out_plane()) : walk.stride(kOut, to_);
        const Reg in_plane_reg = staged(kIn) ? b.Const(in_plane()) : walk.stride(kIn, from_);
        const Reg out_plane_reg = staged(kOut) ? block : walk.stride(kOut, from_);
        b.Emit(Op::kVtranspose, 0, {},
               {staged(kOut) ? out.at() : walk.address(kOut),
                staged(kIn) ? in.at() : walk.address(kIn), out_stick, in_stick, walk.size(to_),
                out_block, in_block, walk.size(from_), out_plane_reg, in_plane_reg});
      });
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
