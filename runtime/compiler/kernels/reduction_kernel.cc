// SPDX-License-Identifier: Apache-2.0
// sum, amax, amin, mean along axes, of elements or of the products of two operands. The vector unit
// folds tiles of the reduced axis into fp32 accumulators; of several, the one in the sticks (else
// the first) is innermost. Where they are divided over cores, partial results go from core to core
// in the order of the slices, the first axis slowest; the last core rounds once and stores.
//
// The sections are in one file because each waits for what another gives: tokens, buffers and loops
// of one unit are those of the next.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace reduction {
namespace {

enum Token : uint8_t {
  kNone = 0,
  kInFull = 1,   // load -> vector
  kInFree,       // vector -> load
  kOutFull,      // vector -> store
  kOutFree,      // store -> vector
  kPartialFull,  // vector -> ring: to be sent on
  kSumFree,      // ring -> vector: the accumulators have been sent
  kReceived,     // previous core's ring -> vector
  kReceiveFree,  // vector -> ring
  kNextReady,    // next core's ring -> ring
  kFactorFull,   // load -> vector
};

constexpr int kIn = 0;
constexpr int kFactor = 1;  // of sums of products
constexpr int kSlots = 2;
constexpr int64_t kChunkRows = 64;  // rows that are added before they meet the accumulator

class ReductionKernel {
 public:
  ReductionKernel(Problem& problem, const ReductionBody& body)
      : problem_(problem),
        body_(body),
        out_op_(static_cast<int>(problem.operands.size()) - 1),
        lx_(problem.lx_base) {
    for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
      // Where several axes are reduced, the others go outside, in order.
      if (!problem_.axes[axis].reduced) continue;
      also_reduced_.push_back(axis);
      if (reduced_ < 0 || problem_.operands[kIn].stick_axis == axis) reduced_ = axis;
    }
    if (reduced_ < 0) {  // of one element
      reduced_ = problem_.AddUnitAxis();
      problem_.axes[reduced_].reduced = true;
    }
    FindChain();
    also_reduced_.erase(std::remove(also_reduced_.begin(), also_reduced_.end(), reduced_),
                        also_reduced_.end());
    shape_ = TileShape::Choose(problem_, kIn, reduced_);
    kept_ = shape_.planes;
    if (kept_ >= 0 && problem_.axes[kept_].reduced) kept_ = KeepAnother();
    lanes_ = problem_.operands[kIn].stick_axis == reduced_;
    // In LX the unit's "rows" are the kept axis when lanes are folded, the reduced one otherwise.
    if (lanes_) std::swap(shape_.rows, shape_.planes);
    CheckProducts();
    constants_at_ = lx_.Take(static_cast<int64_t>(body_.constants.size()) * kStick, "constants");
    ChooseTiles();
    const int64_t tile_bytes = KeptTile() * problem_.axes[reduced_].tile * kStick;
    if (in_staged()) in_ = Buffers::Take(lx_, tile_bytes, kSlots, "input");
    if (factor_staged()) factor_ = Buffers::Take(lx_, tile_bytes, kSlots, "factors");
    if (body_.products) products_at_ = lx_.Take(tile_bytes, "products");
    if (out_staged()) out_ = Buffers::Take(lx_, KeptTile() * OutStride(), kSlots, "out");
    sum_at_ = lx_.Take(SumBytes(), "sums");
    if (combines_) received_at_ = lx_.Take(SumBytes(), "received sums");
    for (int axis : shape_.outer) {
      if (!problem_.axes[axis].reduced) loops_.push_back(axis);
    }
    if (kept_ >= 0) loops_.push_back(kept_);
    reduced_loops_ = also_reduced_;
    reduced_loops_.push_back(reduced_);
  }

  uint64_t Build(StepCode& code) {
    const auto emit = [&](Unit unit, auto section) {
      code.Emit(unit, [&](SectionBuilder& b) { (this->*section)(b, code.loops(unit)); });
    };
    if (loads()) emit(Unit::kLoad, &ReductionKernel::LoadSection);
    if (out_staged()) emit(Unit::kStore, &ReductionKernel::StoreSection);
    emit(Unit::kVector, &ReductionKernel::VectorSection);
    if (combines_) emit(Unit::kRing, &ReductionKernel::RingSection);
    code.Keep(lx_.uses());
    return lx_.used();
  }

 private:
  void FindChain() {
    int divided = 0;
    for (const int axis : also_reduced_) {
      if (axis != reduced_ && problem_.axes[axis].masked) {
        throw BadInput("{}: reduces {} dimensions, and '{}' is masked but not innermost",
                       problem_.name, also_reduced_.size(), problem_.axes[axis].name);
      }
      if (problem_.axes[axis].split == 1) continue;
      ++divided;
      chain_column_ = problem_.axes[axis].slice_column;
      chain_length_ = problem_.axes[axis].split;
    }
    if (divided > 1) {
      chain_column_ = problem_.chain_column;
      chain_length_ = problem_.chain_length;
    }
    combines_ = divided > 0;
  }

  // The tile's second axis must stay: another of the outer ones, if there is one.
  int KeepAnother() {
    for (int& axis : shape_.outer) {
      if (problem_.axes[axis].reduced) continue;
      std::swap(axis, shape_.planes);
      return shape_.planes;
    }
    shape_.outer.push_back(shape_.planes);
    shape_.planes = -1;
    return -1;
  }

  void CheckProducts() const {
    if (!body_.products) return;
    const bool same = !lanes_ && !problem_.operands[kIn].lane0 &&
                      problem_.operands[kIn].stick_axis == problem_.operands[kFactor].stick_axis;
    if (same) return;
    throw BadInput(
        "{}: both operands must have the same dimension in their sticks, and it must not be one "
        "that is summed over",
        problem_.name);
  }

  bool in_staged() const { return !problem_.operands[kIn].in_lx; }
  bool factor_staged() const { return body_.products && !problem_.operands[kFactor].in_lx; }
  bool loads() const { return in_staged() || factor_staged(); }
  bool out_staged() const { return !problem_.operands[out_op_].in_lx; }
  int64_t StagedInputs() const { return (in_staged() ? 1 : 0) + (factor_staged() ? 1 : 0); }

  int64_t KeptTile() const { return kept_ < 0 ? 1 : problem_.axes[kept_].tile; }
  // One accumulator for each element of the tile, or for each of its 64 lanes.
  int64_t SumStride() const { return lanes_ ? 4 : 4 * StickElements(); }
  int64_t StickElements() const { return kStick / (body_.fp32 ? 4 : 2); }
  // The result of a row is a stick of its own, and goes to memory by itself (scattered writes).
  int64_t OutStride() const { return lanes_ ? 2 * kStick : kStick; }
  // The accumulators of one fold; those of the next follow.
  int64_t FoldBytes(int64_t kept) const {
    return static_cast<int64_t>(AlignUp(static_cast<uint64_t>(kept * SumStride()), kStickBytes));
  }
  int64_t SumBytes(int64_t kept) const {
    return static_cast<int64_t>(body_.folds.size()) * FoldBytes(kept);
  }
  int64_t SumBytes() const { return SumBytes(KeptTile()); }

  int64_t LxBytes(int64_t kept, int64_t reduced) const {
    return kSlots * kept * (StagedInputs() * reduced * kStick + (out_staged() ? OutStride() : 0)) +
           (body_.products ? kept * reduced * kStick : 0) + (combines_ ? 2 : 1) * SumBytes(kept);
  }

  void ChooseTiles() {
    Axis& reduced = problem_.axes[reduced_];
    const int64_t kept_slice = kept_ < 0 ? 1 : problem_.axes[kept_].slice;
    const auto limit =
        static_cast<int64_t>(problem_.lx_bytes - std::min(problem_.lx_bytes, lx_.used()));
    // Tiles of rows are whole chunks, so that the order of additions does not depend on them.
    const int64_t least = lanes_ ? 1 : std::min(reduced.slice, kChunkRows);
    if (LxBytes(1, least) > limit) {
      throw BadInput(
          "{}: dimension '{}' of {} needs {} bytes of LX; {} may be used. Raise lx_bytes",
          problem_.name, reduced.name, reduced.size, LxBytes(1, least), limit);
    }
    // What is in LX already is one tile.
    const int64_t sticks =
        StagedInputs() == 0 ? kept_slice * reduced.slice
                            : std::max(least, StreamTileSticks(problem_, limit / (kSlots * kStick),
                                                               kPublicWideTile));
    const auto reduced_tile = [&](int64_t most) {
      if (most >= reduced.slice) return reduced.slice;
      return lanes_ ? BalancedTile(reduced.slice, most) : std::max(most / least * least, least);
    };
    // The axis whose sticks follow each other in memory gets the longer side.
    int64_t kept = 1;
    if (lanes_) {
      kept = BalancedTile(kept_slice, sticks);
      reduced.tile = reduced_tile(std::max<int64_t>(1, sticks / kept));
    } else {
      reduced.tile = reduced_tile(sticks);
      kept = BalancedTile(kept_slice, std::max<int64_t>(1, sticks / reduced.tile));
    }
    while (LxBytes(kept, reduced.tile) > limit) {
      if (kept > 1) {
        kept = BalancedTile(kept_slice, kept - std::max<int64_t>(1, kept / 8));
      } else {
        reduced.tile =
            reduced_tile(std::max(least, reduced.tile - std::max<int64_t>(1, reduced.tile / 8)));
      }
    }
    if (kept_ >= 0) problem_.axes[kept_].tile = kept;
  }

  std::vector<int> AllLoops() const {
    std::vector<int> loops = loops_;
    loops.insert(loops.end(), reduced_loops_.begin(), reduced_loops_.end());
    return loops;
  }

  void LoadSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    BufferCursor in(b, in_);
    std::optional<BufferCursor> factor;
    if (factor_staged()) factor.emplace(b, factor_);
    std::vector<int> staged;
    if (in_staged()) staged.push_back(kIn);
    if (factor_staged()) staged.push_back(kFactor);
    TileWalk walk(b, problem_, staged, outer);
    walk.Run(AllLoops(), [&] {
      if (in_staged()) {
        EmitTile(b, walk, problem_, shape_, Op::kLoad, {kInFree, kInFull}, kIn, in.at());
        in.Advance();
      }
      if (factor_staged()) {
        const uint8_t free = in_staged() ? kNone : kInFree;
        EmitTile(b, walk, problem_, shape_, Op::kLoad, {free, kFactorFull}, kFactor, factor->at());
        factor->Advance();
      }
    });
    b.Wait(kInFree, kSlots);
  }

  Reg PlaceInChain(SectionBuilder& b) const {
    return chain_column_ < 0 ? kZero : b.Core(chain_column_);
  }
  Reg IsLastSlice(SectionBuilder& b) const {
    return b.Add(PlaceInChain(b), b.Const(1), 2 - chain_length_);
  }
  Reg HasPrevious(SectionBuilder& b) const { return b.Min(PlaceInChain(b), b.Const(1)); }
  Reg HasNext(SectionBuilder& b) const {
    const Reg left = b.Add(b.Const(chain_length_ - 1), PlaceInChain(b), -1);
    return b.Min(left, b.Const(1));
  }

  uint8_t Flags() const { return body_.fp32 ? kFp32Sticks : 0; }

  // The bytes from row to row (plane to plane) of an operand's tile: where it lies, or packed.
  Reg TileStride(SectionBuilder& b, TileWalk& walk, int operand, int axis, int64_t packed) const {
    if (axis < 0 || !problem_.operands[operand].Walks(axis)) return kZero;
    return problem_.operands[operand].in_lx ? walk.stride(operand, axis) : b.Const(packed);
  }

  // The products of one tile.
  void Multiply(SectionBuilder& b, TileWalk& walk, Reg in, Reg factor, Reg kept) {
    const int64_t plane = shape_.row_tile(problem_) * kStick;
    if (in_staged()) b.Wait(kInFull);
    if (factor_staged()) b.Wait(kFactorFull);
    b.Emit(Op::kVbinary, FnByte(BinaryFn::kMul), {kNone, loads() ? kInFree : kNone},
           {b.Const(products_at_), in, factor, walk.size(reduced_), kept, b.Const(plane),
            TileStride(b, walk, kIn, kept_, plane), TileStride(b, walk, kFactor, kept_, plane),
            b.Const(kStick), TileStride(b, walk, kIn, reduced_, kStick),
            TileStride(b, walk, kFactor, reduced_, kStick)});
  }

  // One tile of the reduced axis into the accumulators.
  void Fold(SectionBuilder& b, TileWalk& walk, Reg in, Reg kept, Reg core_elements) {
    Reg accumulate = walk.index(reduced_);  // 0 in the first tile
    for (int axis : also_reduced_) accumulate = b.Add(accumulate, walk.index(axis));
    const Reg sum_stride = b.Const(SumStride());
    const auto stride = [&](int axis, int64_t staged) {
      if (axis < 0) return kZero;
      return in_staged() || body_.products ? b.Const(staged) : walk.stride(kIn, axis);
    };
    const bool waits = in_staged() && !body_.products;  // else the products have waited
    const int64_t plane = shape_.row_tile(problem_) * kStick;
    const Reg reduced_stride = stride(reduced_, lanes_ ? plane : kStick);
    const Reg kept_stride = stride(kept_, lanes_ ? kStick : plane);
    const bool counts = lanes_ || problem_.axes[reduced_].masked;
    const Reg elements = counts ? walk.TileElements(reduced_, core_elements) : kZero;
    for (size_t i = FirstFold(); i < body_.folds.size(); ++i) {
      const bool last = i + 1 == body_.folds.size();
      const Order order{waits && i == FirstFold() ? kInFull : kNone,
                        waits && last ? kInFree : kNone};
      const uint8_t fn = FnByte(body_.folds[i], Flags());
      const Reg sum = b.Const(sum_at_ + static_cast<int64_t>(i) * FoldBytes(KeptTile()));
      if (lanes_) {
        b.Emit(Op::kVreduce, fn, order,
               {sum, in, accumulate, kept, walk.size(reduced_), kZero, reduced_stride, kZero,
                sum_stride, kept_stride, kZero, elements});
      } else {
        b.Emit(Op::kVreduceRows, fn, order,
               {sum, in, accumulate, counts ? elements : walk.size(reduced_), kept, sum_stride,
                kept_stride, kZero, kZero, reduced_stride});
      }
    }
  }

  // The accumulators to where the result goes, and what follows on the rounded result.
  void Round(SectionBuilder& b, TileWalk& walk, Reg out, Reg kept) {
    const Reg row = kept_ < 0      ? kZero
                    : out_staged() ? b.Const(OutStride())
                                   : walk.stride(out_op_, kept_);
    const Reg one = b.Const(1);
    if (out_staged()) b.Wait(kOutFree);
    if (body_.zero_first) {
      b.Emit(Op::kVfill, 0, {}, {out, kZero, b.Const(kStick), kept, row});
    }
    for (size_t i = FirstFold(); i < body_.folds.size(); ++i) {
      uint8_t fn = Flags() | (body_.factor ? kRoundScale : 0);
      if (lanes_) fn |= i == 0 ? kRoundLane0 : kRoundLane1;
      b.Emit(Op::kVround, fn, {},
             {out, b.Const(sum_at_ + static_cast<int64_t>(i) * FoldBytes(KeptTile())),
              b.Const(body_.divisor), kept, one, kZero, kZero, kZero, row, b.Const(SumStride())});
    }
    for (const auto& [fn, constant] : body_.then) {
      b.Emit(Op::kVbinary, fn, {},
             {out, out, b.Const(constants_at_ + constant * kStick), kept, one, kZero, kZero, kZero,
              row, row, kZero});
    }
    if (out_staged()) b.Signal(kOutFull);
  }

  // A first fold whose result is not wanted is not made.
  size_t FirstFold() const { return body_.zero_first ? 1 : 0; }

  void Combine(SectionBuilder& b, Reg kept) {
    const Reg count = lanes_ ? kept : b.Add(kZero, kept, StickElements());
    for (size_t i = FirstFold(); i < body_.folds.size(); ++i) {
      const bool last = i + 1 == body_.folds.size();
      const int64_t offset = static_cast<int64_t>(i) * FoldBytes(KeptTile());
      const Reg sum = b.Const(sum_at_ + offset);
      b.Emit(Op::kVaccumulate, FnByte(body_.folds[i]),
             {i == FirstFold() ? kReceived : kNone, last ? kReceiveFree : kNone},
             {sum, b.Const(received_at_ + offset), sum, count});
    }
  }

  void VectorSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    if (loads()) b.Signal(kInFree, kSlots);
    if (combines_) {
      b.Signal(kSumFree);
      b.Signal(kReceiveFree);
    }
    for (size_t i = 0; i < body_.constants.size(); ++i) {
      b.Scoped([&] {
        const Reg at = b.Const(constants_at_ + static_cast<int64_t>(i) * kStick);
        b.Emit(Op::kVfill, 0, {},
               {at, b.Const(body_.constants[i]), b.Const(kStick), b.Const(1), kZero});
      });
    }
    BufferCursor in(b, in_);
    std::optional<BufferCursor> factor;
    if (factor_staged()) factor.emplace(b, factor_);
    BufferCursor out(b, out_);
    std::vector<int> in_lx;
    if (!in_staged()) in_lx.push_back(kIn);
    if (body_.products && !factor_staged()) in_lx.push_back(kFactor);
    if (!out_staged()) in_lx.push_back(out_op_);
    TileWalk walk(b, problem_, in_lx, outer);
    const bool counts = lanes_ || problem_.axes[reduced_].masked;
    const Reg core_elements = counts ? walk.CoreElements(reduced_) : kZero;
    const Reg one = b.Const(1);
    walk.Run(loops_, [&] {
      const Reg kept = kept_ < 0 ? one : walk.size(kept_);
      if (combines_) b.Wait(kSumFree);
      walk.Run(reduced_loops_, [&] {
        b.Scoped([&] {
          Reg at = in_staged() ? in.at() : walk.address(kIn);
          if (body_.products) {
            Multiply(b, walk, at, factor ? factor->at() : walk.address(kFactor), kept);
            at = b.Const(products_at_);
          }
          Fold(b, walk, at, kept, core_elements);
        });
        in.Advance();
        if (factor) factor->Advance();
      });
      const auto round = [&] {
        b.Scoped([&] { Round(b, walk, out_staged() ? out.at() : walk.address(out_op_), kept); });
        if (combines_) b.Signal(kSumFree);
        out.Advance();
      };
      if (!combines_) return round();
      b.If(HasPrevious(b), [&] { Combine(b, kept); });
      b.If(HasNext(b), [&] { b.Signal(kPartialFull); });
      b.If(IsLastSlice(b), round);
    });
    if (combines_) b.Wait(kSumFree);
    if (!out_staged()) return;
    const auto drain = [&] { b.Wait(kOutFree, kSlots); };
    if (combines_) {
      b.If(IsLastSlice(b), drain);
    } else {
      drain();
    }
  }

  void RingSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    TileWalk walk(b, problem_, {}, outer);
    const Reg previous = b.Core(problem_.columns->Add(problem_.previous));
    const Reg next = b.Core(problem_.columns->Add(problem_.next));
    const Reg next_ready = b.Const(kNextReady);
    const Reg has_previous = HasPrevious(b);
    const Reg has_next = HasNext(b);
    walk.Run(loops_, [&] {
      b.If(has_previous, [&] {
        b.Emit(Op::kSend, 0, {kReceiveFree, 0}, {previous, kZero, kZero, kZero, next_ready});
      });
      b.If(has_next, [&] {
        b.Wait(kPartialFull);
        const Reg kept = kept_ < 0 ? b.Const(1) : walk.size(kept_);
        const Reg bytes = b.Add(kZero, kept, SumStride());
        for (size_t i = FirstFold(); i < body_.folds.size(); ++i) {
          const bool last = i + 1 == body_.folds.size();
          const int64_t offset = static_cast<int64_t>(i) * FoldBytes(KeptTile());
          b.Emit(Op::kSend, 0, {i == FirstFold() ? kNextReady : kNone, last ? kSumFree : kNone},
                 {next, b.Const(received_at_ + offset), b.Const(sum_at_ + offset), bytes,
                  last ? b.Const(kReceived) : kZero});
        }
      });
    });
    b.Wait(kReceiveFree);
  }

  void StoreSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    BufferCursor out(b, out_);
    TileWalk walk(b, problem_, {out_op_}, outer);
    // One stick for each unit of the kept axis.
    const auto store = [&] {
      b.Signal(kOutFree, kSlots);
      walk.Run(loops_, [&] {
        const BoxSide rows{kept_ < 0 ? b.Const(1) : walk.size(kept_),
                           kept_ < 0 ? kZero : walk.stride(out_op_, kept_), b.Const(OutStride())};
        EmitBox(b, Op::kStore, {kOutFull, kOutFree}, out.at(), walk.address(out_op_), rows,
                {b.Const(1), kZero, kZero});
        out.Advance();
      });
    };
    if (combines_) {
      b.If(IsLastSlice(b), store);
    } else {
      store();
    }
  }

  Problem& problem_;
  ReductionBody body_;
  int out_op_;  // position of the output among the operands
  int reduced_ = -1;
  std::vector<int> also_reduced_;
  std::vector<int> reduced_loops_;
  int kept_ = -1;       // axis of the tile that stays
  bool lanes_ = false;  // the reduced axis is inside the sticks
  bool combines_ = false;
  int chain_column_ = -1;  // core register: the core's place among those that share a result
  int chain_length_ = 1;
  TileShape shape_;
  std::vector<int> loops_;  // of the kept axes
  LxAllocator lx_;
  Buffers in_, factor_, out_;
  int64_t products_at_ = 0;
  int64_t constants_at_ = 0, sum_at_ = 0, received_at_ = 0;
};

}  // namespace
}  // namespace reduction

uint64_t BuildReduction(Problem& problem, const ReductionBody& body, StepCode& code) {
  return reduction::ReductionKernel(problem, body).Build(code);
}

}  // namespace spyre::compiler
