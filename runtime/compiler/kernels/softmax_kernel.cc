// SPDX-License-Identifier: Apache-2.0
// Softmax along cols, as the chain max, subtract, exp, sum, reciprocal, multiply. Whole rows stay
// in LX from the load to the store; every intermediate is rounded to SEN169 as it would be if the
// operations ran one by one.
#include "base/error.h"
#include "runtime/compiler/kernels/softmax_steps.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace one_input {
namespace {

// Whole rows stay in LX, as input and as result.
uint64_t BuildOwnSoftmax(Problem& problem, StepCode& code) {
  const int cols = problem.Find("cols");
  TileShape shape = TileShape::Choose(problem, kIn, cols);
  const int kept = shape.planes;
  std::swap(shape.rows, shape.planes);  // in LX the kept axis is the inner one, for the reductions
  Axis& row_axis = problem.axes[cols];
  row_axis.tile = row_axis.slice;
  const int64_t row_bytes = row_axis.slice * kStick;

  // Per row: input and result, each once or twice, an fp32 accumulator and one stick for max and
  // sum.
  const auto lx_bytes = [&](int64_t rows, int slots) {
    const auto sums = static_cast<int64_t>(AlignUp(static_cast<uint64_t>(rows) * 4, kStickBytes));
    return rows * (2 * slots * row_bytes + kStick) + sums;
  };
  const auto limit = static_cast<int64_t>(problem.lx_bytes);
  const int slots = lx_bytes(1, 2) <= limit ? 2 : 1;
  if (lx_bytes(1, slots) > limit) {
    throw BadInput(
        "softmax: a row of {} columns takes {} bytes and must stay in LX as input and as result: "
        "{} "
        "bytes are needed, {} may be used. Use shorter rows or raise lx_bytes",
        row_axis.size, row_bytes, lx_bytes(1, slots), problem.lx_bytes);
  }
  int64_t tile = 1;
  if (kept >= 0) {
    Axis& axis = problem.axes[kept];
    const int64_t sticks = StreamTileSticks(problem, limit / kStick);
    tile = BalancedTile(axis.slice, std::max<int64_t>(1, sticks / row_axis.slice));
    while (lx_bytes(tile, slots) > limit) tile = BalancedTile(axis.slice, tile - 1);
    axis.tile = tile;
  }
  LxAllocator lx(problem.lx_base);
  const Buffers in = Buffers::Take(lx, tile * row_bytes, slots, "input");
  const Buffers out = Buffers::Take(lx, tile * row_bytes, slots, "out");
  const int64_t scalars_at =
      lx.Take(tile * kStick, "maxima and sums");  // one stick per row, lane 0
  const int64_t sums_at = lx.Take(tile * 4, "fp32 sums");
  code.Keep(lx.uses());
  std::vector<int> loops = shape.outer;
  if (kept >= 0) loops.push_back(kept);
  loops.push_back(cols);  // one trip: sets the size

  code.Emit(Unit::kLoad, [&](SectionBuilder& load) {
    BufferCursor cursor(load, in);
    TileWalk walk(load, problem, {kIn}, code.loops(Unit::kLoad));
    walk.Run(loops, [&] {
      EmitTile(load, walk, problem, shape, Op::kLoad, {kInFree, kInFull}, kIn, cursor.at());
      cursor.Advance();
    });
    load.Wait(kInFree, slots);
  });

  code.Emit(Unit::kVector, [&](SectionBuilder& v) {
    v.Signal(kInFree, slots);
    BufferCursor source(v, in);
    BufferCursor result(v, out);
    TileWalk walk(v, problem, {}, code.loops(Unit::kVector));
    // Made here, so that they are not made again in every trip.
    const Reg one = v.Const(1);
    v.Const(kStickBytes);
    const Reg plane = v.Const(tile * kStick);
    v.Const(4);
    const Reg sums = v.Const(sums_at);
    const Reg scalars = v.Const(scalars_at);
    const Reg elements = v.Const(row_axis.size);
    walk.Run(loops, [&] {
      const SoftmaxSteps steps{
          v, kept < 0 ? one : walk.size(kept), walk.size(cols), plane, scalars, elements};
      steps.Reduce(ReduceFn::kMax, {kInFull, 0}, sums, source.at());
      steps.RoundSums(sums);
      v.Wait(kOutFree);
      steps.Broadcast(BinaryFn::kSub, {0, kInFree}, result.at(), source.at());
      steps.Exp({}, result.at(), result.at());
      steps.Reduce(ReduceFn::kSum, {}, sums, result.at());
      steps.RoundSums(sums);
      steps.Invert();
      steps.Broadcast(BinaryFn::kMul, {0, kOutFull}, result.at(), result.at());
      source.Advance();
      result.Advance();
    });
    v.Wait(kOutFree, slots);
  });

  code.Emit(Unit::kStore, [&](SectionBuilder& store) {
    store.Signal(kOutFree, slots);
    BufferCursor cursor(store, out);
    TileWalk walk(store, problem, {kOut}, code.loops(Unit::kStore));
    walk.Run(loops, [&] {
      EmitTile(store, walk, problem, shape, Op::kStore, {kOutFull, kOutFree}, kOut, cursor.at());
      cursor.Advance();
    });
  });
  return lx.used();
}

}  // namespace
}  // namespace one_input

uint64_t BuildSoftmax(Problem& problem, StepCode& code) {
  if (problem.schedule == Schedule::kPublic) {
    if (const std::optional<uint64_t> lx_bytes = BuildPublicSoftmax(problem, code))
      return *lx_bytes;
  }
  return one_input::BuildOwnSoftmax(problem, code);
}

}  // namespace spyre::compiler
