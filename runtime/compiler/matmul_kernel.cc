// Matmul: out[m,n] = sum over k of a[m,k] * b[k,n], for each batch. Four or five units of a core
// run the same loops (batch, tiles of m, n, k), each doing its part of a tile:
//
//   load    a and b chunks into LX, one ahead of the PT array; operands that several cores need at
//           the same time come by multicast
//   pt      accumulates the chunks of one output tile in fp32
//   vector  adds the partial result of the previous slice of k (if k is divided), rounds to SEN169
//   ring    hands the partial result to the core with the next slice of k
//   store   writes the rounded tile, while the next one is computed
//
// A launch of a kernel with carried sums is told whether it starts from the accumulators of the
// launch before (the load unit brings them in, or they are in LX), and whether it leaves them for
// the next (the store unit writes them, or they stay) or rounds.
#include <optional>

#include "runtime/compiler/matmul_sums.h"
#include "runtime/compiler/matmul_tiling.h"
#include "runtime/compiler/step_kernels.h"
#include "runtime/compiler/tile_walk.h"

namespace spyre::compiler {
namespace {

constexpr int kA = 0;
constexpr int kB = 1;
constexpr int kOut = 2;
constexpr int64_t kStick = kStickBytes;

class MatmulKernel {
 public:
  explicit MatmulKernel(Problem& problem) : p_(problem), lx_(problem.lx_base) {
    FindAxes();
    const auto& axes = p_.axes;
    int cores = 1;
    int64_t outer = 1;
    for (const Axis& axis : axes) cores *= axis.split;
    for (int axis : outer_) outer *= axes[axis].slice;
    share_ = {axes[m_].slice,          axes[n_].slice,          axes[k_].slice, outer,
              p_.operands[kA].sharers, p_.operands[kB].sharers, cores,          axes[k_].split > 1};
    share_.resident = p_.carried.in_lx();
    share_.m_tile = p_.carried.m_tile;
    share_.n_tile = (p_.carried.n_tile + kStickElements - 1) / kStickElements;
    const uint64_t end = share_.resident ? EndOfResidentLx(p_.lx_bytes) : p_.lx_bytes;
    t_ = ChooseMatmulTiling(share_, end - std::min(end, lx_.used()));
    p_.axes[m_].tile = t_.m;
    p_.axes[n_].tile = t_.n;
    p_.axes[k_].tile = t_.k;
    for (int operand : {kA, kB}) source_[operand] = SourceOf(operand);
    if (source_[kA] != Source::kDirect)
      a_ = Buffers::Take(lx_, t_.a_chunk_bytes(), t_.operand_slots);
    if (source_[kB] != Source::kDirect)
      b_ = Buffers::Take(lx_, t_.b_chunk_bytes(), t_.operand_slots);
    sum_ = share_.resident ? ResidentSums(t_, end)
                           : Buffers::Take(lx_, t_.accumulator_bytes(), t_.accumulator_slots);
    if (out_staged()) out_ = Buffers::Take(lx_, t_.output_bytes(), t_.output_slots);
    if (share_.combines) received_at_ = lx_.Take(t_.accumulator_bytes());
    sums_.emplace(p_, share_, t_, sum_, MatmulAxes{m_, n_, tiles_});
  }

  uint64_t Build(StepCode& code) {
    const auto emit = [&](Unit unit, auto section) {
      code.Emit(unit, [&](SectionBuilder& b) { (this->*section)(b, code.loops(unit)); });
    };
    if (Loaded(kA) || Loaded(kB)) emit(Unit::kLoad, &MatmulKernel::LoadSection);
    if (out_staged()) emit(Unit::kStore, &MatmulKernel::StoreSection);
    emit(Unit::kPt, &MatmulKernel::PtSection);
    emit(Unit::kVector, &MatmulKernel::VectorSection);
    if (share_.combines) emit(Unit::kRing, &MatmulKernel::RingSection);
    return std::max(lx_.used(), sums_->lx_end());
  }

  uint64_t workspace_bytes() const { return sums_->workspace_bytes(); }

 private:
  // How an operand comes to the array: by the load unit; from where it stays in LX; or, if its rows
  // there do not follow each other, packed by the vector unit.
  enum class Source : uint8_t { kLoaded, kDirect, kPacked };

  bool out_staged() const { return !p_.operands[kOut].in_lx; }
  bool Loaded(int operand) const { return source_[operand] == Source::kLoaded; }
  bool Packed(int operand) const { return source_[operand] == Source::kPacked; }

  // k is what the output does not walk, n what a does not walk, m the longest of those that b does
  // not walk; the others go outside.
  void FindAxes() {
    const auto walks = [&](int operand, int axis) { return p_.operands[operand].Walks(axis); };
    for (int axis = 0; axis < static_cast<int>(p_.axes.size()); ++axis) {
      if (p_.axes[axis].reduced) {
        k_ = axis;
      } else if (p_.operands[kB].stick_axis == axis) {
        n_ = axis;
      } else if (!walks(kB, axis) && (m_ < 0 || p_.axes[axis].slice > p_.axes[m_].slice)) {
        m_ = axis;
      }
    }
    if (m_ < 0) m_ = p_.AddUnitAxis();
    for (int axis = 0; axis < static_cast<int>(p_.axes.size()); ++axis) {
      if (axis != m_ && axis != n_ && axis != k_) outer_.push_back(axis);
    }
    tiles_ = outer_;
    tiles_.insert(tiles_.end(), {m_, n_});
  }

  Source SourceOf(int operand) const {
    const Operand& o = p_.operands[operand];
    if (!o.in_lx) return Source::kLoaded;
    const int rows = operand == kA ? m_ : k_;
    const int64_t units = operand == kB ? p_.axes[k_].stick_elements : 1;
    const bool dense = p_.axes[rows].slice == 1 && operand == kA;
    return dense || o.unit_stride[rows] == kStick * units ? Source::kDirect : Source::kPacked;
  }

  // A box whose row side is the one with the smaller stride in the compiled layout.
  void Box(SectionBuilder& b, Op op, Order order, int argument, Reg lx, Reg device, int row_axis,
           BoxSide rows, BoxSide planes, Reg group = kZero) {
    const std::vector<int64_t>& stride = p_.operands[argument].unit_stride;
    const int64_t plane_stride = stride[argument == kA ? k_ : n_];
    const int64_t row_stride = stride[row_axis] / (argument == kB ? kStickElements : 1);
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

  void LoadSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    std::vector<int> loaded;
    for (int operand : {kA, kB}) {
      if (Loaded(operand)) loaded.push_back(operand);
    }
    TileWalk walk(b, p_, loaded, outer);
    BufferCursor a_at(b, a_);
    BufferCursor b_at(b, b_);
    const Reg k_elements = walk.CoreElements(k_);
    const auto group = [&](int operand) {
      const int column = p_.operands[operand].group_column;
      return column < 0 ? kZero : b.Core(column);
    };
    const Reg a_group = group(kA);
    const Reg b_group = group(kB);
    // Constants are made where they are used: the loops of a batch leave few registers.
    std::optional<MatmulSums::Saved> saved;
    if (p_.carried.in_device()) saved.emplace(*sums_, b);
    const auto load = [&] {
      if (Loaded(kA)) {
        b.Scoped([&] {
          Box(b, Op::kLoad, {kAFree, kAFull}, kA, a_at.at(), walk.address(kA), m_,
              {walk.size(m_), walk.stride(kA, m_), b.Const(kStickBytes)},
              {walk.size(k_), walk.stride(kA, k_), b.Const(t_.m * 128)}, a_group);
        });
        a_at.Advance();
      }
      if (Loaded(kB)) {
        b.Scoped([&] {
          // Rows of b are elements of k: no padding is read.
          const Reg row_stride = walk.ElementStride(kB, k_);
          Box(b, Op::kLoad, {kBFree, kBFull}, kB, b_at.at(), walk.address(kB), k_,
              {walk.TileElements(k_, k_elements), row_stride, b.Const(kStickBytes)},
              {walk.size(n_), walk.stride(kB, n_), b.Const(t_.k * kStickElements * 128)}, b_group);
        });
        b_at.Advance();
      }
    };
    walk.Run(tiles_, [&] {
      walk.Run({k_}, [&] {
        load();
        // Behind the first chunks, which need not wait for an accumulator.
        if (saved) b.If(walk.IsFirst(k_), [&] { sums_->CarryIn(b, walk, *saved); });
      });
      if (saved) saved->Advance();
    });
    if (Loaded(kA)) b.Wait(kAFree, t_.operand_slots);
    if (Loaded(kB)) b.Wait(kBFree, t_.operand_slots);
  }

  // The vector unit in the load unit's place: the chunks of one output tile.
  void Pack(SectionBuilder& b, TileWalk& walk, BufferCursor& a_at, BufferCursor& b_at,
            Reg k_elements) {
    const auto copy = static_cast<uint8_t>(UnaryFn::kCopy);
    walk.Run({k_}, [&] {
      if (Packed(kA)) {
        b.Scoped([&] {
          b.Emit(Op::kVunary, copy, {kAFree, kAFull},
                 {a_at.at(), walk.address(kA), kZero, walk.size(m_), walk.size(k_),
                  b.Const(t_.m * 128), walk.stride(kA, k_), kZero, b.Const(kStick),
                  walk.stride(kA, m_)});
        });
        a_at.Advance();
      }
      if (Packed(kB)) {
        b.Scoped([&] {
          b.Emit(Op::kVunary, copy, {kBFree, kBFull},
                 {b_at.at(), walk.address(kB), kZero, walk.TileElements(k_, k_elements),
                  walk.size(n_), b.Const(t_.k * kStickElements * 128), walk.stride(kB, n_), kZero,
                  b.Const(kStick), walk.ElementStride(kB, k_)});
        });
        b_at.Advance();
      }
    });
  }

  void PtSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    std::vector<int> direct;
    for (int operand : {kA, kB}) {
      if (source_[operand] == Source::kDirect) direct.push_back(operand);
    }
    const bool a_direct = source_[kA] == Source::kDirect;
    const bool b_direct = source_[kB] == Source::kDirect;
    TileWalk walk(b, p_, direct, outer);
    if (!a_direct) b.Signal(kAFree, t_.operand_slots);
    if (!b_direct) b.Signal(kBFree, t_.operand_slots);
    BufferCursor a_at(b, a_);
    BufferCursor b_at(b, b_);
    BufferCursor sum(b, sum_);
    const Reg carried = p_.carried.any() ? p_.carried.Get(b, AccumulationEntry::kCarried) : kZero;
    const Reg k_elements = walk.CoreElements(k_);
    const Reg a_kstick = a_direct ? walk.stride(kA, k_) : b.Const(t_.m * 128);
    const Reg b_nstick = b_direct ? walk.stride(kB, n_) : b.Const(t_.k * kStickElements * 128);
    walk.Run(tiles_, [&] {
      const Reg n_elements = b.Add(kZero, walk.size(n_), kStickElements);
      const Reg sum_nstick = b.Add(kZero, walk.size(m_), 256);
      b.Wait(p_.carried.in_device() ? kSumReady : kSumFree);
      walk.Run({k_}, [&] {
        if (!a_direct) b.Wait(kAFull);
        if (!b_direct) b.Wait(kBFull);
        const Reg a_tile = a_direct ? walk.address(kA) : a_at.at();
        const Reg b_tile = b_direct ? walk.address(kB) : b_at.at();
        const Reg elements = walk.TileElements(k_, k_elements);
        const auto matmul = [&](uint8_t signal, Reg sum_at, Reg a, Reg rows) {
          b.Emit(Op::kMatmul, 0, {0, signal},
                 {sum_at, a, b_tile, rows, n_elements, elements, a_kstick, b_nstick, sum_nstick,
                  carried.number == 0 ? walk.index(k_) : b.Add(walk.index(k_), carried)});
        };
        const Reg after = b.Add(b.Const(p_.axes[k_].tiles() - 1), walk.index(k_), -1);
        b.If(b.Min(after, b.Const(1)), [&] { matmul(0, sum.at(), a_tile, walk.size(m_)); });
        b.If(walk.IsLast(k_), [&] {
          ForRowGroups(b, walk, [&](Reg index, Reg rows) {
            matmul(kSumFull, b.Add(sum.at(), index, t_.group_rows() * 256),
                   b.Add(a_tile, index, t_.group_rows() * 128), rows);
          });
        });
        if (!a_direct) b.Signal(kAFree);
        if (!b_direct) b.Signal(kBFree);
        a_at.Advance();
        b_at.Advance();
      });
      sum.Advance();
    });
    b.Wait(kSumFree, t_.accumulator_slots);
  }

  Reg SliceOfK(SectionBuilder& b) const {
    const int column = p_.axes[k_].slice_column;
    return column < 0 ? kZero : b.Core(column);
  }
  Reg HasPrevious(SectionBuilder& b) const { return b.Min(SliceOfK(b), b.Const(1)); }
  Reg HasNext(SectionBuilder& b) const {
    return b.Min(b.Add(b.Const(p_.axes[k_].split - 1), SliceOfK(b), -1), b.Const(1));
  }
  Reg IsLastSlice(SectionBuilder& b) const {
    return b.Add(SliceOfK(b), b.Const(1), 2 - p_.axes[k_].split);
  }

  // The rounded tile goes to a buffer for the store unit, or to where it stays in LX.
  void Round(SectionBuilder& b, TileWalk& walk, Reg sum, Reg out) {
    const Reg sum_plane = b.Add(kZero, walk.size(m_), 256);
    const Reg stick = b.Const(kStickBytes);
    const Reg row = out_staged() ? stick : walk.stride(kOut, m_);
    const Reg plane = out_staged() ? b.Const(t_.m * 128) : walk.stride(kOut, n_);
    const Reg step = out_staged() ? b.Const(t_.group_rows() * 128)
                                  : b.Add(kZero, walk.stride(kOut, m_), t_.group_rows());
    ForRowGroups(b, walk, [&](Reg index, Reg rows) {
      if (out_staged() && !share_.combines) b.Wait(kOutFree);
      const MatmulToken wait = !share_.combines ? kSumFull : out_staged() ? kOutFree : kNone;
      b.Emit(Op::kVround, 0, {wait, out_staged() ? kOutFull : kNone},
             {b.AddProduct(out, index, step), b.Add(sum, index, t_.group_rows() * 256), kZero, rows,
              walk.size(n_), plane, sum_plane, kZero, row, b.Const(256)});
    });
    b.Signal(kSumFree);
  }

  void VectorSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    std::vector<int> in_lx;
    for (int operand : {kA, kB}) {
      if (Packed(operand)) in_lx.push_back(operand);
    }
    if (!out_staged()) in_lx.push_back(kOut);
    TileWalk walk(b, p_, in_lx, outer);
    b.Signal(kSumFree, t_.accumulator_slots);
    if (p_.carried.in_lx()) sums_->Keep(b, walk);
    sums_->IfFinal(b, [&] { VectorResults(b, walk); });
  }

  void VectorResults(SectionBuilder& b, TileWalk& walk) {
    if (share_.combines) b.Signal(kReceiveFree);
    BufferCursor a_at(b, a_);
    BufferCursor b_at(b, b_);
    BufferCursor sum(b, sum_);
    BufferCursor out(b, out_);
    const bool packs = Packed(kA) || Packed(kB);
    const Reg k_elements = packs ? walk.CoreElements(k_) : kZero;
    const auto round = [&] {
      b.Scoped([&] { Round(b, walk, sum.at(), out_staged() ? out.at() : walk.address(kOut)); });
      out.Advance();
    };
    const auto combine = [&] {
      b.Wait(kSumFull);
      b.If(HasPrevious(b), [&] {
        const Reg sticks = b.Mul(walk.size(m_), walk.size(n_));
        const Reg count = b.Add(kZero, sticks, kStickElements);
        b.Emit(Op::kVaccumulate, static_cast<uint8_t>(ReduceFn::kSum), {kReceived, kReceiveFree},
               {sum.at(), b.Const(received_at_), sum.at(), count});
      });
      b.If(HasNext(b), [&] { b.Signal(kPartialFull); });
      b.If(IsLastSlice(b), round);
    };
    walk.Run(tiles_, [&] {
      if (packs) Pack(b, walk, a_at, b_at, k_elements);
      if (share_.combines) {
        combine();
      } else {
        round();
      }
      sum.Advance();
    });
    if (Packed(kA)) b.Wait(kAFree, t_.operand_slots);
    if (Packed(kB)) b.Wait(kBFree, t_.operand_slots);
    if (!out_staged()) return;
    const auto drain = [&] { b.Wait(kOutFree, OutTokens()); };
    if (share_.combines) {
      b.If(IsLastSlice(b), drain);
    } else {
      drain();
    }
  }

  void RingSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    sums_->IfFinal(b, [&] { RingResults(b, outer); });
  }

  void RingResults(SectionBuilder& b, const std::vector<Reg>& outer) {
    TileWalk walk(b, p_, {}, outer);
    BufferCursor sum(b, sum_);
    const Reg has_previous = HasPrevious(b);
    const Reg has_next = HasNext(b);
    const Reg previous = b.Core(p_.columns->Add(p_.previous));
    const Reg next = b.Core(p_.columns->Add(p_.next));
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
    b.Wait(kReceiveFree);
  }

  int64_t OutTokens() const { return t_.output_slots * t_.SumTokens(share_); }

  void StoreSection(SectionBuilder& b, const std::vector<Reg>& outer) {
    if (p_.carried.in_lx()) sums_->ShowMark(b);
    if (p_.carried.in_device()) sums_->CarryOut(b, outer);
    sums_->IfFinal(b, [&] { StoreResults(b, outer); });
  }

  void StoreResults(SectionBuilder& b, const std::vector<Reg>& outer) {
    TileWalk walk(b, p_, {kOut}, outer);
    BufferCursor out(b, out_);
    const Reg stick = b.Const(kStickBytes);
    const Reg out_plane = b.Const(t_.m * 128);
    const auto store = [&] {
      b.Signal(kOutFree, OutTokens());
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
  }

  Problem& p_;
  int m_ = -1, n_ = -1, k_ = -1;
  std::vector<int> outer_;  // batch axes, and rows beyond the first
  std::vector<int> tiles_;  // loops over output tiles
  std::array<Source, 2> source_{};
  MatmulShare share_;
  MatmulTiling t_;
  LxPlan lx_;
  Buffers a_, b_, sum_, out_;
  int64_t received_at_ = 0;
  std::optional<MatmulSums> sums_;
};

}  // namespace

MatmulBuild BuildMatmul(Problem& problem, StepCode& code) {
  MatmulKernel kernel(problem);
  return {kernel.Build(code), kernel.workspace_bytes()};
}

}  // namespace spyre::compiler
