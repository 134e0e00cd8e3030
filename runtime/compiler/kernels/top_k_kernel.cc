// SPDX-License-Identifier: Apache-2.0
// The k largest along a dimension that is not inside the sticks, in each lane by itself, largest
// first, or where they stand. The vector unit keeps a list of k sticks in LX, sorted in every lane,
// and pushes one row after the other into it: a row goes before the first number that is less, and
// what it displaces moves on. Of equal numbers the first one comes first.
//
// Where the ranks are divided over cores, a core keeps a list down to its last rank and stores its
// own part of that.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "model/contract/formats.h"
#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace one_input {
namespace {

// Positions within a tile and multiples of a tile are numbers that SEN169_FP16 holds, so that the
// position of a row is rounded once; IEEE_FP32 holds them all.
constexpr int64_t kTileRows = 512;
constexpr int64_t kLeastKept = 8;  // sticks that an instruction works on, where there are as many

class TopKKernel {
 public:
  TopKKernel(Problem& problem, const TopKBody& body)
      : problem_(problem), body_(body), lx_(problem.lx_base) {
    FindAxes();
    ChooseTiles();
    const int64_t row = kept_tile() * kStick;
    if (staged(kIn)) in_ = Buffers::Take(lx_, row * rows().tile, kSlots, "input");
    if (body_.gives_index) values_at_ = lx_.Take(ListBytes(), "largest values");
    list_ = Buffers::Take(lx_, ListBytes(), staged(kOut) ? kSlots : 1,
                          body_.gives_index ? "their positions" : "largest values");
    moving_at_ = lx_.Take(row, "value on its way");
    held_at_ = lx_.Take(row, "value that is displaced");
    less_at_ = lx_.Take(row, "where the list is less");
    if (!body_.gives_index) return;
    position_at_ = lx_.Take(row, "position on its way");
    tile_position_at_ = lx_.Take(kStick, "position of the tile");
    row_position_at_ = lx_.Take(kStick, "position in the tile");
    one_at_ = lx_.Take(kStick, "one");
    tile_rows_at_ = lx_.Take(kStick, "rows of a tile");
  }

  uint64_t Build(StepCode& code) {
    if (staged(kIn))
      code.Emit(Unit::kLoad, [&](SectionBuilder& b) { Load(b, code.loops(Unit::kLoad)); });
    code.Emit(Unit::kVector, [&](SectionBuilder& b) { Compute(b, code.loops(Unit::kVector)); });
    if (staged(kOut))
      code.Emit(Unit::kStore, [&](SectionBuilder& b) { Store(b, code.loops(Unit::kStore)); });
    code.Keep(lx_.uses());
    return lx_.used();
  }

 private:
  // A row of sticks in LX, one for each unit of the kept axis.
  struct Row {
    Reg at;
    Reg stride;
  };

  bool staged(int operand) const { return !problem_.operands[operand].in_lx; }
  Axis& rows() const { return problem_.axes[rows_]; }
  int64_t kept_tile() const { return kept_ < 0 ? 1 : problem_.axes[kept_].tile; }
  int64_t k() const { return ranks_ < 0 ? 1 : problem_.axes[ranks_].size; }
  // What falls off the end of a list lies behind it.
  int64_t ListStride() const { return (k() + 1) * kStick; }
  int64_t ListBytes() const { return kept_tile() * ListStride(); }

  void FindAxes() {
    std::vector<int> others;
    for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
      const bool in = problem_.operands[kIn].Walks(axis);
      const bool out = problem_.operands[kOut].Walks(axis);
      int* const role = in && !out ? &rows_ : out && !in ? &ranks_ : nullptr;
      if (role == nullptr) {
        others.push_back(axis);
      } else if (std::exchange(*role, axis) >= 0) {
        throw BadInput("{}: '{}' and another dimension belong to {} only; one is supported",
                       problem_.name, problem_.axes[axis].name, in ? "the input" : "the result");
      }
    }
    if (rows_ < 0) rows_ = problem_.AddUnitAxis();
    Check();
    const auto stride = [&](int axis) { return problem_.operands[kIn].unit_stride[axis]; };
    for (const int axis : others) {
      const bool moves = problem_.axes[axis].slice > 1;
      if (moves && (kept_ < 0 || stride(axis) < stride(kept_))) kept_ = axis;
    }
    for (const int axis : others)
      if (axis != kept_) loops_.push_back(axis);
    if (kept_ >= 0) loops_.push_back(kept_);
  }

  void Check() const {
    const Axis& searched = rows();
    if (searched.in_sticks || (ranks_ >= 0 && problem_.axes[ranks_].in_sticks)) {
      throw BadInput("{}: '{}' is inside the sticks; it searches along other dimensions only",
                     problem_.name,
                     searched.in_sticks ? searched.name : problem_.axes[ranks_].name);
    }
    if (searched.split > 1 || searched.masked) {
      throw BadInput("{}: '{}', along which it searches, is {}", problem_.name, searched.name,
                     searched.masked ? "masked" : "divided over cores");
    }
    if (k() > searched.size) {
      throw BadInput("{}: the {} largest of {} are asked for", problem_.name, k(), searched.size);
    }
    if (ranks_ >= 0 && problem_.axes[ranks_].uneven()) {
      throw BadInput("{}: {} ranks are not divided into {} parts of one length", problem_.name, k(),
                     problem_.axes[ranks_].split);
    }
  }

  int64_t LxBytes(int64_t kept, int64_t tile) const {
    const int64_t lists = (body_.gives_index ? 1 : 0) + (staged(kOut) ? kSlots : 1);
    return kept * ((staged(kIn) ? kSlots * tile * kStick : 0) + lists * ListStride() + 4 * kStick) +
           4 * kStick;
  }

  void ChooseTiles() {
    const auto left =
        static_cast<int64_t>(problem_.lx_bytes - std::min(problem_.lx_bytes, lx_.used()));
    int64_t tile = std::min(rows().slice, kTileRows);
    while (LxBytes(1, tile) > left && tile > kStickElements)
      tile = tile == kTileRows ? tile / 2 : kTileRows / 2;
    const int64_t needed = LxBytes(1, tile);
    if (needed > left) {
      throw BadInput("{}: needs {} bytes of LX, for the {} largest; {} may be used. Raise lx_bytes",
                     problem_.name, needed, k(), left);
    }
    rows().tile = tile;
    if (kept_ < 0) return;
    Axis& kept = problem_.axes[kept_];
    const int64_t sticks = StreamTileSticks(problem_, left / kStick);
    kept.tile = BalancedTile(kept.slice, std::max(sticks / tile, kLeastKept));
    while (LxBytes(kept.tile, tile) > left) kept.tile = BalancedTile(kept.slice, kept.tile - 1);
  }

  std::vector<int> AllLoops() const {
    std::vector<int> loops = loops_;
    loops.push_back(rows_);
    return loops;
  }

  void Load(SectionBuilder& b, const std::vector<Reg>& outer) const {
    BufferCursor in(b, in_);
    TileWalk walk(b, problem_, {kIn}, outer);
    TileShape shape;
    shape.rows = rows_;
    shape.planes = kept_;
    walk.Run(AllLoops(), [&] {
      EmitTile(b, walk, problem_, shape, Op::kLoad, {kInFree, kInFull}, kIn, in.at());
      in.Advance();
    });
    b.Wait(kInFree, kSlots);
  }

  Row At(SectionBuilder& b, int64_t address) const { return {b.Const(address), b.Const(kStick)}; }
  Row Same(SectionBuilder& b, int64_t address) const { return {b.Const(address), kZero}; }

  uint8_t Sticks() const { return body_.fp32 ? kFp32Sticks : 0; }
  void Unary(SectionBuilder& b, const Row& to, const Row& a, Reg kept) const {
    b.Emit(Op::kVunary, FnByte(UnaryFn::kCopy, Sticks()), {},
           {to.at, a.at, kZero, kept, b.Const(1), kZero, kZero, kZero, to.stride, a.stride});
  }
  void Binary(SectionBuilder& b, BinaryFn fn, const Row& to, const Row& a, const Row& second,
              Reg kept) const {
    b.Emit(Op::kVbinary, FnByte(fn, Sticks()), {},
           {to.at, a.at, second.at, kept, b.Const(1), kZero, kZero, kZero, to.stride, a.stride,
            second.stride});
  }
  // A number in every lane of a stick; of fp32 one half of the lanes after the other.
  void Fill(SectionBuilder& b, int64_t address, double value) const {
    const auto fill = [&](int64_t at, int64_t code, int64_t bytes, int64_t rows, int64_t row) {
      b.Scoped([&] {
        b.Emit(Op::kVfill, 0, {},
               {b.Const(at), b.Const(code), b.Const(bytes), b.Const(rows), b.Const(row)});
      });
    };
    if (!body_.fp32) return fill(address, DlfFromDouble(value), kStick, 1, 0);
    constexpr int64_t kHalf = sizeof(uint16_t);
    const auto number = static_cast<float>(value);
    std::array<uint16_t, 2> halves{};
    std::memcpy(halves.data(), &number, sizeof number);
    for (size_t half = 0; half < halves.size(); ++half) {
      fill(address + static_cast<int64_t>(half) * kHalf, halves[half], kHalf, kStick / (2 * kHalf),
           2 * kHalf);
    }
  }

  // Ranks of the list of this core; less than k where cores divide them.
  Reg Ranks(SectionBuilder& b) const {
    if (ranks_ < 0 || problem_.axes[ranks_].split == 1) return b.Const(k());
    const Axis& ranks = problem_.axes[ranks_];
    return b.Add(b.Const(ranks.slice), b.Core(ranks.slice_column), ranks.slice);
  }
  // Bytes from a list to the part of it that this core gives.
  Reg OwnPart(SectionBuilder& b) const {
    if (ranks_ < 0 || problem_.axes[ranks_].split == 1) return kZero;
    const Axis& ranks = problem_.axes[ranks_];
    return b.Add(kZero, b.Core(ranks.slice_column), ranks.slice * kStick);
  }

  // Where `less`, what moves changes places with the one in the list.
  void Exchange(SectionBuilder& b, const Row& listed, const Row& moving, Reg kept) const {
    const Row held = At(b, held_at_);
    const Row less = At(b, less_at_);
    Unary(b, held, listed, kept);
    Binary(b, BinaryFn::kSelect, listed, less, moving, kept);
    Binary(b, BinaryFn::kSelect, moving, less, held, kept);
  }

  // The row at `value` into a list that has `count` ranks so far.
  void Insert(SectionBuilder& b, const Row& value, Reg values_at, Reg list_at, Reg count,
              Reg kept) const {
    const Reg stride = b.Const(ListStride());
    const Row moving = At(b, moving_at_);
    const Row position = body_.gives_index ? At(b, position_at_) : Row{};
    Unary(b, moving, value, kept);
    if (body_.gives_index) {
      const Row in_tile = Same(b, row_position_at_);
      Binary(b, BinaryFn::kAdd, position, Same(b, tile_position_at_), in_tile, kept);
      Binary(b, BinaryFn::kAdd, in_tile, in_tile, Same(b, one_at_), b.Const(1));
    }
    b.Loop(count, [&](Reg rank) {
      const Row listed{b.Add(values_at, rank, kStick), stride};
      Binary(b, BinaryFn::kLess, At(b, less_at_), listed, value, kept);
      Exchange(b, listed, moving, kept);
      if (body_.gives_index) Exchange(b, {b.Add(list_at, rank, kStick), stride}, position, kept);
    });
    // A list that is not full yet grows; behind a full one is what is not needed any more.
    Unary(b, {b.Add(values_at, count, kStick), stride}, moving, kept);
    if (body_.gives_index) Unary(b, {b.Add(list_at, count, kStick), stride}, position, kept);
  }

  void Compute(SectionBuilder& b, const std::vector<Reg>& outer) const {
    if (staged(kIn)) b.Signal(kInFree, kSlots);
    if (body_.gives_index) {
      Fill(b, one_at_, 1);
      Fill(b, tile_rows_at_, static_cast<double>(rows().tile));
    }
    BufferCursor in(b, in_);
    BufferCursor list(b, list_);
    std::vector<int> in_lx;
    for (const int operand : {kIn, kOut})
      if (!staged(operand)) in_lx.push_back(operand);
    TileWalk walk(b, problem_, in_lx, outer);
    const Reg ranks = Ranks(b);
    walk.Run(loops_, [&] {
      const Reg kept = kept_ < 0 ? b.Const(1) : walk.size(kept_);
      const Reg values_at = body_.gives_index ? b.Const(values_at_) : list.at();
      if (staged(kOut)) b.Wait(kOutFree);
      if (body_.gives_index) Fill(b, tile_position_at_, 0);
      walk.Run({rows_}, [&] {
        if (staged(kIn)) b.Wait(kInFull);
        if (body_.gives_index) Fill(b, row_position_at_, 0);
        b.Loop(walk.size(rows_), [&](Reg row) {
          const Reg seen = b.Add(row, walk.index(rows_), rows().tile);
          Insert(b, Value(b, walk, in, row), values_at, list.at(), b.Min(seen, ranks), kept);
        });
        if (body_.gives_index) {
          const Row tile = Same(b, tile_position_at_);
          Binary(b, BinaryFn::kAdd, tile, tile, Same(b, tile_rows_at_), b.Const(1));
        }
        if (staged(kIn)) b.Signal(kInFree);
        in.Advance();
      });
      if (staged(kOut)) {
        b.Signal(kOutFull);
      } else {
        Give(b, walk, list.at(), kept);
      }
      list.Advance();
    });
    if (staged(kOut)) b.Wait(kOutFree, kSlots);
  }

  // A row of the tile, where the load put it or where it stays.
  Row Value(SectionBuilder& b, const TileWalk& walk, const BufferCursor& in, Reg row) const {
    if (staged(kIn)) return {b.Add(in.at(), row, kStick), b.Const(rows().tile * kStick)};
    return {b.AddProduct(walk.address(kIn), row, walk.stride(kIn, rows_)),
            kept_ < 0 ? kZero : walk.stride(kIn, kept_)};
  }

  int64_t OwnRanks() const { return ranks_ < 0 ? 1 : problem_.axes[ranks_].slice; }

  // To a result that stays in LX.
  void Give(SectionBuilder& b, const TileWalk& walk, Reg list_at, Reg kept) const {
    const auto stride = [&](int axis) { return axis < 0 ? kZero : walk.stride(kOut, axis); };
    b.Emit(Op::kVunary, FnByte(UnaryFn::kCopy, Sticks()), {},
           {walk.address(kOut), b.Add(list_at, OwnPart(b)), kZero, b.Const(OwnRanks()), kept,
            stride(kept_), b.Const(ListStride()), kZero, stride(ranks_), b.Const(kStick)});
  }

  void Store(SectionBuilder& b, const std::vector<Reg>& outer) const {
    b.Signal(kOutFree, kSlots);
    BufferCursor list(b, list_);
    TileWalk walk(b, problem_, {kOut}, outer);
    const Reg own_part = OwnPart(b);
    const auto stride = [&](int axis) {
      return axis < 0 ? 0 : problem_.operands[kOut].unit_stride[axis];
    };
    walk.Run(loops_, [&] {
      b.Scoped([&] {
        BoxSide ranks{b.Const(OwnRanks()), ranks_ < 0 ? kZero : walk.stride(kOut, ranks_),
                      b.Const(kStick)};
        BoxSide kept{kept_ < 0 ? b.Const(1) : walk.size(kept_),
                     kept_ < 0 ? kZero : walk.stride(kOut, kept_), b.Const(ListStride())};
        if (stride(kept_) > 0 && stride(kept_) < stride(ranks_)) std::swap(ranks, kept);
        EmitBox(b, Op::kStore, {kOutFull, kOutFree}, b.Add(list.at(), own_part), walk.address(kOut),
                ranks, kept);
      });
      list.Advance();
    });
  }

  Problem& problem_;
  TopKBody body_;
  int rows_ = -1;   // axis that is searched
  int ranks_ = -1;  // axis of the result's ranks; -1: the largest only
  int kept_ = -1;   // axis of which an instruction works on several sticks; -1: none
  std::vector<int> loops_;
  LxAllocator lx_;
  Buffers in_;
  Buffers list_;            // what the result is a part of
  int64_t values_at_ = -1;  // the values, where the result is where they stand
  int64_t moving_at_ = 0, held_at_ = 0, less_at_ = 0, position_at_ = 0;
  int64_t tile_position_at_ = 0, row_position_at_ = 0, one_at_ = 0, tile_rows_at_ = 0;
};

}  // namespace
}  // namespace one_input

uint64_t BuildTopK(Problem& problem, const TopKBody& body, StepCode& code) {
  return one_input::TopKKernel(problem, body).Build(code);
}

}  // namespace spyre::compiler
