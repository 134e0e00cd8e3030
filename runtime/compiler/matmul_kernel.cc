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
    int cores = 1;
    for (const Axis& axis : axes) cores *= axis.split;
    share_ = {axes[m_].slice, axes[n_].slice, axes[k_].slice, batch_ < 0 ? 1 : axes[batch_].slice,
              axes[n_].split, axes[m_].split, cores,          axes[k_].split > 1};
    t_ = ChooseMatmulTiling(share_, p_.lx_bytes);
    p_.axes[m_].tile = t_.m;
    p_.axes[n_].tile = t_.n;
    p_.axes[k_].tile = t_.k;
    a_ = Buffers::Take(lx_, t_.a_chunk_bytes(), t_.operand_slots);
    b_ = Buffers::Take(lx_, t_.b_chunk_bytes(), t_.operand_slots);
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
  }

 private:
  std::vector<int> AllLoops() const {
    std::vector<int> order = tiles_;
    order.push_back(k_);
    return order;
  }

  // A box whose row side is the one with the smaller stride in the compiled layout.
  void Box(SectionBuilder& b, Op op, Order order, int argument, Reg lx, Reg device, int row_axis,
           BoxSide rows, BoxSide planes, Reg group = kZero) {
    const int64_t plane_stride = p_.UnitStride(argument, argument == kA ? k_ : n_);
    const int64_t row_stride =
        p_.UnitStride(argument, row_axis) / (argument == kB ? kStickElements : 1);
    if (plane_stride > 0 && plane_stride < row_stride) std::swap(rows, planes);
    EmitBox(b, op, order, lx, device, rows, planes, group);
  }

  // The rows of a tile in groups, so that the first are rounded and stored while the array works on
  // the others: body(index, rows), rows 0 beyond the tile. Partial sums go as a whole.
  template <typename Body>
  void ForRowGroups(SectionBuilder& b, const TileWalk& walk, Body body) const {
    if (share_.combines || t_.row_groups() == 1) return body(kZero, walk.size(m_));
    b.Loop(b.Const(t_.row_groups()), [&](Reg index) {
      const Reg group = b.Const(t_.group_rows());
      const Reg before = b.Add(b.Mul(index, group), walk.size(m_), -1);  // -(rows from here on)
      body(index, b.Min(group, b.Add(kZero, b.Min(before, kZero), -1)));
    });
  }

  Section LoadSection() {
    SectionBuilder b(Unit::kLoad, p_.core_mask());
    TileWalk walk(b, p_, {kA, kB});
    BufferCursor a_at(b, a_);
    BufferCursor b_at(b, b_);
    const Reg k_elements = walk.CoreElements(k_);
    const Reg a_group = share_.a_sharers > 1 ? b.Core(kCoreGroup) : kZero;
    const Reg b_group = share_.b_sharers > 1 ? b.Core(kCoreGroup + 1) : kZero;
    // Constants are made where they are used: the loops of a batch leave few registers.
    walk.Run(AllLoops(), [&] {
      b.Scoped([&] {
        Box(b, Op::kLoad, {kAFree, kAFull}, kA, a_at.at(), walk.address(kA), m_,
            {walk.size(m_), walk.stride(kA, m_), b.Const(kStickBytes)},
            {walk.size(k_), walk.stride(kA, k_), b.Const(t_.m * 128)}, a_group);
      });
      a_at.Advance();
      b.Scoped([&] {
        // Rows of b are elements of k: no padding is read.
        const Reg row_stride = b.Table(kB * kTableEntriesPerTensor + 1 + p_.HostDim(kB, k_));
        Box(b, Op::kLoad, {kBFree, kBFull}, kB, b_at.at(), walk.address(kB), k_,
            {walk.TileElements(k_, k_elements), row_stride, b.Const(kStickBytes)},
            {walk.size(n_), walk.stride(kB, n_), b.Const(t_.k * kStickElements * 128)}, b_group);
      });
      b_at.Advance();
    });
    return b.Finish();
  }

  Section PtSection() {
    SectionBuilder b(Unit::kPt, p_.core_mask());
    TileWalk walk(b, p_, {});
    b.Signal(kAFree, t_.operand_slots);
    b.Signal(kBFree, t_.operand_slots);
    BufferCursor a_at(b, a_);
    BufferCursor b_at(b, b_);
    BufferCursor sum(b, sum_);
    const Reg k_elements = walk.CoreElements(k_);
    const Reg a_kstick = b.Const(t_.m * 128);
    const Reg b_nstick = b.Const(t_.k * kStickElements * 128);
    walk.Run(tiles_, [&] {
      const Reg n_elements = b.Add(kZero, walk.size(n_), kStickElements);
      const Reg sum_nstick = b.Add(kZero, walk.size(m_), 256);
      b.Wait(kSumFree);
      walk.Run({k_}, [&] {
        b.Wait(kAFull);
        b.Wait(kBFull);
        const Reg elements = walk.TileElements(k_, k_elements);
        const auto matmul = [&](uint8_t signal, Reg sum_at, Reg a, Reg rows) {
          b.Emit(Op::kMatmul, 0, {0, signal},
                 {sum_at, a, b_at.at(), rows, n_elements, elements, a_kstick, b_nstick, sum_nstick,
                  walk.index(k_)});
        };
        const Reg after = b.Add(b.Const(p_.axes[k_].tiles() - 1), walk.index(k_), -1);
        b.If(b.Min(after, b.Const(1)), [&] { matmul(0, sum.at(), a_at.at(), walk.size(m_)); });
        b.If(walk.IsLast(k_), [&] {
          ForRowGroups(b, walk, [&](Reg index, Reg rows) {
            matmul(kSumFull, b.Add(sum.at(), index, t_.group_rows() * 256),
                   b.Add(a_at.at(), index, t_.group_rows() * 128), rows);
          });
        });
        b.Signal(kAFree);
        b.Signal(kBFree);
        a_at.Advance();
        b_at.Advance();
      });
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
      ForRowGroups(b, walk, [&](Reg index, Reg rows) {
        if (!share_.combines) b.Wait(kOutFree);
        const Order order{share_.combines ? kOutFree : kSumFull, kOutFull};
        b.Emit(Op::kVround, 0, order,
               {b.Add(out.at(), index, t_.group_rows() * 128),
                b.Add(sum.at(), index, t_.group_rows() * 256), kZero, rows, walk.size(n_),
                out_plane, sum_plane, kZero, stick, accumulator_stick});
      });
      b.Signal(kSumFree);
      out.Advance();
    };
    if (!share_.combines) {
      walk.Run(tiles_, [&] {
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
      b.Signal(kOutFree, t_.output_slots * (share_.combines ? 1 : t_.row_groups()));
      walk.Run(tiles_, [&] {
        ForRowGroups(b, walk, [&](Reg index, Reg rows) {
          const Reg step = b.Add(kZero, walk.stride(kOut, m_), t_.group_rows());
          Box(b, Op::kStore, {kOutFull, kOutFree}, kOut,
              b.Add(out.at(), index, t_.group_rows() * 128),
              b.AddProduct(walk.address(kOut), index, step), m_,
              {rows, walk.stride(kOut, m_), stick},
              {walk.size(n_), walk.stride(kOut, n_), out_plane});
        });
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
  Buffers a_, b_, sum_, out_;
  int64_t received_at_ = 0;
};

}  // namespace

void BuildMatmul(Problem& problem, Kernel& kernel) { MatmulKernel(problem, kernel).Build(); }

}  // namespace spyre::compiler
