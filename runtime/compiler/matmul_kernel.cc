// Matmul: out[m,n] = sum over k of a[m,k] * b[k,n], for each batch. Four or five units of a core
// run the same loops (batch, tiles of m, n, k), each doing its part of a tile:
//
//   load    a and b chunks into LX, one ahead of the PT array; operands that several cores need at
//           the same time come by multicast
//   pt      accumulates the chunks of one output tile in fp32
//   vector  adds the partial result of the previous slice of k (if k is divided), rounds to SEN169
//   ring    hands the partial result to the core with the next slice of k
//   store   writes the rounded tile, while the next one is computed
#include "model/contract/error.h"
#include "runtime/compiler/matmul_tiling.h"
#include "runtime/compiler/tile_walk.h"

namespace spyre::compiler {
namespace {

enum Token : uint8_t {
  kAFull = 1,  // load -> pt
  kAFree,      // pt -> load
  kBFull,
  kBFree,
  kSumFull,      // pt -> vector: an accumulator is complete
  kSumFree,      // vector or ring -> pt
  kOutFull,      // vector -> store
  kOutFree,      // store -> vector
  kPartialFull,  // vector -> ring: to be sent on
  kReceived,     // previous core's ring -> vector
  kReceiveFree,  // vector -> ring: the receive buffer may be overwritten
  kNextReady,    // next core's ring -> ring: its receive buffer is free
};

constexpr int kA = 0;
constexpr int kB = 1;
constexpr int kOut = 2;

class MatmulKernel {
 public:
  MatmulKernel(Problem& problem, Kernel& kernel) : p_(problem), kernel_(kernel) {
    batch_ = p_.Find("batch");
    m_ = p_.Find("m");
    n_ = p_.Find("n");
    k_ = p_.Find("k");
    tiles_ = batch_ < 0 ? std::vector<int>{m_, n_} : std::vector<int>{batch_, m_, n_};
    const auto& axes = p_.axes;
    share_ = {
        axes[m_].slice, axes[n_].slice, axes[k_].slice,    batch_ < 0 ? 1 : axes[batch_].slice,
        axes[n_].split, axes[m_].split, axes[k_].split > 1};
    t_ = ChooseMatmulTiling(share_, p_.lx_bytes);
    p_.axes[m_].tile = t_.m;
    p_.axes[n_].tile = t_.n;
    p_.axes[k_].tile = t_.k;
    a_at_ = lx_.Take(t_.a_slots(share_) * t_.a_chunk_bytes());
    b_at_ = lx_.Take(t_.b_slots(share_) * t_.b_chunk_bytes());
    sum_ = Buffers::Take(lx_, t_.accumulator_bytes(), t_.accumulator_slots);
    out_ = Buffers::Take(lx_, t_.output_bytes(), t_.output_slots);
    if (share_.combines) received_at_ = lx_.Take(t_.accumulator_bytes());
  }

  void Build() {
    Program& program = kernel_.compute;
    program.core_registers = CoreRegisters(p_, {{n_}, {m_}});
    program.sections = {LoadSection(), StoreSection(), PtSection(), VectorSection()};
    if (share_.combines) program.sections.push_back(RingSection());
    kernel_.plan.lx_bytes_used = lx_.used();
    kernel_.plan.resident = {{"a", t_.a_resident}, {"b", t_.b_resident}};
  }

 private:
  // Where the chunks of an operand lie: at a place of their own if resident, else in two buffers
  // used in turn. Emits what is done on the first use, on every use and on the last use.
  class Operand {
   public:
    Operand(SectionBuilder& b, const MatmulKernel& kernel, int argument)
        : b_(b),
          kernel_(kernel),
          a_(argument == kA),
          resident_(a_ ? kernel.t_.a_resident : kernel.t_.b_resident),
          chunk_bytes_(a_ ? kernel.t_.a_chunk_bytes() : kernel.t_.b_chunk_bytes()),
          base_(b.Const(a_ ? kernel.a_at_ : kernel.b_at_)),
          cursor_(b, {a_ ? kernel.a_at_ : kernel.b_at_, chunk_bytes_, resident_ ? 1 : 2}) {}

    Reg At(const TileWalk& walk) {
      if (!resident_) return cursor_.at();
      const Reg place = b_.Add(base_, walk.index(kernel_.k_), chunk_bytes_);
      if (a_) return place;
      const int64_t k_tiles = kernel_.p_.axes[kernel_.k_].tiles();
      return b_.Add(place, walk.index(kernel_.n_), chunk_bytes_ * k_tiles);
    }
    void Advance() { cursor_.Advance(); }
    // Body where the chunk is used for the first (last) time since it was loaded.
    void OnFirst(TileWalk& walk, const std::function<void()>& body) {
      if (!Reused()) return body();
      b_.If(walk.IsFirst(ReuseAxis()), body);
    }
    void OnLast(TileWalk& walk, const std::function<void()>& body) {
      if (!Reused()) return body();
      b_.If(walk.IsLast(ReuseAxis()), body);
    }

   private:
    int ReuseAxis() const { return a_ ? kernel_.n_ : kernel_.m_; }
    bool Reused() const { return resident_ && kernel_.p_.axes[ReuseAxis()].tiles() > 1; }

    SectionBuilder& b_;
    const MatmulKernel& kernel_;
    bool a_;
    bool resident_;
    int64_t chunk_bytes_;
    Reg base_;
    BufferCursor cursor_;
  };

  std::vector<int> AllLoops() const {
    std::vector<int> order = tiles_;
    order.push_back(k_);
    return order;
  }

  // A box whose row side is the one with the smaller stride in the compiled layout.
  void Box(SectionBuilder& b, const TileWalk& walk, Op op, Order order, int argument, Reg lx,
           int row_axis, BoxSide rows, BoxSide planes, Reg group = kZero) {
    const int64_t plane_stride = p_.UnitStride(argument, argument == kA ? k_ : n_);
    const int64_t row_stride =
        p_.UnitStride(argument, row_axis) / (argument == kB ? kStickElements : 1);
    if (plane_stride > 0 && plane_stride < row_stride) std::swap(rows, planes);
    EmitBox(b, op, order, lx, walk.address(argument), rows, planes, group);
  }

  Section LoadSection() {
    SectionBuilder b(Unit::kLoad, p_.core_mask());
    TileWalk walk(b, p_, {kA, kB});
    Operand a(b, *this, kA);
    Operand operand_b(b, *this, kB);
    const Reg k_elements = walk.CoreElements(k_);
    const Reg a_group = share_.a_sharers > 1 ? b.Core(kCoreGroup) : kZero;
    const Reg b_group = share_.b_sharers > 1 ? b.Core(kCoreGroup + 1) : kZero;
    const Reg stick = b.Const(kStickBytes);
    const Reg a_plane = b.Const(t_.m * 128);
    const Reg b_plane = b.Const(t_.k * kStickElements * 128);
    const Reg b_row_stride = b.Table(kB * kTableEntriesPerTensor + 1 + p_.HostDim(kB, k_));
    walk.Run(AllLoops(), [&] {
      a.OnFirst(walk, [&] {
        Box(b, walk, Op::kLoad, {kAFree, kAFull}, kA, a.At(walk), m_,
            {walk.size(m_), walk.stride(kA, m_), stick},
            {walk.size(k_), walk.stride(kA, k_), a_plane}, a_group);
        a.Advance();
      });
      operand_b.OnFirst(walk, [&] {
        // Rows of b are elements of k: no padding is read.
        Box(b, walk, Op::kLoad, {kBFree, kBFull}, kB, operand_b.At(walk), k_,
            {walk.TileElements(k_, k_elements), b_row_stride, stick},
            {walk.size(n_), walk.stride(kB, n_), b_plane}, b_group);
        operand_b.Advance();
      });
    });
    return b.Finish();
  }

  Section PtSection() {
    SectionBuilder b(Unit::kPt, p_.core_mask());
    TileWalk walk(b, p_, {});
    b.Signal(kAFree, t_.a_slots(share_));
    b.Signal(kBFree, t_.b_slots(share_));
    Operand a(b, *this, kA);
    Operand operand_b(b, *this, kB);
    BufferCursor sum(b, sum_);
    const Reg k_elements = walk.CoreElements(k_);
    const Reg a_kstick = b.Const(t_.m * 128);
    const Reg b_nstick = b.Const(t_.k * kStickElements * 128);
    walk.Run(tiles_, [&] {
      const Reg n_elements = b.Add(kZero, walk.size(n_), kStickElements);
      const Reg sum_nstick = b.Add(kZero, walk.size(m_), 256);
      b.Wait(kSumFree);
      walk.Run({k_}, [&] {
        a.OnFirst(walk, [&] { b.Wait(kAFull); });
        operand_b.OnFirst(walk, [&] { b.Wait(kBFull); });
        b.Emit(Op::kMatmul, 0, {},
               {sum.at(), a.At(walk), operand_b.At(walk), walk.size(m_), n_elements,
                walk.TileElements(k_, k_elements), a_kstick, b_nstick, sum_nstick, walk.index(k_)});
        a.OnLast(walk, [&] { b.Signal(kAFree); });
        operand_b.OnLast(walk, [&] { b.Signal(kBFree); });
        a.Advance();
        operand_b.Advance();
      });
      b.Signal(kSumFull);
      sum.Advance();
    });
    return b.Finish();
  }

  Reg HasPrevious(SectionBuilder& b) const { return b.Min(b.Core(kCoreSlice + k_), b.Const(1)); }
  Reg HasNext(SectionBuilder& b) const {
    const Reg left = b.Add(b.Const(p_.axes[k_].split - 1), b.Core(kCoreSlice + k_), -1);
    return b.Min(left, b.Const(1));
  }
  Reg IsLastSlice(SectionBuilder& b) const {
    return b.Add(b.Core(kCoreSlice + k_), b.Const(1), 2 - p_.axes[k_].split);
  }

  Section VectorSection() {
    SectionBuilder b(Unit::kVector, p_.core_mask());
    TileWalk walk(b, p_, {});
    b.Signal(kSumFree, t_.accumulator_slots);
    if (share_.combines) b.Signal(kReceiveFree);
    BufferCursor sum(b, sum_);
    BufferCursor out(b, out_);
    const Reg stick = b.Const(kStickBytes);
    const Reg accumulator_stick = b.Const(256);
    const Reg out_plane = b.Const(t_.m * 128);
    const auto round = [&] {
      const Reg sum_plane = b.Add(kZero, walk.size(m_), 256);
      b.Emit(Op::kVround, 0, {kOutFree, kOutFull},
             {out.at(), sum.at(), kZero, walk.size(m_), walk.size(n_), out_plane, sum_plane, kZero,
              stick, accumulator_stick});
      b.Signal(kSumFree);
      out.Advance();
    };
    if (!share_.combines) {
      walk.Run(tiles_, [&] {
        b.Wait(kSumFull);
        round();
        sum.Advance();
      });
      return b.Finish();
    }
    const Reg has_previous = HasPrevious(b);
    const Reg has_next = HasNext(b);
    const Reg is_last = IsLastSlice(b);
    const Reg received = b.Const(received_at_);
    walk.Run(tiles_, [&] {
      b.Wait(kSumFull);
      b.If(has_previous, [&] {
        const Reg sticks = b.Mul(walk.size(m_), walk.size(n_));
        const Reg count = b.Add(kZero, sticks, kStickElements);
        b.Emit(Op::kVaccumulate, static_cast<uint8_t>(ReduceFn::kSum), {kReceived, kReceiveFree},
               {sum.at(), received, sum.at(), count});
      });
      b.If(has_next, [&] { b.Signal(kPartialFull); });
      b.If(is_last, round);
      sum.Advance();
    });
    return b.Finish();
  }

  Section RingSection() {
    SectionBuilder b(Unit::kRing, p_.core_mask());
    TileWalk walk(b, p_, {});
    BufferCursor sum(b, sum_);
    const Reg has_previous = HasPrevious(b);
    const Reg has_next = HasNext(b);
    const Reg previous = b.Core(kCorePrevious);
    const Reg next = b.Core(kCoreNext);
    const Reg received = b.Const(received_at_);
    const Reg next_ready = b.Const(kNextReady);
    const Reg received_token = b.Const(kReceived);
    walk.Run(tiles_, [&] {
      b.If(has_previous, [&] {
        b.Emit(Op::kSend, 0, {kReceiveFree, 0}, {previous, kZero, kZero, kZero, next_ready});
      });
      b.If(has_next, [&] {
        b.Wait(kPartialFull);
        const Reg bytes = b.Add(kZero, b.Mul(walk.size(m_), walk.size(n_)), 256);
        b.Emit(Op::kSend, 0, {kNextReady, kSumFree},
               {next, received, sum.at(), bytes, received_token});
      });
      sum.Advance();
    });
    return b.Finish();
  }

  Section StoreSection() {
    SectionBuilder b(Unit::kStore, p_.core_mask());
    TileWalk walk(b, p_, {kOut});
    BufferCursor out(b, out_);
    const Reg stick = b.Const(kStickBytes);
    const Reg out_plane = b.Const(t_.m * 128);
    const auto store = [&] {
      b.Signal(kOutFree, t_.output_slots);
      walk.Run(tiles_, [&] {
        Box(b, walk, Op::kStore, {kOutFull, kOutFree}, kOut, out.at(), m_,
            {walk.size(m_), walk.stride(kOut, m_), stick},
            {walk.size(n_), walk.stride(kOut, n_), out_plane});
        out.Advance();
      });
    };
    if (share_.combines) {
      b.If(IsLastSlice(b), store);
    } else {
      store();
    }
    return b.Finish();
  }

  Problem& p_;
  Kernel& kernel_;
  int batch_, m_, n_, k_;
  std::vector<int> tiles_;  // loops over output tiles
  MatmulShare share_;
  MatmulTiling t_;
  LxPlan lx_;
  int64_t a_at_ = 0;
  int64_t b_at_ = 0;
  Buffers sum_, out_;
  int64_t received_at_ = 0;
};

}  // namespace

void BuildMatmul(Problem& problem, Kernel& kernel) { MatmulKernel(problem, kernel).Build(); }

}  // namespace spyre::compiler
