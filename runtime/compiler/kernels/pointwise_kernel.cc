// SPDX-License-Identifier: Apache-2.0
// Operations on each element: load, compute, store, each one tile ahead of the next. Operands that
// stay in LX are used where they are, and what does not move with the inner loops, such as a row
// for all rows or a constant, is loaded outside of them.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace pointwise {
namespace {

enum Token : uint8_t {
  kNone = 0,
  kOutFull = 1,  // vector -> store
  kOutFree,      // store -> vector
  kInFree,       // vector -> load: one buffer of every input that moves with each tile
  kInFull,       // load -> vector, one token for each input from here; behind these, vector ->
                 // load, one for the other inputs of each loop
};

constexpr int kSlots = 2;

std::string InputName(int operand) { return fmt::format("input {}", operand); }

class PointwiseKernel {
 public:
  PointwiseKernel(Problem& problem, PointwiseBody body)
      : problem_(problem),
        body_(std::move(body)),
        out_(static_cast<int>(problem.operands.size()) - 1) {
    KeepOutputWhole();
    for (int i = 0; i < out_; ++i) {
      if (!problem_.operands[i].in_lx) staged_.push_back(i);
    }
    shape_ = TileShape::Choose(problem_, out_);
    lx_ = LxAllocator(problem_.lx_base);
    constants_at_ =
        lx_.Take(static_cast<int64_t>(body_.constants.size()) * kStickBytes, "constants");
    ChooseTiles();
    const int64_t bytes = shape_.row_tile(problem_) * shape_.plane_tile(problem_) * kStickBytes;
    buffers_.resize(problem_.operands.size());
    for (int i : staged_) buffers_[i] = Buffers::Take(lx_, bytes, kSlots, InputName(i));
    if (out_staged()) buffers_[out_] = Buffers::Take(lx_, bytes, kSlots, "out");
    for (int i = 0; i < body_.temporaries; ++i)
      temporaries_.push_back(lx_.Take(bytes, fmt::format("temporary {}", i)));
    loops_ = shape_.Loops();
    inputs_.resize(loops_.size() + 1);
    for (size_t s = 0; s < staged_.size(); ++s) inputs_[DepthOf(staged_[s])].push_back(s);
  }

  uint64_t Build(StepCode& code) {
    if (IsPlainLoad()) {
      code.Emit(Unit::kLoad, [&](SectionBuilder& b) { LoadInPlace(b, code.loops(Unit::kLoad)); });
      return lx_.used();
    }
    if (!staged_.empty()) {
      code.Emit(Unit::kLoad, [&](SectionBuilder& b) { Load(b, code.loops(Unit::kLoad)); });
    }
    code.Emit(Unit::kVector, [&](SectionBuilder& b) { Compute(b, code.loops(Unit::kVector)); });
    if (out_staged()) {
      code.Emit(Unit::kStore, [&](SectionBuilder& b) { Store(b, code.loops(Unit::kStore)); });
    }
    code.Keep(lx_.uses());
    return lx_.used();
  }

 private:
  // Where a value of the current tile is.
  struct Place {
    Reg at, row, plane;
  };

  bool out_staged() const { return !problem_.operands[out_].in_lx; }

  // The axis whose padding lanes of the result are zero, -1: none. The front end masks the padding
  // of exponentials alone, whose input would be minus infinity there: a matrix product multiplies
  // it by zeros, which must not meet the infinity of what lay there before.
  int ZeroedAxis() const {
    const auto exp = static_cast<uint8_t>(UnaryFn::kExp);
    const VectorStep& last = body_.steps.back();
    if (last.op != Op::kVunary || last.fn != exp) return -1;
    for (size_t axis = 0; axis < problem_.axes.size(); ++axis) {
      if (problem_.axes[axis].masked && problem_.axes[axis].in_sticks)
        return static_cast<int>(axis);
    }
    return -1;
  }

  // `elements` of the masked axis are inside the tile, whose result is at `out`.
  void ZeroPadding(SectionBuilder& b, int axis, Reg elements, const Place& out, Reg rows,
                   Reg planes) const {
    const int64_t lanes = problem_.axes[axis].stick_elements;
    const bool along_rows = axis == shape_.rows;
    const bool moves = along_rows || axis == shape_.planes;
    b.Loop(along_rows ? rows : planes, [&](Reg p) {
      const Reg before = moves ? b.Add(kZero, p, -lanes) : kZero;
      const Reg left = b.Min(b.Add(elements, before), b.Const(lanes));
      const Reg kept = b.Add(left, b.Min(left, kZero), -1);
      const Reg masked = b.Add(b.Const(lanes), kept, -1);
      b.If(b.Min(masked, b.Const(1)), [&] {
        const Reg stick = b.Add(out.at, b.Mul(p, along_rows ? out.row : out.plane));
        const int64_t bytes = kStick / lanes;
        b.Emit(Op::kVfill, 0, {},
               {b.Add(stick, kept, bytes), kZero, b.Add(kZero, masked, bytes),
                along_rows ? planes : rows, along_rows ? out.plane : out.row});
      });
    });
  }

  // An output in LX may share its place with an input: what is not final goes elsewhere.
  void KeepOutputWhole() {
    if (out_staged() || body_.steps.size() < 2) return;
    const int temporary = out_ + 1 + body_.temporaries++;
    for (VectorStep& step : body_.steps) {
      for (int* value : {&step.dst, &step.a, &step.b}) {
        if (*value == out_) *value = temporary;
      }
    }
    const auto copy = static_cast<uint8_t>(UnaryFn::kCopy);
    body_.steps.push_back({Op::kVunary, copy, out_, temporary, 0});
  }

  void ChooseTiles() {
    const uint64_t buffers = kSlots * (staged_.size() + (out_staged() ? 1 : 0)) +
                             static_cast<uint64_t>(body_.temporaries);
    const uint64_t left = problem_.lx_bytes - std::min(problem_.lx_bytes, lx_.used());
    int64_t sticks = INT64_MAX;
    if (buffers > 0) {
      const auto most = static_cast<int64_t>(left / (buffers * kStickBytes));
      if (most < 1) {
        throw BadInput(
            "{}: needs {} bytes of LX, for {} buffers of one stick; {} may be used. Raise lx_bytes",
            problem_.name, buffers * kStickBytes, buffers, left);
      }
      sticks = StreamTileSticks(problem_, most, PublicTileOf());
    }
    if (shape_.rows < 0) return;
    Axis& row_axis = problem_.axes[shape_.rows];
    row_axis.tile = BalancedTile(row_axis.slice, sticks);
    if (shape_.planes < 0) return;
    Axis& plane_axis = problem_.axes[shape_.planes];
    plane_axis.tile = BalancedTile(plane_axis.slice, sticks / row_axis.tile);
  }

  PublicStreamTile PublicTileOf() const {
    if (Broadcasts()) return kPublicWideTile;
    const bool through = out_staged() && static_cast<int>(staged_.size()) == out_;
    return through ? kPublicThroughTile : kPublicTile;
  }

  // A copy into LX: the load unit puts the elements where they are to be.
  bool IsPlainLoad() const {
    return problem_.schedule == Schedule::kPublic && body_.steps.size() == 1 &&
           body_.steps.front().op == Op::kVunary &&
           body_.steps.front().fn == static_cast<uint8_t>(UnaryFn::kCopy) && staged_.size() == 1 &&
           !out_staged() && !Broadcasts() && !problem_.operands[out_].lane0;
  }

  void LoadInPlace(SectionBuilder& b, const std::vector<Reg>& outer) const {
    const int in = staged_.front();
    TileWalk walk(b, problem_, {in, out_}, outer);
    const auto side = [&](int axis) {
      if (axis < 0) return BoxSide{b.Const(1), kZero, kZero};
      return BoxSide{walk.size(axis), walk.stride(in, axis), walk.stride(out_, axis)};
    };
    const auto stride = [&](int axis) {
      return axis < 0 ? 0 : problem_.operands[in].unit_stride[axis];
    };
    walk.Run(loops_, [&] {
      BoxSide rows = side(shape_.rows);
      BoxSide planes = side(shape_.planes);
      if (stride(shape_.planes) > 0 && stride(shape_.planes) < stride(shape_.rows))
        std::swap(rows, planes);
      EmitBox(b, Op::kLoad, {kNone, kInFull}, walk.address(out_), walk.address(in), rows, planes);
    });
    walk.Run(loops_, [&] { b.Wait(kInFull); });
  }

  // An input is a row, a column or a constant for elements of the output.
  bool Broadcasts() const {
    return AnyFits(staged_, [&](int input) {
      const Operand& operand = problem_.operands[input];
      return operand.lane0 || (shape_.rows >= 0 && !operand.Walks(shape_.rows)) ||
             (shape_.planes >= 0 && !operand.Walks(shape_.planes));
    });
  }

  // So many of the loops an input moves with, counted from the outermost to the last such one.
  size_t DepthOf(int operand) const {
    size_t depth = loops_.size();
    while (depth > 0 && !problem_.operands[operand].Walks(loops_[depth - 1])) --depth;
    return depth;
  }
  uint8_t Full(size_t input) const { return static_cast<uint8_t>(kInFull + input); }
  uint8_t Free(size_t depth) const {
    if (depth == loops_.size()) return kInFree;
    return static_cast<uint8_t>(Full(staged_.size()) + depth);
  }

  // Inside the first `depth` loops: `before`, what is inside the others, `after`.
  template <typename Before, typename Body, typename After>
  void Nest(TileWalk& walk, size_t depth, const Before& before, const Body& body,
            const After& after) const {
    before(depth);
    if (depth == loops_.size()) {
      body();
    } else {
      walk.Run({loops_[depth]}, [&] { Nest(walk, depth + 1, before, body, after); });
    }
    after(depth);
  }

  void Load(SectionBuilder& b, const std::vector<Reg>& outer) const {
    std::vector<BufferCursor> cursors;
    cursors.reserve(staged_.size());
    for (int i : staged_) cursors.emplace_back(b, buffers_[i]);
    TileWalk walk(b, problem_, staged_, outer);
    const auto load = [&](size_t depth) {
      for (const size_t s : inputs_[depth]) {
        const bool first = s == inputs_[depth].front();
        const Order order{first ? Free(depth) : uint8_t{0}, Full(s)};
        EmitTile(b, walk, problem_, shape_, Op::kLoad, order, staged_[s], cursors[s].at());
        cursors[s].Advance();
      }
    };
    Nest(
        walk, 0, load, [] {}, [](size_t) {});
    ForEachDepth([&](size_t depth) { b.Wait(Free(depth), kSlots); });
  }

  // That inputs are loaded at.
  template <typename Body>
  void ForEachDepth(const Body& body) const {
    for (size_t depth = 0; depth < inputs_.size(); ++depth) {
      if (!inputs_[depth].empty()) body(depth);
    }
  }

  void Compute(SectionBuilder& b, const std::vector<Reg>& outer) const {
    ForEachDepth([&](size_t depth) { b.Signal(Free(depth), kSlots); });
    for (size_t i = 0; i < body_.constants.size(); ++i) {
      b.Scoped([&] {
        b.Emit(Op::kVfill, 0, {},
               {b.Const(constants_at_ + static_cast<int64_t>(i * kStickBytes)),
                b.Const(body_.constants[i]), b.Const(kStickBytes), b.Const(1), kZero});
      });
    }
    std::vector<BufferCursor> cursors;  // of the staged inputs, then of the output
    cursors.reserve(staged_.size() + 1);
    std::vector<int> in_lx;
    for (int i = 0; i <= out_; ++i) {
      if (problem_.operands[i].in_lx) {
        in_lx.push_back(i);
      } else {
        cursors.emplace_back(b, buffers_[i]);
      }
    }
    TileWalk walk(b, problem_, in_lx, outer);
    const int zeroed = ZeroedAxis();
    const Reg core_elements = zeroed < 0 ? kZero : walk.CoreElements(zeroed);
    const auto before = [&](size_t depth) {
      for (const size_t s : inputs_[depth]) b.Wait(Full(s));
    };
    const auto after = [&](size_t depth) {
      if (!inputs_[depth].empty()) b.Signal(Free(depth));
      for (const size_t s : inputs_[depth]) cursors[s].Advance();
      if (depth == loops_.size() && out_staged()) cursors.back().Advance();
    };
    const auto compute = [&] {
      if (out_staged()) b.Wait(kOutFree);
      const Reg rows = shape_.rows < 0 ? b.Const(1) : walk.size(shape_.rows);
      const Reg planes = shape_.planes < 0 ? b.Const(1) : walk.size(shape_.planes);
      std::vector<Place> places;
      size_t cursor = 0;
      for (int i = 0; i <= out_; ++i) {
        places.push_back(problem_.operands[i].in_lx ? InLx(walk, i)
                                                    : Staged(b, i, cursors[cursor++]));
      }
      for (size_t i = 0; i < body_.steps.size(); ++i) {
        const bool last = i + 1 == body_.steps.size();
        b.Scoped([&] {
          EmitStep(b, body_.steps[i], places, rows, planes,
                   last && out_staged() && zeroed < 0 ? kOutFull : kNone);
        });
      }
      if (zeroed < 0) return;
      b.Scoped([&] {
        const Reg elements = walk.TileElements(zeroed, core_elements);
        ZeroPadding(b, zeroed, elements, places.back(), rows, planes);
      });
      if (out_staged()) b.Signal(kOutFull);
    };
    Nest(walk, 0, before, compute, after);
    if (out_staged()) b.Wait(kOutFree, kSlots);
  }

  void EmitStep(SectionBuilder& b, const VectorStep& step, const std::vector<Place>& places,
                Reg rows, Reg planes, Token signal) const {
    const auto place = [&](int value) {
      if (value < 0)
        return Place{b.Const(constants_at_ + (-1 - value) * kStickBytes), kZero, kZero};
      if (value <= out_) return places[value];
      const int64_t plane = shape_.row_tile(problem_) * kStickBytes;
      return Place{b.Const(temporaries_[value - out_ - 1]), b.Const(kStickBytes), b.Const(plane)};
    };
    const auto lane0 = [&](int value) {
      return value >= 0 && value < out_ && problem_.operands[value].lane0 &&
             !problem_.operands[out_].lane0;
    };
    const Place dst = place(step.dst);
    const Place a = place(step.a);
    const auto fn = static_cast<uint8_t>(step.fn | (body_.fp32 ? kFp32Sticks : 0) |
                                         (lane0(step.a) ? kBroadcastALane0 : 0));
    if (step.op == Op::kVunary) {
      b.Emit(Op::kVunary, fn, {0, signal},
             {dst.at, a.at, kZero, rows, planes, dst.plane, a.plane, kZero, dst.row, a.row});
      return;
    }
    const Place second = place(step.b);
    b.Emit(Op::kVbinary, static_cast<uint8_t>(fn | (lane0(step.b) ? kBroadcastLane0 : 0)),
           {0, signal},
           {dst.at, a.at, second.at, rows, planes, dst.plane, a.plane, second.plane, dst.row, a.row,
            second.row});
  }

  Place InLx(const TileWalk& walk, int operand) const {
    const auto stride = [&](int axis) { return axis < 0 ? kZero : walk.stride(operand, axis); };
    return {walk.address(operand), stride(shape_.rows), stride(shape_.planes)};
  }

  Place Staged(SectionBuilder& b, int operand, const BufferCursor& cursor) const {
    const auto stride = [&](int axis, int64_t bytes) {
      return axis >= 0 && problem_.operands[operand].Walks(axis) ? b.Const(bytes) : kZero;
    };
    return {cursor.at(), stride(shape_.rows, kStickBytes),
            stride(shape_.planes, shape_.row_tile(problem_) * static_cast<int64_t>(kStickBytes))};
  }

  void Store(SectionBuilder& b, const std::vector<Reg>& outer) const {
    b.Signal(kOutFree, kSlots);
    BufferCursor result(b, buffers_[out_]);
    TileWalk walk(b, problem_, {out_}, outer);
    walk.Run(loops_, [&] {
      EmitTile(b, walk, problem_, shape_, Op::kStore, {kOutFull, kOutFree}, out_, result.at());
      result.Advance();
    });
  }

  Problem& problem_;
  PointwiseBody body_;
  int out_;
  std::vector<int> staged_;  // inputs that pass through LX
  TileShape shape_;
  LxAllocator lx_;
  int64_t constants_at_ = 0;
  std::vector<Buffers> buffers_;  // by operand
  std::vector<int64_t> temporaries_;
  std::vector<int> loops_;
  std::vector<std::vector<size_t>> inputs_;  // by depth: of staged_, what is loaded there
};

}  // namespace
}  // namespace pointwise

uint64_t BuildPointwise(Problem& problem, const PointwiseBody& body, StepCode& code) {
  return pointwise::PointwiseKernel(problem, body).Build(code);
}

}  // namespace spyre::compiler
