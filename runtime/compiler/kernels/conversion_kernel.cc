// SPDX-License-Identifier: Apache-2.0
// Conversions between formats of different width: one stick of the narrow side is two of the wide
// side, which follow each other along the dimension that is inside the sticks.
#include <algorithm>

#include "base/error.h"
#include "runtime/compiler/kernels/one_input.h"
#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace one_input {
namespace {

class ConversionKernel {
 public:
  ConversionKernel(Problem& problem, const ConversionBody& body)
      : problem_(problem), body_(body), lx_(problem.lx_base) {
    stick_ = problem_.operands[kIn].stick_axis;
    const int64_t in = problem_.operands[kIn].sticks_per_unit;
    const int64_t out = problem_.operands[kOut].sticks_per_unit;
    if (stick_ < 0 || stick_ != problem_.operands[kOut].stick_axis || in + out != 3) {
      throw BadInput(
          "{}: input and output must have one dimension in their sticks, the same one, with "
          "twice as many elements in one as in the other",
          problem_.name);
    }
    ChooseTiles();
    for (int operand : {kIn, kOut}) {
      if (!problem_.operands[operand].in_lx) {
        buffers_[operand] = Buffers::Take(lx_, row_tile() * TileSticks(operand) * kStick, kSlots,
                                          operand == kIn ? "input" : "out");
      }
    }
  }

  uint64_t Build(StepCode& code) {
    if (staged(kIn)) {
      code.Emit(Unit::kLoad, [&](SectionBuilder& b) { Load(b, code.loops(Unit::kLoad)); });
    }
    code.Emit(Unit::kVector, [&](SectionBuilder& b) { Convert(b, code.loops(Unit::kVector)); });
    if (staged(kOut)) {
      code.Emit(Unit::kStore, [&](SectionBuilder& b) { Store(b, code.loops(Unit::kStore)); });
    }
    code.Keep(lx_.uses());
    return lx_.used();
  }

 private:
  bool staged(int operand) const { return !problem_.operands[operand].in_lx; }
  int64_t row_tile() const { return rows_ < 0 ? 1 : problem_.axes[rows_].tile; }
  int64_t TileSticks(int operand) const {
    return problem_.axes[stick_].tile * problem_.operands[operand].sticks_per_unit;
  }

  // Rows: the axis that is densest in memory; planes: the sticks; the others go outside.
  void ChooseTiles() {
    for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
      if (axis == stick_) continue;
      const auto stride = [&](int a) { return problem_.operands[kIn].unit_stride[a]; };
      if (rows_ < 0 || stride(axis) < stride(rows_)) {
        if (rows_ >= 0) loops_.push_back(rows_);
        rows_ = axis;
      } else {
        loops_.push_back(axis);
      }
    }
    loops_.push_back(stick_);
    if (rows_ >= 0) loops_.push_back(rows_);
    constexpr int64_t kSticksOfUnit = 3;  // of both sides
    const uint64_t left = problem_.lx_bytes - std::min(problem_.lx_bytes, lx_.used());
    const auto most = static_cast<int64_t>(left) / (kSlots * kSticksOfUnit * kStick);
    if (most < 1) {
      throw BadInput("{}: needs {} bytes of LX; {} may be used", problem_.name,
                     kSlots * kSticksOfUnit * kStick, left);
    }
    const int64_t units = StreamTileSticks(problem_, most);
    if (rows_ >= 0) problem_.axes[rows_].tile = BalancedTile(problem_.axes[rows_].slice, units);
    Axis& stick = problem_.axes[stick_];
    stick.tile = BalancedTile(stick.slice, std::max<int64_t>(1, units / row_tile()));
  }

  // Bytes from one stick to the next along the stick dimension.
  int64_t StickStride(int operand) const {
    const Operand& o = problem_.operands[operand];
    return o.unit_stride[stick_] / o.sticks_per_unit;
  }

  void Move(SectionBuilder& b, const TileWalk& walk, Op op, Order order, int operand,
            Reg lx) const {
    b.Scoped([&] {
      const Reg sticks =
          b.Add(kZero, walk.size(stick_), problem_.operands[operand].sticks_per_unit);
      EmitBox(b, op, order, lx, walk.address(operand),
              {rows_ < 0 ? b.Const(1) : walk.size(rows_),
               rows_ < 0 ? kZero : walk.stride(operand, rows_), b.Const(kStick)},
              {sticks, b.Const(StickStride(operand)), b.Const(row_tile() * kStick)});
    });
  }

  void Load(SectionBuilder& b, const std::vector<Reg>& outer) const {
    BufferCursor in(b, buffers_[kIn]);
    TileWalk walk(b, problem_, {kIn}, outer);
    walk.Run(loops_, [&] {
      Move(b, walk, Op::kLoad, {kInFree, kInFull}, kIn, in.at());
      in.Advance();
    });
    b.Wait(kInFree, kSlots);
  }

  void Convert(SectionBuilder& b, const std::vector<Reg>& outer) const {
    std::vector<int> in_lx;
    for (int operand : {kIn, kOut}) {
      if (!staged(operand)) in_lx.push_back(operand);
    }
    if (staged(kIn)) b.Signal(kInFree, kSlots);
    BufferCursor in(b, buffers_[kIn]);
    BufferCursor out(b, buffers_[kOut]);
    TileWalk walk(b, problem_, in_lx, outer);
    const int wide = problem_.operands[kIn].sticks_per_unit > 1 ? kIn : kOut;
    walk.Run(loops_, [&] {
      if (staged(kIn)) b.Wait(kInFull);
      if (staged(kOut)) b.Wait(kOutFree);
      b.Scoped([&] {
        const auto row = [&](int operand) {
          if (staged(operand)) return b.Const(kStick);
          return rows_ < 0 ? kZero : walk.stride(operand, rows_);
        };
        const auto stick = [&](int operand) {
          return staged(operand) ? row_tile() * kStick : StickStride(operand);
        };
        const auto plane = [&](int operand) {
          return b.Const(stick(operand) * problem_.operands[operand].sticks_per_unit);
        };
        b.Emit(Op::kVconvert, FnByte(body_.fn), {},
               {staged(kOut) ? out.at() : walk.address(kOut),
                staged(kIn) ? in.at() : walk.address(kIn), b.Const(stick(wide)),
                rows_ < 0 ? b.Const(1) : walk.size(rows_), walk.size(stick_), plane(kOut),
                plane(kIn), b.Const(body_.scale), row(kOut), row(kIn), b.Const(body_.shift)});
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
    BufferCursor out(b, buffers_[kOut]);
    TileWalk walk(b, problem_, {kOut}, outer);
    walk.Run(loops_, [&] {
      Move(b, walk, Op::kStore, {kOutFull, kOutFree}, kOut, out.at());
      out.Advance();
    });
  }

  Problem& problem_;
  ConversionBody body_;
  int stick_ = -1;  // axis
  int rows_ = -1;   // axis, -1: there is no other
  std::vector<int> loops_;
  LxAllocator lx_;
  std::array<Buffers, 2> buffers_;
};

}  // namespace
}  // namespace one_input

uint64_t BuildConversion(Problem& problem, const ConversionBody& body, StepCode& code) {
  return one_input::ConversionKernel(problem, body).Build(code);
}

}  // namespace spyre::compiler
