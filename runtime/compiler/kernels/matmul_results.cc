// SPDX-License-Identifier: Apache-2.0
// What becomes of a matmul's accumulators: combined along the ring where k is divided, rounded, and
// stored.
#include "runtime/compiler/kernels/matmul_kernel.h"

namespace spyre::compiler {

void MatmulKernel::Round(SectionBuilder& b, TileWalk& walk, Reg sum, Reg out) {
  const Reg sum_plane = b.Add(kZero, Rows(walk), kAccumulatorStick);
  const Reg stick = b.Const(kStickBytes);
  const Reg row = out_staged() ? stick : OutRowStride(walk);
  const Reg plane = out_staged() ? b.Const(tiling_.m * kStick) : walk.stride(kOut, n_);
  const Reg step = out_staged() ? b.Const(tiling_.group_rows() * kStick)
                                : b.Add(kZero, OutRowStride(walk), tiling_.group_rows());
  ForRowGroups(b, walk, [&](Reg index, Reg rows) {
    if (out_staged() && !share_.combines) b.Wait(kOutFree);
    const MatmulToken wait = !share_.combines ? kSumFull : out_staged() ? kOutFree : kNone;
    b.Emit(Op::kVround, 0, {wait, out_staged() ? kOutFull : kNone},
           {b.AddProduct(out, index, step),
            b.Add(sum, index, tiling_.group_rows() * kAccumulatorStick), kZero, rows, walk.size(n_),
            plane, sum_plane, kZero, row, b.Const(kAccumulatorStick)});
  });
  b.Signal(kSumFree);
}

void MatmulKernel::VectorSection(SectionBuilder& b, const std::vector<Reg>& outer) {
  std::vector<int> in_lx;
  for (int operand : {kA, kB}) {
    const bool transposed = transposed_[operand] && !TransposedLoad(operand);
    if (Packed(operand) || transposed) in_lx.push_back(operand);
  }
  if (!out_staged()) in_lx.push_back(kOut);
  TileWalk walk = Walk(b, in_lx, outer);
  b.Signal(kSumFree, tiling_.accumulator_slots);
  if (problem_.carried.in_lx()) sums_->Keep(b, walk);
  sums_->IfFinal(b, [&] { VectorResults(b, walk); });
}

void MatmulKernel::VectorResults(SectionBuilder& b, TileWalk& walk) {
  if (share_.combines && tiling_.sum_pieces == 1) b.Signal(kReceiveFree);
  if (share_.combines && tiling_.sum_pieces > 1) b.Signal(kReceiveFree, tiling_.sum_pieces);
  PackCursors chunks{{b, a_}, {b, b_}, {}};
  for (const auto& operand : transposed_) {
    if (!operand) continue;
    operand->BeginTranspose(b, walk);
    chunks.rows.push_back(operand->Cursor(b));
  }
  BufferCursor sum(b, sum_);
  BufferCursor out(b, out_);
  const auto prepares = [&](int operand) { return Packed(operand) || transposed_[operand]; };
  const bool packs = prepares(kA) || prepares(kB);
  const Reg k_rows = packs ? walk.CoreElements(k_, problem_.operands[kB].turns) : kZero;
  const auto round = [&] {
    b.Scoped([&] { Round(b, walk, sum.at(), out_staged() ? out.at() : walk.address(kOut)); });
    out.Advance();
  };
  const auto combine = [&] {
    b.Wait(kSumFull);
    if (tiling_.sum_pieces > 1) {
      ForSumPieces(b, walk, [&](Reg offset, Reg count) {
        b.If(HasPrevious(b), [&] {
          const Reg at = b.Add(sum.at(), offset);
          b.Emit(Op::kVaccumulate, static_cast<uint8_t>(ReduceFn::kSum), {kReceived, kReceiveFree},
                 {at, b.Add(b.Const(received_at_), offset), at, count});
        });
        b.If(HasNext(b), [&] { b.Signal(kPartialFull); });
      });
    } else {
      b.If(HasPrevious(b), [&] {
        b.Emit(Op::kVaccumulate, static_cast<uint8_t>(ReduceFn::kSum), {kReceived, kReceiveFree},
               {sum.at(), b.Const(received_at_), sum.at(), TileSums(b, walk)});
      });
      b.If(HasNext(b), [&] { b.Signal(kPartialFull); });
    }
    b.If(IsLastSlice(b), round);
  };
  walk.Run(tiles_, [&] {
    if (packs) Pack(b, walk, chunks, k_rows);
    if (share_.combines) {
      combine();
    } else {
      round();
    }
    sum.Advance();
  });
  if (prepares(kA)) b.Wait(kAFree, tiling_.operand_slots);
  if (prepares(kB)) b.Wait(kBFree, tiling_.operand_slots);
  if (!out_staged()) return;
  const auto drain = [&] { b.Wait(kOutFree, OutTokens()); };
  if (share_.combines) {
    b.If(IsLastSlice(b), drain);
  } else {
    drain();
  }
}

void MatmulKernel::RingSection(SectionBuilder& b, const std::vector<Reg>& outer) {
  sums_->IfFinal(b, [&] { RingResults(b, outer); });
}

void MatmulKernel::RingResults(SectionBuilder& b, const std::vector<Reg>& outer) {
  TileWalk walk = Walk(b, {}, outer);
  BufferCursor sum(b, sum_);
  const Reg has_previous = HasPrevious(b);
  const Reg has_next = HasNext(b);
  const Reg previous = b.Core(problem_.columns->Add(problem_.previous));
  const Reg next = b.Core(problem_.columns->Add(problem_.next));
  const Reg received = b.Const(received_at_);
  const Reg next_ready = b.Const(kNextReady);
  const Reg received_token = b.Const(kReceived);
  walk.Run(tiles_, [&] {
    b.If(has_previous, [&] {
      ForSumPieces(b, walk, [&](Reg, Reg) {
        b.Emit(Op::kSend, 0, {kReceiveFree, 0}, {previous, kZero, kZero, kZero, next_ready});
      });
    });
    b.If(has_next, [&] {
      if (tiling_.sum_pieces > 1) {
        ForSumPieces(b, walk, [&](Reg offset, Reg count) {
          b.Wait(kPartialFull);
          b.Emit(Op::kSend, 0, {kNextReady, 0},
                 {next, b.Add(received, offset), b.Add(sum.at(), offset),
                  b.Add(kZero, count, sizeof(float)), received_token});
        });
        b.Signal(kSumFree);
      } else {
        b.Wait(kPartialFull);
        const Reg bytes = b.Add(kZero, b.Mul(Rows(walk), walk.size(n_)), kAccumulatorStick);
        b.Emit(Op::kSend, 0, {kNextReady, kSumFree},
               {next, received, sum.at(), bytes, received_token});
      }
    });
    sum.Advance();
  });
  if (tiling_.sum_pieces == 1) return b.Wait(kReceiveFree);
  b.Wait(kReceiveFree, tiling_.sum_pieces);
}

void MatmulKernel::StoreSection(SectionBuilder& b, const std::vector<Reg>& outer) {
  if (problem_.carried.in_lx()) sums_->ShowMark(b);
  if (problem_.carried.in_device()) sums_->CarryOut(b, outer);
  sums_->IfFinal(b, [&] { StoreResults(b, outer); });
}

void MatmulKernel::StoreResults(SectionBuilder& b, const std::vector<Reg>& outer) {
  TileWalk walk = Walk(b, {kOut}, outer);
  BufferCursor out(b, out_);
  const Reg stick = b.Const(kStickBytes);
  const Reg out_plane = b.Const(tiling_.m * kStick);
  const auto store = [&] {
    b.Signal(kOutFree, OutTokens());
    walk.Run(tiles_, [&] {
      ForRowGroups(b, walk, [&](Reg index, Reg rows) {
        const Reg step = b.Add(kZero, OutRowStride(walk), tiling_.group_rows());
        Box(b, Op::kStore, {kOutFull, kOutFree}, kOut,
            b.Add(out.at(), index, tiling_.group_rows() * kStick),
            b.AddProduct(walk.address(kOut), index, step), {m_, n_},
            {rows, OutRowStride(walk), stick}, {walk.size(n_), walk.stride(kOut, n_), out_plane});
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

}  // namespace spyre::compiler
