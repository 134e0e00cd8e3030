// sum, amax, amin, mean along one axis. The vector unit folds the tiles of the reduced axis into
// fp32 accumulators. Where the axis is divided over cores, partial results go from core to core in
// the order of the slices; the last core rounds once and stores.
#include <algorithm>

#include "model/contract/error.h"
#include "runtime/compiler/tile_walk.h"

namespace spyre::compiler {
namespace {

enum Token : uint8_t {
  kInFull = 1,   // load -> vector
  kInFree,       // vector -> load
  kOutFull,      // vector -> store
  kOutFree,      // store -> vector
  kPartialFull,  // vector -> ring: to be sent on
  kSumFree,      // ring -> vector: the accumulators have been sent
  kReceived,     // previous core's ring -> vector
  kReceiveFree,  // vector -> ring
  kNextReady,    // next core's ring -> ring
};

constexpr int kIn = 0;
constexpr int kOut = 1;
constexpr int kSlots = 2;
constexpr int64_t kChunkRows = 64;  // rows that are added before they meet the accumulator

class ReductionKernel {
 public:
  ReductionKernel(Problem& problem, Kernel& kernel)
      : p_(problem), kernel_(kernel), op_(*problem.operation), reduced_(problem.reduced_axis()) {
    shape_ = TileShape::Choose(p_, kIn, reduced_);
    kept_ = shape_.planes;
    lanes_ = p_.stick_axis(kIn) == reduced_;
    // In LX the unit's "rows" are the kept axis when lanes are folded, the reduced one otherwise.
    if (lanes_) std::swap(shape_.rows, shape_.planes);
    combines_ = p_.axes[reduced_].split > 1;
    ChooseTiles();
    in_ = Buffers::Take(lx_, KeptTile() * p_.axes[reduced_].tile * 128, kSlots);
    out_ = Buffers::Take(lx_, KeptTile() * OutStride(), kSlots);
    sum_at_ = lx_.Take(SumBytes());
    if (combines_) received_at_ = lx_.Take(SumBytes());
    loops_ = shape_.outer;
    if (kept_ >= 0) loops_.push_back(kept_);
  }

  void Build() {
    Program& program = kernel_.compute;
    program.core_registers = CoreRegisters(p_, {});
    program.sections = {LoadSection(), StoreSection(), VectorSection()};
    if (combines_) program.sections.push_back(RingSection());
    kernel_.plan.lx_bytes_used = lx_.used();
  }

 private:
  int64_t KeptTile() const { return kept_ < 0 ? 1 : p_.axes[kept_].tile; }
  // One accumulator for each element of the tile, or for each of its 64 lanes.
  int64_t SumStride() const { return lanes_ ? 4 : 256; }
  // The result of a row is a stick of its own, and goes to memory by itself (scattered writes).
  int64_t OutStride() const { return lanes_ ? 256 : 128; }
  int64_t SumBytes() const {
    return static_cast<int64_t>(AlignUp(KeptTile() * SumStride(), kStickBytes));
  }

  int64_t LxBytes(int64_t kept, int64_t reduced) const {
    return kSlots * kept * (reduced * 128 + OutStride()) +
           (combines_ ? 2 : 1) * static_cast<int64_t>(AlignUp(kept * SumStride(), kStickBytes));
  }

  void ChooseTiles() {
    Axis& reduced = p_.axes[reduced_];
    const int64_t kept_slice = kept_ < 0 ? 1 : p_.axes[kept_].slice;
    const auto limit = static_cast<int64_t>(p_.lx_bytes);
    // Tiles of rows are whole chunks, so that the order of additions does not depend on them.
    const int64_t least = lanes_ ? 1 : std::min(reduced.slice, kChunkRows);
    if (LxBytes(1, least) > limit) {
      throw BadInput(
          "{}: dimension '{}' of {} needs {} bytes of LX; {} may be used. Raise lx_bytes", op_.name,
          reduced.name, reduced.size, LxBytes(1, least), p_.lx_bytes);
    }
    const int64_t sticks = std::max(least, StreamTileSticks(p_, limit / (kSlots * 128)));
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
    if (kept_ >= 0) p_.axes[kept_].tile = kept;
  }

  std::vector<int> AllLoops() const {
    std::vector<int> loops = loops_;
    loops.push_back(reduced_);
    return loops;
  }

  Section LoadSection() {
    SectionBuilder b(Unit::kLoad, p_.core_mask());
    BufferCursor in(b, in_);
    TileWalk walk(b, p_, {kIn});
    walk.Run(AllLoops(), [&] {
      EmitTile(b, walk, p_, shape_, Op::kLoad, {kInFree, kInFull}, kIn, in.at());
      in.Advance();
    });
    return b.Finish();
  }

  Reg IsLastSlice(SectionBuilder& b) const {
    return b.Add(b.Core(kCoreSlice + reduced_), b.Const(1), 2 - p_.axes[reduced_].split);
  }
  Reg HasPrevious(SectionBuilder& b) const {
    return b.Min(b.Core(kCoreSlice + reduced_), b.Const(1));
  }
  Reg HasNext(SectionBuilder& b) const {
    const Reg left = b.Add(b.Const(p_.axes[reduced_].split - 1), b.Core(kCoreSlice + reduced_), -1);
    return b.Min(left, b.Const(1));
  }

  Section VectorSection() {
    SectionBuilder b(Unit::kVector, p_.core_mask());
    b.Signal(kInFree, kSlots);
    if (combines_) {
      b.Signal(kSumFree);
      b.Signal(kReceiveFree);
    }
    BufferCursor in(b, in_);
    BufferCursor out(b, out_);
    TileWalk walk(b, p_, {});
    const Reg core_elements = lanes_ ? walk.CoreElements(reduced_) : kZero;
    const Reg one = b.Const(1);
    const Reg stick = b.Const(kStickBytes);
    const Reg plane = b.Const(shape_.row_tile(p_) * 128);
    const Reg sum = b.Const(sum_at_);
    const Reg sum_stride = b.Const(SumStride());
    const Reg divisor = op_.is_mean() ? b.Const(p_.axes[reduced_].size) : kZero;
    const auto fn = op_.fn;
    walk.Run(loops_, [&] {
      const Reg kept = kept_ < 0 ? one : walk.size(kept_);
      if (combines_) b.Wait(kSumFree);
      walk.Run({reduced_}, [&] {
        if (lanes_) {
          b.Emit(Op::kVreduce, fn, {kInFull, kInFree},
                 {sum, in.at(), walk.index(reduced_), kept, walk.size(reduced_), kZero, plane,
                  kZero, sum_stride, stick, kZero, walk.TileElements(reduced_, core_elements)});
        } else {
          b.Emit(Op::kVreduceRows, fn, {kInFull, kInFree},
                 {sum, in.at(), walk.index(reduced_), walk.size(reduced_), kept, sum_stride, plane,
                  kZero, kZero, stick});
        }
        in.Advance();
      });
      const auto round = [&] {
        b.Emit(Op::kVround, lanes_ ? kRoundLane0 : 0, {kOutFree, kOutFull},
               {out.at(), sum, divisor, kept, one, kZero, kZero, kZero, b.Const(OutStride()),
                sum_stride});
        if (combines_) b.Signal(kSumFree);
        out.Advance();
      };
      if (!combines_) return round();
      b.If(HasPrevious(b), [&] {
        const Reg received = b.Const(received_at_);
        const Reg count = lanes_ ? kept : b.Add(kZero, kept, kStickElements);
        b.Emit(Op::kVaccumulate, fn, {kReceived, kReceiveFree}, {sum, received, sum, count});
      });
      b.If(HasNext(b), [&] { b.Signal(kPartialFull); });
      b.If(IsLastSlice(b), round);
    });
    return b.Finish();
  }

  Section RingSection() {
    SectionBuilder b(Unit::kRing, p_.core_mask());
    TileWalk walk(b, p_, {});
    const Reg previous = b.Core(kCorePrevious);
    const Reg next = b.Core(kCoreNext);
    const Reg sum = b.Const(sum_at_);
    const Reg received = b.Const(received_at_);
    const Reg next_ready = b.Const(kNextReady);
    const Reg received_token = b.Const(kReceived);
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
        b.Emit(Op::kSend, 0, {kNextReady, kSumFree}, {next, received, sum, bytes, received_token});
      });
    });
    return b.Finish();
  }

  Section StoreSection() {
    SectionBuilder b(Unit::kStore, p_.core_mask());
    BufferCursor out(b, out_);
    TileWalk walk(b, p_, {kOut});
    // One stick for each unit of the kept axis.
    const auto store = [&] {
      b.Signal(kOutFree, kSlots);
      walk.Run(loops_, [&] {
        const BoxSide rows{kept_ < 0 ? b.Const(1) : walk.size(kept_),
                           kept_ < 0 ? kZero : walk.stride(kOut, kept_), b.Const(OutStride())};
        EmitBox(b, Op::kStore, {kOutFull, kOutFree}, out.at(), walk.address(kOut), rows,
                {b.Const(1), kZero, kZero});
        out.Advance();
      });
    };
    if (combines_) {
      b.If(IsLastSlice(b), store);
    } else {
      store();
    }
    return b.Finish();
  }

  Problem& p_;
  Kernel& kernel_;
  const Operation& op_;
  int reduced_;
  int kept_ = -1;       // axis of the tile that stays
  bool lanes_ = false;  // the reduced axis is inside the sticks
  bool combines_ = false;
  TileShape shape_;
  std::vector<int> loops_;  // of the kept axes
  LxPlan lx_;
  Buffers in_, out_;
  int64_t sum_at_ = 0;
  int64_t received_at_ = 0;
};

}  // namespace

void BuildReduction(Problem& problem, Kernel& kernel) { ReductionKernel(problem, kernel).Build(); }

}  // namespace spyre::compiler
