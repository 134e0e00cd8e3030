// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "runtime/compiler/kernels/public_tiling.h"
#include "runtime/compiler/kernels/softmax_steps.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace one_input {
namespace {

// The passes through memory, in order.
enum Pass : uint8_t { kMaximum, kSubtract, kExponential, kSum, kScale, kPasses };
// Of a pass that writes: its results, and that all of them are in memory. A later pass has tokens
// of its own, since the store unit begins it before the last store of this one has ended.
struct PassTokens {
  uint8_t out_full = 0, out_free = 0, done = 0;
};
constexpr uint8_t kFirstToken = kOutFree + 1;
PassTokens TokensOf(Pass pass) {
  const auto first = static_cast<uint8_t>(kFirstToken + 3 * pass);
  return {first, static_cast<uint8_t>(first + 1), static_cast<uint8_t>(first + 2)};
}
bool Writes(Pass pass) { return pass == kSubtract || pass == kExponential || pass == kScale; }
constexpr std::array<Pass, kPasses> kAllPasses = {kMaximum, kSubtract, kExponential, kSum, kScale};

class PublicSoftmax {
 public:
  explicit PublicSoftmax(Problem& problem)
      : problem_(problem), lx_(problem.lx_base), cols_(problem.Find("cols")) {
    shape_ = TileShape::Choose(problem, kIn, cols_);
    kept_ = shape_.planes;
    std::swap(shape_.rows, shape_.planes);  // in LX the kept axis is the inner one
    Axis& row = problem.axes[cols_];
    row.tile = row.slice;
    row_bytes_ = row.slice * kStick;
    for (const Axis& axis : problem.axes)
      if (&axis != &row) rows_ *= axis.slice;
    row_loops_ = shape_.outer;
    if (kept_ >= 0) row_loops_.push_back(kept_);
    loops_ = row_loops_;
    loops_.push_back(cols_);
  }

  // None if its buffers do not fit; then no code was made.
  std::optional<uint64_t> Build(StepCode& code) {
    if (KeepsSoftmaxRows(static_cast<uint64_t>(rows_ * row_bytes_))) {
      if (!SetTile(rows_, [&](int64_t rows) {
            return rows * row_bytes_ + ScalarBytes(rows) + SumBytes(rows);
          })) {
        return std::nullopt;
      }
      BuildResident(code);
    } else {
      // As other streams have them: rows follow each other in memory, so they go first.
      const int64_t sticks = StreamTileSticks(problem_, INT64_MAX);
      Axis& row = problem_.axes[cols_];
      const int64_t most_rows = kept_ < 0 ? 1 : std::min(problem_.axes[kept_].slice, sticks);
      row.tile = BalancedTile(row.slice, std::max<int64_t>(1, sticks / most_rows));
      if (!SetTile(most_rows, [&](int64_t rows) {
            return 2 * kSlots * rows * row.tile * kStick + ScalarBytes(rows) +
                   Tiles() * SumBytes(rows);
          })) {
        return std::nullopt;
      }
      BuildPasses(code);
    }
    return lx_.used();
  }

 private:
  static int64_t ScalarBytes(int64_t rows) { return rows * kStick; }
  static int64_t SumBytes(int64_t rows) {
    return static_cast<int64_t>(AlignUp(static_cast<uint64_t>(rows) * 4, kStickBytes));
  }
  int64_t Tiles() const {
    int64_t tiles = 1;
    for (size_t axis = 0; axis < problem_.axes.size(); ++axis)
      if (static_cast<int>(axis) != cols_) tiles *= problem_.axes[axis].tiles();
    return tiles;
  }

  // The most rows, up to `wanted`, with which the buffers fit; false if none do.
  template <typename Bytes>
  bool SetTile(int64_t wanted, Bytes bytes) {
    const auto left = static_cast<int64_t>(problem_.lx_bytes) - static_cast<int64_t>(lx_.used());
    if (kept_ >= 0) {
      Axis& axis = problem_.axes[kept_];
      axis.tile = BalancedTile(axis.slice, std::clamp<int64_t>(wanted, 1, axis.slice));
      while (axis.tile > 1 && bytes(axis.tile) > left)
        axis.tile = BalancedTile(axis.slice, axis.tile - 1);
      tile_ = axis.tile;
    }
    return bytes(tile_) <= left;
  }

  // Outside of the loops, so that they are not made again in every trip.
  void MakeConstants(SectionBuilder& v, int64_t scalars_at) const {
    for (const int64_t value : {int64_t{1}, static_cast<int64_t>(kStickBytes), int64_t{4},
                                tile_ * kStick, scalars_at, problem_.axes[cols_].size})
      v.Const(value);
  }

  SoftmaxSteps Steps(SectionBuilder& v, const TileWalk& walk, int64_t scalars_at) const {
    return {v,
            kept_ < 0 ? v.Const(1) : walk.size(kept_),
            walk.size(cols_),
            v.Const(tile_ * kStick),
            v.Const(scalars_at),
            v.Const(problem_.axes[cols_].size)};
  }

  // As the list of its operations, and as it was measured: nothing is computed before all rows are
  // there, and nothing stored before all are done. Only where LX is smaller are there several
  // tiles.
  void BuildResident(StepCode& code) {
    const Buffers rows = Buffers::Take(lx_, tile_ * row_bytes_, 1, "rows");
    const int64_t scalars_at = lx_.Take(ScalarBytes(tile_), "maxima and sums");
    const int64_t sums_at = lx_.Take(SumBytes(tile_), "fp32 sums");
    code.Keep(lx_.uses());
    code.Emit(Unit::kLoad, [&](SectionBuilder& load) {
      BufferCursor cursor(load, rows);
      TileWalk walk(load, problem_, {kIn}, code.loops(Unit::kLoad));
      walk.Run(loops_, [&] {
        EmitTile(load, walk, problem_, shape_, Op::kLoad, {kInFree, kInFull}, kIn, cursor.at());
        cursor.Advance();
      });
      load.Wait(kInFree);
    });
    code.Emit(Unit::kVector, [&](SectionBuilder& v) {
      BufferCursor at(v, rows);
      TileWalk walk(v, problem_, {}, code.loops(Unit::kVector));
      const Reg sums = v.Const(sums_at);
      MakeConstants(v, scalars_at);
      walk.Run(loops_, [&] {
        const SoftmaxSteps steps = Steps(v, walk, scalars_at);
        steps.Reduce(ReduceFn::kMax, {kInFull, 0}, sums, at.at());
        steps.RoundSums(sums);
        steps.Broadcast(BinaryFn::kSub, {}, at.at(), at.at());
        steps.Exp({}, at.at(), at.at());
        steps.Reduce(ReduceFn::kSum, {}, sums, at.at());
        steps.RoundSums(sums);
        steps.Invert();
        steps.Broadcast(BinaryFn::kMul, {0, kOutFull}, at.at(), at.at());
        at.Advance();
      });
    });
    code.Emit(Unit::kStore, [&](SectionBuilder& store) {
      store.Signal(kInFree);
      BufferCursor cursor(store, rows);
      TileWalk walk(store, problem_, {kOut}, code.loops(Unit::kStore));
      walk.Run(loops_, [&] {
        EmitTile(store, walk, problem_, shape_, Op::kStore, {kOutFull, kInFree}, kOut, cursor.at());
        cursor.Advance();
      });
    });
  }

  void BuildPasses(StepCode& code) {
    const int64_t tile_bytes = tile_ * problem_.axes[cols_].tile * kStick;
    in_ = Buffers::Take(lx_, tile_bytes, kSlots, "input");
    out_ = Buffers::Take(lx_, tile_bytes, kSlots, "out");
    scalars_at_ = lx_.Take(ScalarBytes(tile_), "maxima and sums");
    sums_ = Buffers::Take(lx_, SumBytes(tile_), static_cast<int>(Tiles()), "fp32 sums");
    code.Keep(lx_.uses());
    code.Emit(Unit::kLoad, [&](SectionBuilder& load) {
      BufferCursor cursor(load, in_);
      TileWalk walk(load, problem_, {kIn, kOut}, code.loops(Unit::kLoad));
      for (const Pass pass : kAllPasses) {
        // What the last pass that writes has left in memory.
        const int operand = pass <= kSubtract ? kIn : kOut;
        if (pass == kExponential || pass == kSum)
          load.Wait(TokensOf(static_cast<Pass>(pass - 1)).done);
        walk.Run(loops_, [&] {
          EmitTile(load, walk, problem_, shape_, Op::kLoad, {kInFree, kInFull}, operand,
                   cursor.at());
          cursor.Advance();
        });
      }
      load.Wait(kInFree, kSlots);
    });
    code.Emit(Unit::kVector, [&](SectionBuilder& v) {
      v.Signal(kInFree, kSlots);
      BufferCursor source(v, in_);
      BufferCursor result(v, out_);
      BufferCursor sums(v, sums_);
      MakeConstants(v, scalars_at_);
      TileWalk walk(v, problem_, {}, code.loops(Unit::kVector));
      const Reg core_elements = walk.CoreElements(cols_);
      for (const Pass pass : kAllPasses) {
        walk.Run(row_loops_, [&] {
          // As the sums of all rows are kept, so that what became of them is made once.
          if (pass == kSubtract || pass == kScale) {
            const SoftmaxSteps steps = Steps(v, walk, scalars_at_);
            steps.RoundSums(sums.at());
            if (pass == kScale) steps.Invert();
          }
          walk.Run({cols_}, [&] {
            VectorTile(pass, v, walk, source.at(), result.at(), sums.at(), core_elements);
            source.Advance();
            if (Writes(pass)) result.Advance();
          });
          sums.Advance();
        });
        if (!Writes(pass)) continue;
        v.Wait(TokensOf(pass).out_free, kSlots);
        if (pass != kScale) v.Signal(TokensOf(pass).done);
      }
    });
    code.Emit(Unit::kStore, [&](SectionBuilder& store) {
      BufferCursor cursor(store, out_);
      TileWalk walk(store, problem_, {kOut}, code.loops(Unit::kStore));
      for (const Pass pass : kAllPasses) {
        if (!Writes(pass)) continue;
        const PassTokens tokens = TokensOf(pass);
        store.Signal(tokens.out_free, kSlots);
        walk.Run(loops_, [&] {
          EmitTile(store, walk, problem_, shape_, Op::kStore, {tokens.out_full, tokens.out_free},
                   kOut, cursor.at());
          cursor.Advance();
        });
      }
    });
  }

  void VectorTile(Pass pass, SectionBuilder& v, TileWalk& walk, Reg source, Reg result, Reg sums,
                  Reg core_elements) const {
    SoftmaxSteps steps = Steps(v, walk, scalars_at_);
    const Order to_memory{0, kInFree};
    switch (pass) {
      case kMaximum:
      case kSum:
        v.Scoped([&] {
          steps.elements = walk.TileElements(cols_, core_elements);
          steps.Reduce(pass == kSum ? ReduceFn::kSum : ReduceFn::kMax, {kInFull, kInFree}, sums,
                       source, walk.index(cols_));
        });
        return;
      case kSubtract:
        v.Wait(kInFull);
        v.Wait(TokensOf(pass).out_free);
        steps.Broadcast(BinaryFn::kSub, to_memory, result, source);
        break;
      case kExponential:
        v.Wait(kInFull);
        v.Wait(TokensOf(pass).out_free);
        steps.Exp(to_memory, result, source);
        break;
      case kScale:
        v.Wait(kInFull);
        v.Wait(TokensOf(pass).out_free);
        steps.Broadcast(BinaryFn::kMul, to_memory, result, source);
        break;
      case kPasses:
        break;
    }
    v.Signal(TokensOf(pass).out_full);
  }

  Problem& problem_;
  LxAllocator lx_;
  int cols_;
  int kept_ = -1;
  TileShape shape_;
  std::vector<int> row_loops_, loops_;  // without and with that over a row's sticks
  int64_t row_bytes_ = 0;
  int64_t rows_ = 1;  // of a core
  int64_t tile_ = 1;  // rows
  Buffers in_, out_, sums_;
  int64_t scalars_at_ = 0;
};

}  // namespace
}  // namespace one_input

std::optional<uint64_t> BuildPublicSoftmax(Problem& problem, StepCode& code) {
  return one_input::PublicSoftmax(problem).Build(code);
}

}  // namespace spyre::compiler
