// SPDX-License-Identifier: Apache-2.0
// The plan of a matmul kernel, and how its operands come to the PT array: load, pack, multiply.
#include "runtime/compiler/kernels/matmul_kernel.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/compiler/kernels/step_kernels.h"

namespace spyre::compiler {

MatmulKernel::MatmulKernel(Problem& problem, MatmulFn fn)
    : problem_(problem), fn_(fn), lx_(problem.lx_base) {
  FindAxes();
  const auto& axes = problem_.axes;
  int cores = 1;
  int64_t outer = 1;
  for (const Axis& axis : axes) cores *= axis.split;
  for (int axis : outer_) outer *= axes[axis].slice;
  share_ = {axes[m_].slice * axes[m_].unit_elements(),
            axes[n_].slice,
            axes[k_].slice,
            outer,
            problem_.operands[kA].sharers,
            problem_.operands[kB].sharers,
            cores,
            axes[k_].split > 1};
  share_.a_transposed = problem_.operands[kA].stick_axis == m_;
  share_.b_transposed = problem_.operands[kB].stick_axis == k_;
  share_.resident = problem_.carried.in_lx();
  share_.m_tile = problem_.carried.m_tile;
  share_.n_tile = (problem_.carried.n_tile + kStickElements - 1) / kStickElements;
  const uint64_t end = share_.resident ? EndOfResidentLx(problem_.lx_bytes) : problem_.lx_bytes;
  const uint64_t lx_left = end - std::min(end, lx_.used());
  // Sums that go from launch to launch are this runtime's own, and no public code has them.
  if (problem_.schedule == Schedule::kPublic && !problem_.carried.any()) {
    const PublicDivision division{share_.m * axes[m_].split,
                                  share_.n * kStickElements * axes[n_].split, axes[m_].split,
                                  axes[n_].split, axes[k_].split};
    tiling_ = PublicMatmulTiling(share_, division, static_cast<int64_t>(kLxUsableBytes), lx_left);
  } else {
    tiling_ = ChooseMatmulTiling(share_, lx_left);
  }
  problem_.axes[m_].tile = tiling_.m / share_.m_unit();
  problem_.axes[n_].tile = tiling_.n;
  problem_.axes[k_].tile = tiling_.k;
  for (int operand : {kA, kB}) source_[operand] = SourceOf(operand);
  if (source_[kA] != Source::kDirect)
    a_ = Buffers::Take(lx_, tiling_.a_chunk_bytes(), tiling_.operand_slots, "a");
  if (source_[kB] != Source::kDirect)
    b_ = Buffers::Take(lx_, tiling_.b_chunk_bytes(), tiling_.operand_slots, "b");
  TakeTransposed();
  sum_ = share_.resident
             ? ResidentSums(tiling_, end)
             : Buffers::Take(lx_, tiling_.accumulator_bytes(), tiling_.accumulator_slots, "sums");
  if (share_.resident) lx_.Note("sums", sum_.base, sum_.bytes * sum_.slots);
  if (out_staged()) out_ = Buffers::Take(lx_, tiling_.output_bytes(), tiling_.output_slots, "out");
  if (share_.combines) received_at_ = lx_.Take(tiling_.accumulator_bytes(), "received sums");
  sums_.emplace(problem_, share_, tiling_, sum_, MatmulAxes{m_, n_, tiles_});
}

uint64_t MatmulKernel::Build(StepCode& code) {
  const auto emit = [&](Unit unit, auto section) {
    code.Emit(unit, [&](SectionBuilder& b) { (this->*section)(b, code.loops(unit)); });
  };
  if (Loaded(kA) || Loaded(kB) || TransposedLoad(kA) || TransposedLoad(kB)) {
    emit(Unit::kLoad, &MatmulKernel::LoadSection);
  }
  if (out_staged()) emit(Unit::kStore, &MatmulKernel::StoreSection);
  emit(Unit::kPt, &MatmulKernel::PtSection);
  emit(Unit::kVector, &MatmulKernel::VectorSection);
  if (share_.combines) emit(Unit::kRing, &MatmulKernel::RingSection);
  code.Keep(lx_.uses());
  return std::max(lx_.used(), sums_->lx_end());
}

void MatmulKernel::TakeTransposed() {
  if (share_.a_transposed) {
    transposed_[kA].emplace(problem_, kA, TransposedOperand::Axes{m_, k_}, tiling_.m * kStick,
                            TransposedOperand::Tokens{kARowsFull, kARowsFree, kAFull, kAFree});
  }
  if (share_.b_transposed) {
    transposed_[kB].emplace(problem_, kB, TransposedOperand::Axes{k_, n_},
                            tiling_.k * kStickElements * kStick,
                            TransposedOperand::Tokens{kBRowsFull, kBRowsFree, kBFull, kBFree});
  }
  for (auto& operand : transposed_) {
    if (operand) operand->Take(lx_, tiling_.operand_slots);
  }
}

void MatmulKernel::FindAxes() {
  const auto walks = [&](int operand, int axis) { return problem_.operands[operand].Walks(axis); };
  Operand& a = problem_.operands[kA];
  n_ = problem_.operands[kOut].stick_axis;
  // Where only the first element of each stick of a counts, there are no rows beside it.
  if (a.lane0 && a.stick_axis < 0) {
    m_ = a.stick_axis = problem_.AddUnitAxis();
    problem_.axes[m_].in_sticks = true;
  }
  const int in_sticks = a.stick_axis;
  for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
    if (problem_.axes[axis].reduced) {
      summed_.push_back(axis);
      const bool first = k_ < 0 || (k_ != in_sticks && problem_.axes[axis].in_sticks);
      if (first || axis == in_sticks) k_ = axis;
    } else if (axis != n_ && !walks(kB, axis)) {
      const bool longer = m_ < 0 || problem_.axes[axis].slice > problem_.axes[m_].slice;
      if (axis == in_sticks || (longer && (m_ < 0 || m_ != in_sticks))) m_ = axis;
    }
  }
  if (in_sticks >= 0 && !problem_.axes[in_sticks].reduced && in_sticks != m_) {
    throw BadInput(
        "{}: '{}' is in the sticks of the first operand and a dimension of the second; there must "
        "be what is summed over, or rows of the result",
        problem_.name, problem_.axes[in_sticks].name);
  }
  const int b_sticks = problem_.operands[kB].stick_axis;
  if (n_ < 0 || !walks(kB, n_) || walks(kA, n_) || (b_sticks != n_ && b_sticks != k_)) {
    throw BadInput(
        "{}: in the sticks of the result there must be a dimension of the second operand, and in "
        "those of the second operand that or what is summed over",
        problem_.name);
  }
  if (m_ < 0) m_ = problem_.AddUnitAxis();
  const auto k = std::find(summed_.begin(), summed_.end(), k_);
  std::rotate(k, k + 1, summed_.end());
  for (const int axis : summed_) {
    if (axis == k_ || (problem_.axes[axis].split == 1 && !problem_.axes[axis].in_sticks)) continue;
    throw BadInput(
        "{}: sums over '{}' and '{}'; only the one in the sticks of the first operand may be "
        "divided over cores or in sticks",
        problem_.name, problem_.axes[axis].name, problem_.axes[k_].name);
  }
  for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
    if (axis != m_ && axis != n_ && !problem_.axes[axis].reduced) outer_.push_back(axis);
  }
  tiles_ = outer_;
  tiles_.insert(tiles_.end(), {m_, n_});
}

MatmulKernel::Source MatmulKernel::SourceOf(int operand) const {
  const Operand& o = problem_.operands[operand];
  if (operand == kA ? share_.a_transposed : share_.b_transposed) return Source::kTransposed;
  if (!o.in_lx) return Source::kLoaded;
  const int rows = operand == kA ? m_ : k_;
  const int64_t units = operand == kB ? problem_.axes[k_].stick_elements / o.turns : 1;
  const bool dense = problem_.axes[rows].slice == 1 && operand == kA;
  return dense || o.unit_stride[rows] == kStick * units ? Source::kDirect : Source::kPacked;
}

TileWalk MatmulKernel::Walk(SectionBuilder& b, const std::vector<int>& operands,
                            const std::vector<Reg>& outer) const {
  TileWalk walk(b, problem_, operands, outer);
  walk.CountElements(m_);
  return walk;
}

void MatmulKernel::Box(SectionBuilder& b, Op op, Order order, int argument, Reg lx, Reg device,
                       BoxAxes axes, BoxSide rows, BoxSide planes, Reg group) {
  const std::vector<int64_t>& stride = problem_.operands[argument].unit_stride;
  const int64_t plane_stride = stride[axes.planes];
  const int64_t row_stride =
      stride[axes.rows] / (problem_.axes[axes.rows].in_sticks ? kStickElements : 1);
  if (plane_stride > 0 && plane_stride < row_stride) std::swap(rows, planes);
  EmitBox(b, op, order, lx, device, rows, planes, group);
}

void MatmulKernel::LoadSection(SectionBuilder& b, const std::vector<Reg>& outer) {
  std::vector<int> loaded;
  for (int operand : {kA, kB}) {
    if (Loaded(operand) || TransposedLoad(operand)) loaded.push_back(operand);
  }
  TileWalk walk = Walk(b, loaded, outer);
  BufferCursor a_at(b, a_);
  BufferCursor b_at(b, b_);
  std::vector<BufferCursor> rows_at;
  for (int operand : {kA, kB}) {
    if (!TransposedLoad(operand)) continue;
    transposed_[operand]->BeginLoad(walk);
    rows_at.push_back(transposed_[operand]->Cursor(b));
  }
  const int64_t turns = problem_.operands[kB].turns;
  const Reg k_rows = walk.CoreElements(k_, turns);
  const auto group = [&](int operand) {
    const int column = problem_.operands[operand].group_column;
    return column < 0 ? kZero : b.Core(column);
  };
  const Reg a_group = group(kA);
  const Reg b_group = group(kB);
  // Constants are made where they are used: the loops of a batch leave few registers.
  std::optional<MatmulSums::Saved> saved;
  if (problem_.carried.in_device()) saved.emplace(*sums_, b);
  const auto load_transposed = [&] {
    auto rows = rows_at.begin();
    for (int operand : {kA, kB}) {
      if (!TransposedLoad(operand)) continue;
      transposed_[operand]->Load(b, walk, rows->at(), operand == kA ? a_group : b_group);
      (rows++)->Advance();
    }
  };
  const auto load = [&] {
    load_transposed();
    if (Loaded(kA)) {
      b.Scoped([&] {
        Box(b, Op::kLoad, {kAFree, kAFull}, kA, a_at.at(), walk.address(kA), {m_, k_},
            {walk.size(m_), walk.stride(kA, m_), b.Const(kStickBytes)},
            {walk.size(k_), walk.stride(kA, k_), b.Const(tiling_.m * kStick)}, a_group);
      });
      a_at.Advance();
    }
    if (Loaded(kB)) {
      b.Scoped([&] {
        // Rows of b are elements of k, or several that share a stick: no padding is read.
        const Reg row_stride = walk.ElementStride(kB, k_);
        Box(b, Op::kLoad, {kBFree, kBFull}, kB, b_at.at(), walk.address(kB), {k_, n_},
            {walk.TileElements(k_, k_rows, turns), row_stride, b.Const(kStickBytes)},
            {walk.size(n_), walk.stride(kB, n_), b.Const(tiling_.k * kStickElements * kStick)},
            b_group);
      });
      b_at.Advance();
    }
  };
  walk.Run(tiles_, [&] {
    walk.Run(summed_, [&] {
      load();
      // Behind the first chunks, which need not wait for an accumulator.
      if (saved) b.If(walk.IsFirst(k_), [&] { sums_->CarryIn(b, walk, *saved); });
    });
    if (saved) saved->Advance();
  });
  if (Loaded(kA)) b.Wait(kAFree, tiling_.operand_slots);
  if (Loaded(kB)) b.Wait(kBFree, tiling_.operand_slots);
  for (int operand : {kA, kB}) {
    if (TransposedLoad(operand)) transposed_[operand]->EndLoad(b);
  }
}

void MatmulKernel::Pack(SectionBuilder& b, TileWalk& walk, PackCursors& at, Reg k_rows) {
  const auto copy = static_cast<uint8_t>(UnaryFn::kCopy);
  walk.Run(summed_, [&] {
    auto rows = at.rows.begin();
    for (int operand : {kA, kB}) {
      if (!transposed_[operand]) continue;
      BufferCursor& chunk = operand == kA ? at.a : at.b;
      transposed_[operand]->Transpose(b, walk, rows->at(), chunk.at());
      chunk.Advance();
      (rows++)->Advance();
    }
    if (Packed(kA)) {
      b.Scoped([&] {
        b.Emit(Op::kVunary, copy, {kAFree, kAFull},
               {at.a.at(), walk.address(kA), kZero, walk.size(m_), walk.size(k_),
                b.Const(tiling_.m * kStick), walk.stride(kA, k_), kZero, b.Const(kStick),
                walk.stride(kA, m_)});
      });
      at.a.Advance();
    }
    if (Packed(kB)) {
      b.Scoped([&] {
        b.Emit(Op::kVunary, copy, {kBFree, kBFull},
               {at.b.at(), walk.address(kB), kZero,
                walk.TileElements(k_, k_rows, problem_.operands[kB].turns), walk.size(n_),
                b.Const(tiling_.k * kStickElements * kStick), walk.stride(kB, n_), kZero,
                b.Const(kStick), walk.ElementStride(kB, k_)});
      });
      at.b.Advance();
    }
  });
}

void MatmulKernel::PtSection(SectionBuilder& b, const std::vector<Reg>& outer) {
  std::vector<int> direct;
  for (int operand : {kA, kB}) {
    if (source_[operand] == Source::kDirect) direct.push_back(operand);
  }
  const bool a_direct = source_[kA] == Source::kDirect;
  const bool b_direct = source_[kB] == Source::kDirect;
  TileWalk walk = Walk(b, direct, outer);
  if (!a_direct) b.Signal(kAFree, tiling_.operand_slots);
  if (!b_direct) b.Signal(kBFree, tiling_.operand_slots);
  BufferCursor a_at(b, a_);
  BufferCursor b_at(b, b_);
  BufferCursor sum(b, sum_);
  const Reg carried =
      problem_.carried.any() ? problem_.carried.Get(b, AccumulationEntry::kCarried) : kZero;
  const bool steps = summed_.size() > 1;
  const Reg k_elements = walk.CoreElements(k_);
  const Reg a_kstick = a_direct ? walk.stride(kA, k_) : b.Const(tiling_.m * kStick);
  const Reg b_nstick =
      b_direct ? walk.stride(kB, n_) : b.Const(tiling_.k * kStickElements * kStick);
  walk.Run(tiles_, [&] {
    const Reg n_elements = b.Add(kZero, walk.size(n_), kStickElements);
    const Reg rows_of_tile = Rows(walk);
    const Reg sum_nstick = b.Add(kZero, rows_of_tile, kAccumulatorStick);
    b.Wait(problem_.carried.in_device() ? kSumReady : kSumFree);
    walk.Run(summed_, [&] {
      if (!a_direct) b.Wait(kAFull);
      if (!b_direct) b.Wait(kBFull);
      const Reg a_tile = a_direct ? walk.address(kA) : a_at.at();
      const Reg b_tile = b_direct ? walk.address(kB) : b_at.at();
      const Reg elements = walk.TileElements(k_, k_elements);
      Reg before = carried.number == 0 ? walk.index(k_) : b.Add(walk.index(k_), carried);
      for (const int axis : summed_) {
        if (axis != k_) before = b.Add(before, walk.index(axis));
      }
      const auto matmul = [&](uint8_t signal, Reg sum_at, Reg a, Reg rows) {
        b.Emit(Op::kMatmul, FnByte(fn_, tiling_.fn_flag), {0, signal},
               {sum_at, a, b_tile, rows, n_elements, elements, a_kstick, b_nstick, sum_nstick,
                before});
      };
      if (steps) {
        matmul(0, sum.at(), a_tile, rows_of_tile);
      } else {
        const Reg after = b.Add(b.Const(problem_.axes[k_].tiles() - 1), walk.index(k_), -1);
        b.If(b.Min(after, b.Const(1)), [&] { matmul(0, sum.at(), a_tile, rows_of_tile); });
        b.If(walk.IsLast(k_), [&] {
          ForRowGroups(b, walk, [&](Reg index, Reg rows) {
            matmul(kSumFull, b.Add(sum.at(), index, tiling_.group_rows() * kAccumulatorStick),
                   b.Add(a_tile, index, tiling_.group_rows() * kStick), rows);
          });
        });
      }
      if (!a_direct) b.Signal(kAFree);
      if (!b_direct) b.Signal(kBFree);
      a_at.Advance();
      b_at.Advance();
    });
    // Nested loops have no last iteration that rows could be told apart in.
    if (steps) ForRowGroups(b, walk, [&](Reg, Reg) { b.Signal(kSumFull); });
    sum.Advance();
  });
  b.Wait(kSumFree, tiling_.accumulator_slots);
}

MatmulBuild BuildMatmul(Problem& problem, StepCode& code, MatmulFn fn) {
  MatmulKernel kernel(problem, fn);
  return {kernel.Build(code), kernel.workspace_bytes()};
}

}  // namespace spyre::compiler
