// SPDX-License-Identifier: Apache-2.0
// Conversions between formats of different width: one stick of the narrow side is two of the wide
// side, which follow each other along the dimension that is inside the sticks; or, if the narrow
// side's sticks have two dimensions, along the other one of these.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace one_input {
namespace {

class ConversionKernel {
 public:
  ConversionKernel(Problem& problem, const ConversionBody& body)
      : problem_(problem), body_(body), lx_(problem.lx_base) {
    const Operand& in = problem_.operands[kIn];
    const Operand& out = problem_.operands[kOut];
    interleaves_ = out.turns_axis >= 0;
    pairs_ = interleaves_ ? out.turns_axis : in.stick_axis;
    sticks_ = interleaves_ ? std::array<int64_t, 2>{out.turns, 1}
                           : std::array<int64_t, 2>{in.sticks_per_unit, out.sticks_per_unit};
    if (in.turns_axis >= 0 || in.stick_axis < 0 || in.stick_axis != out.stick_axis ||
        sticks_[kIn] + sticks_[kOut] != 3) {
      throw BadInput(
          "{}: input and output must have the same dimension in their sticks, and two sticks of "
          "one must hold as many elements as one of the other",
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
  int64_t TileSticks(int operand) const { return problem_.axes[pairs_].tile * sticks_[operand]; }

  // Rows: the axis that is densest in memory; planes: the pairs; the others go outside.
  void ChooseTiles() {
    for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
      if (axis == pairs_) continue;
      const auto stride = [&](int a) { return problem_.operands[kIn].unit_stride[a]; };
      if (rows_ < 0 || stride(axis) < stride(rows_)) {
        if (rows_ >= 0) loops_.push_back(rows_);
        rows_ = axis;
      } else {
        loops_.push_back(axis);
      }
    }
    loops_.push_back(pairs_);
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
    Axis& stick = problem_.axes[pairs_];
    stick.tile = BalancedTile(stick.slice, std::max<int64_t>(1, units / row_tile()));
  }

  // Bytes from one stick of a pair to the next.
  int64_t StickStride(int operand) const {
    return problem_.operands[operand].unit_stride[pairs_] / sticks_[operand];
  }
  // Whether the sticks of a row follow each other in memory, rather than the rows of a stick.
  bool SticksFirst() const {
    return rows_ >= 0 && StickStride(kIn) < problem_.operands[kIn].unit_stride[rows_];
  }
  // In a buffer.
  int64_t LxStick() const { return SticksFirst() ? kStick : row_tile() * kStick; }
  int64_t LxRow(int operand) const { return SticksFirst() ? TileSticks(operand) * kStick : kStick; }

  // Sticks of a core's part along the axis of pairs. The last pair may have one.
  int64_t SticksThere(int operand) const {
    const Axis& axis = problem_.axes[pairs_];
    if (!interleaves_) return problem_.operands[operand].sticks;
    const int64_t elements = axis.split > 1 ? axis.slice * axis.unit_elements() : axis.size;
    return operand == kIn ? elements : axis.slice;
  }
  bool LacksOne(int operand) const {
    return SticksThere(operand) < problem_.axes[pairs_].slice * sticks_[operand];
  }
  Reg Sticks(SectionBuilder& b, const TileWalk& walk, int operand) const {
    const Reg sticks = b.Add(kZero, walk.size(pairs_), sticks_[operand]);
    if (!LacksOne(operand)) return sticks;
    const Reg there = b.Const(SticksThere(operand));
    return b.Min(sticks, b.Add(there, walk.index(pairs_), -TileSticks(operand)));
  }

  // The stick that the last pair lacks is zeros.
  void FillUp(SectionBuilder& b, TileWalk& walk, Reg in) const {
    b.If(walk.IsLast(pairs_), [&] {
      b.Scoped([&] {
        const Reg behind = b.Add(in, walk.size(pairs_), LxStick() * sticks_[kIn]);
        b.Emit(Op::kVfill, 0, {},
               {b.Add(behind, b.Const(LxStick()), -1), kZero, b.Const(kStick),
                rows_ < 0 ? b.Const(1) : walk.size(rows_), b.Const(LxRow(kIn))});
      });
    });
  }

  void Move(SectionBuilder& b, const TileWalk& walk, Op op, Order order, int operand,
            Reg lx) const {
    b.Scoped([&] {
      BoxSide rows = {rows_ < 0 ? b.Const(1) : walk.size(rows_),
                      rows_ < 0 ? kZero : walk.stride(operand, rows_), b.Const(LxRow(operand))};
      BoxSide planes = {Sticks(b, walk, operand), b.Const(StickStride(operand)),
                        b.Const(LxStick())};
      if (SticksFirst()) std::swap(rows, planes);
      EmitBox(b, op, order, lx, walk.address(operand), rows, planes);
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
    const int wide = sticks_[kIn] > 1 ? kIn : kOut;
    walk.Run(loops_, [&] {
      if (staged(kIn)) b.Wait(kInFull);
      if (staged(kOut)) b.Wait(kOutFree);
      if (staged(kIn) && LacksOne(kIn)) FillUp(b, walk, in.at());
      b.Scoped([&] {
        const auto row = [&](int operand) {
          if (staged(operand)) return b.Const(LxRow(operand));
          return rows_ < 0 ? kZero : walk.stride(operand, rows_);
        };
        const auto stick = [&](int operand) {
          return staged(operand) ? LxStick() : StickStride(operand);
        };
        const auto plane = [&](int operand) { return b.Const(stick(operand) * sticks_[operand]); };
        b.Emit(Op::kVconvert, FnByte(body_.fn), {},
               {staged(kOut) ? out.at() : walk.address(kOut),
                staged(kIn) ? in.at() : walk.address(kIn), b.Const(stick(wide)),
                rows_ < 0 ? b.Const(1) : walk.size(rows_), walk.size(pairs_), plane(kOut),
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
  bool interleaves_ = false;  // sticks that are not neighbours along their own dimension
  int pairs_ = -1;  // axis along which the wide side has two sticks for one of the narrow side
  std::array<int64_t, 2> sticks_{};  // of a unit of that axis
  int rows_ = -1;                    // axis, -1: there is no other
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
