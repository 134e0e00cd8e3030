// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/matmul_sums.h"

#include <utility>

namespace spyre::compiler {
namespace {

// Bytes that follow each other on both sides.
void EmitRow(SectionBuilder& b, Op op, Order order, Reg lx, Reg device, Reg bytes) {
  const Reg one = b.Const(1);
  b.Emit(op, 0, order, {lx, device, bytes, one, kZero, kZero, one, kZero, kZero});
}

}  // namespace

uint64_t EndOfResidentLx(uint64_t lx_bytes) {
  const uint64_t sticks = lx_bytes / kStickBytes;
  return sticks == 0 ? 0 : (sticks - 1) * kStickBytes;
}

Buffers ResidentSums(const MatmulTiling& tiling, uint64_t end) {
  const int64_t bytes = tiling.accumulator_bytes();
  return {static_cast<int64_t>(end) - tiling.accumulator_slots * bytes, bytes,
          tiling.accumulator_slots};
}

MatmulSums::MatmulSums(Problem& problem, const MatmulShare& share, const MatmulTiling& tiling,
                       const Buffers& buffers, MatmulAxes axes)
    : problem_(problem), share_(share), tiling_(tiling), sum_(buffers), axes_(std::move(axes)) {}

int64_t MatmulSums::CoreBytes() const {
  return share_.tiles(tiling_.m, tiling_.n) * tiling_.accumulator_bytes();
}

uint64_t MatmulSums::workspace_bytes() const {
  int64_t core_bytes = 0;
  if (problem_.carried.in_device()) core_bytes = CoreBytes();
  if (problem_.carried.in_lx()) core_bytes = kStick;
  return static_cast<uint64_t>(share_.cores * core_bytes);
}

uint64_t MatmulSums::lx_end() const {
  return problem_.carried.in_lx() ? static_cast<uint64_t>(mark_at() + kStick) : 0;
}

Reg MatmulSums::Workspace(SectionBuilder& b, int64_t core_bytes) const {
  CoreColumns::Column cores{};
  for (int core = 0; core < kMaxCores; ++core) cores[static_cast<size_t>(core)] = core;
  return b.Add(problem_.carried.Get(b, AccumulationEntry::kWorkspace),
               b.Core(problem_.columns->Add(cores)), core_bytes);
}

// The accumulators of a tile follow each other in LX.
Reg MatmulSums::TileBytes(SectionBuilder& b, const TileWalk& walk) const {
  return b.Add(kZero, b.Mul(walk.size(axes_.m), walk.size(axes_.n)), kAccumulatorStick);
}

MatmulSums::Saved::Saved(const MatmulSums& sums, SectionBuilder& b)
    : b_(b), sum_(b, sums.sum_), at_(b.Var(kZero)), bytes_(sums.tiling_.accumulator_bytes()) {
  b.Scoped([&] { b.Set(at_, sums.Workspace(b, sums.CoreBytes())); });
}

void MatmulSums::Saved::Advance() {
  sum_.Advance();
  b_.Scoped([&] { b_.Set(at_, at_, b_.Const(bytes_)); });
}

void MatmulSums::CarryIn(SectionBuilder& b, const TileWalk& walk, const Saved& saved) const {
  b.If(problem_.carried.Get(b, AccumulationEntry::kCarried), [&] {
    EmitRow(b, Op::kLoad, {kSumFree, kSumReady}, saved.sum(), saved.at(), TileBytes(b, walk));
  });
  b.If(problem_.carried.Not(b, AccumulationEntry::kCarried), [&] {
    b.Wait(kSumFree);
    b.Signal(kSumReady);
  });
}

void MatmulSums::CarryOut(SectionBuilder& b, const std::vector<Reg>& outer) const {
  b.If(problem_.carried.Not(b, AccumulationEntry::kFinal), [&] {
    TileWalk walk(b, problem_, {}, outer);
    Saved saved(*this, b);
    walk.Run(axes_.tiles, [&] {
      b.Wait(kSumFull, tiling_.SumTokens(share_) - 1);
      b.Scoped([&] {
        EmitRow(b, Op::kStore, {kSumFull, kSumFree}, saved.sum(), saved.at(), TileBytes(b, walk));
      });
      saved.Advance();
    });
  });
}

void MatmulSums::Keep(SectionBuilder& b, TileWalk& walk) const {
  b.If(problem_.carried.Not(b, AccumulationEntry::kCarried), [&] {
    b.Emit(Op::kVfill, 0, {},
           {b.Const(mark_at()), b.Const(kAccumulatorMark), b.Const(kStick), b.Const(1), kZero});
  });
  b.Signal(kMarked);
  b.If(problem_.carried.Not(b, AccumulationEntry::kFinal), [&] {
    walk.Run(axes_.tiles, [&] {
      b.Wait(kSumFull, tiling_.SumTokens(share_));
      b.Signal(kSumFree);
    });
  });
}

void MatmulSums::ShowMark(SectionBuilder& b) const {
  b.Wait(kMarked);
  // A launch that is first and last at once has no workspace.
  b.If(b.Mul(problem_.carried.Get(b, AccumulationEntry::kFinal),
             problem_.carried.Get(b, AccumulationEntry::kCarried)),
       [&] {
         EmitRow(b, Op::kStore, {}, b.Const(mark_at()), Workspace(b, kStick), b.Const(kStick));
       });
}

}  // namespace spyre::compiler
