// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "model/contract/formats.h"
#include "runtime/compiler/kernels/attention_places.h"
#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::compiler {
namespace attention {
namespace {

enum Argument : uint8_t { kQ, kK, kV, kOut };

// What a masked score becomes: its exponential is zero beside any score of a larger magnitude's
// half of the range.
constexpr double kMasked = -1073741824.0;  // -2^30

uint8_t Fp32(UnaryFn fn) { return FnByte(fn, kFp32Sticks); }
uint8_t Fp32(BinaryFn fn, uint8_t flags = 0) {
  return FnByte(fn, static_cast<uint8_t>(kFp32Sticks | flags));
}

class AttentionKernel {
 public:
  AttentionKernel(const AttentionSpec& spec, const AttentionPlan& plan,
                  const AttentionStrides& strides, CoreColumns& columns)
      : spec_(spec),
        plan_(plan),
        strides_(strides),
        at_(Place(spec, plan)),
        m_(plan.heads * plan.rows),
        depth_sticks_(spec.head_dim / kStickElements),
        key_sticks_(plan.keys / kStickElements),
        blocks_(CeilDiv(spec.sequence, plan.rows)),
        tiles_(CeilDiv(spec.context, plan.keys)) {
    CoreColumns::Column kv{}, group{}, row{}, mask{};
    for (int core = 0; core < plan.cores(); ++core) {
      group[core] = core % plan.group_split;
      row[core] = core / plan.group_split % plan.row_split;
      kv[core] = core / plan.group_split / plan.row_split;
      for (int other = 0; other < plan.group_split; ++other)
        mask[core] |= int64_t{1} << (core - group[core] + other);
    }
    kv_column_ = columns.Add(kv);
    group_column_ = columns.Add(group);
    row_column_ = columns.Add(row);
    if (plan.group_split > 1) mask_column_ = columns.Add(mask);
  }

  void Build(StepCode& code) {
    code.Emit(Unit::kLoad, [&](SectionBuilder& b) { Load(b); });
    code.Emit(Unit::kPt, [&](SectionBuilder& b) { Pt(b); });
    code.Emit(Unit::kVector, [&](SectionBuilder& b) { Vector(b); });
    code.Emit(Unit::kStore, [&](SectionBuilder& b) { Store(b); });
    code.Keep(at_.uses);
  }

 private:
  // Some rows of the query heads of one head of k and v.
  struct Block {
    Reg kv_head;  // of the core's
    Reg first;    // row
    Reg rows;     // of each head
    Reg visible;  // keys that the last row sees
  };
  struct Tile {
    Reg index;
    Reg first;  // key
    Reg keys;
    Reg has_next;  // 1: the block sees keys of the next tile
  };

  // A number whose terms need no registers afterwards.
  template <typename Terms>
  static Reg Compute(SectionBuilder& b, Terms terms) {
    const Reg result = b.Var(kZero);
    b.Scoped([&] { b.Set(result, terms()); });
    return result;
  }

  template <typename Body>
  void ForBlocks(SectionBuilder& b, Body body) const {
    const int64_t kv_heads = spec_.kv_heads / plan_.kv_split;
    b.Loop(Compute(b, [&] { return b.Const(kv_heads); }), [&](Reg i) {
      const Reg count = Compute(b, [&] { return b.Const(CeilDiv(blocks_, plan_.row_split)); });
      b.Loop(count, [&](Reg j) {
        const Reg first = Compute(b, [&] {
          return b.Add(kZero, b.Add(b.Core(row_column_), j, plan_.row_split), plan_.rows);
        });
        const Reg rows = Compute(b, [&] {
          return b.Min(b.Const(plan_.rows), b.Add(b.Const(spec_.sequence), first, -1));
        });
        const Reg any = Compute(b, [&] { return b.Min(rows, b.Const(1)); });
        b.If(any, [&] {
          const Reg visible = Compute(b, [&] {
            return spec_.causal ? b.Add(b.Add(b.Const(spec_.context - spec_.sequence), first), rows)
                                : b.Const(spec_.context);
          });
          body(Block{i, first, rows, visible});
        });
      });
    });
  }
  Reg KvHead(SectionBuilder& b, const Block& block) const {
    return b.Add(block.kv_head, b.Core(kv_column_), spec_.kv_heads / plan_.kv_split);
  }

  // The tiles of which the block sees at least one key.
  template <typename Body>
  void ForTiles(SectionBuilder& b, const Block& block, Body body) const {
    b.Loop(Compute(b, [&] { return b.Const(tiles_); }), [&](Reg index) {
      const auto sees = [&](int64_t tiles_ahead) {
        return Compute(b, [&] {
          const Reg left = b.Add(block.visible, index, -plan_.keys);
          return b.Min(b.Add(left, b.Const(-tiles_ahead * plan_.keys)), b.Const(1));
        });
      };
      b.If(sees(0), [&] {
        const Reg first = b.Add(kZero, index, plan_.keys);
        const Reg keys = Compute(b, [&] {
          return b.Min(b.Const(plan_.keys), b.Add(b.Const(spec_.context), first, -1));
        });
        body(Tile{index, first, keys, sees(1)});
      });
    });
  }

  static Reg Address(SectionBuilder& b, Argument argument) {
    return b.Table(argument * kTableEntriesPerTensor);
  }
  static Reg Stride(SectionBuilder& b, Argument argument, int dim) {
    return b.Table(argument * kTableEntriesPerTensor + 1 + dim);
  }

  // Rows of q or out, one box for each query head.
  void Rows(SectionBuilder& b, Op op, Order order, Argument argument, const Block& block,
            int64_t lx) const {
    const int64_t group = spec_.heads / spec_.kv_heads;
    const Reg head =
        b.Add(b.Add(kZero, KvHead(b, block), group), b.Core(group_column_), plan_.heads);
    const Reg start = b.AddProduct(Address(b, argument), block.first, Stride(b, argument, 1));
    b.Loop(b.Const(plan_.heads), [&](Reg i) {
      const Reg device = b.AddProduct(start, b.Add(head, i), Stride(b, argument, 0));
      BoxSide rows{block.rows, Stride(b, argument, 1), b.Const(kStick)};
      BoxSide sticks{b.Const(depth_sticks_), Stride(b, argument, 2), b.Const(m_ * kStick)};
      if (!strides_.row_rows_first) std::swap(rows, sticks);
      EmitBox(b, op, order, b.Add(b.Const(lx), i, plan_.rows * kStick), device, rows, sticks);
    });
  }

  void Load(SectionBuilder& b) const {
    BufferCursor k_at(b, at_.k), v_at(b, at_.v);
    const Reg group = mask_column_ < 0 ? kZero : b.Core(mask_column_);
    ForBlocks(b, [&](const Block& block) {
      Rows(b, Op::kLoad, {kQFree, kQFull}, kQ, block, at_.q.base);
      ForTiles(b, block, [&](const Tile& tile) {
        const auto load = [&](Argument argument, Order order, BufferCursor& cursor) {
          b.Scoped([&] {
            const Reg head =
                b.AddProduct(Address(b, argument), KvHead(b, block), Stride(b, argument, 0));
            const Reg device = b.AddProduct(head, tile.first, Stride(b, argument, 1));
            BoxSide keys{tile.keys, Stride(b, argument, 1), b.Const(kStick)};
            BoxSide sticks{b.Const(depth_sticks_), Stride(b, argument, 2),
                           b.Const(plan_.keys * kStick)};
            if (!strides_.key_rows_first) std::swap(keys, sticks);
            EmitBox(b, Op::kLoad, order, cursor.at(), device, keys, sticks, group);
          });
          cursor.Advance();
        };
        load(kK, {kKFree, kKFull}, k_at);
        load(kV, {kVFree, kVFull}, v_at);
      });
    });
    b.Wait(kQFree, plan_.heads);
    b.Wait(kKFree, kTwo);
    b.Wait(kVFree, kTwo);
  }

  void Pt(SectionBuilder& b) const {
    b.Signal(kVFree, kTwo);
    b.Signal(kKtFree, kTwo);
    BufferCursor kt_at(b, at_.kt), scores_at(b, at_.scores), p_at(b, at_.p), v_at(b, at_.v);
    const Reg rows = b.Const(m_);
    const Reg stick_plane = b.Const(m_ * kStick);
    const Reg sum_plane = b.Const(m_ * kAccumulatorStick);
    const Reg depth = b.Const(spec_.head_dim);
    const auto scores = [&] {
      b.Wait(kKtFull);
      b.Wait(kSFree);
      b.Emit(Op::kMatmul, 0, {0, kSFull},
             {scores_at.at(), b.Const(at_.q.base), kt_at.at(), rows, b.Const(plan_.keys), depth,
              stick_plane, b.Const(spec_.head_dim * kStick), sum_plane, kZero});
      b.Signal(kKtFree);
      kt_at.Advance();
      scores_at.Advance();
    };
    ForBlocks(b, [&](const Block& block) {
      b.Wait(kQFull, plan_.heads);
      b.Scoped(scores);
      ForTiles(b, block, [&](const Tile& tile) {
        b.If(tile.has_next, scores);
        b.Wait(kPFull);
        b.Wait(kVFull);
        b.Emit(Op::kMatmul, 0, {0, kOReady},
               {b.Const(at_.sums), p_at.at(), v_at.at(), rows, depth, tile.keys, stick_plane,
                b.Const(plan_.keys * kStick), sum_plane, tile.index});
        b.Signal(kVFree);
        p_at.Advance();
        v_at.Advance();
      });
      b.Signal(kQFree, plan_.heads);
    });
    b.Wait(kSFree, kTwo);
  }

  // What no load writes and an instruction reads all the same: rows and keys that a last block and
  // a last tile do not have, and what fills up sticks of one number for each row.
  void Clear(SectionBuilder& b) const {
    const auto clear = [&](int64_t at, int64_t bytes) {
      b.Scoped([&] {
        b.Emit(Op::kVfill, 0, {}, {b.Const(at), kZero, b.Const(bytes), b.Const(1), kZero});
      });
    };
    clear(at_.most, at_.sticks - at_.most);
    if (spec_.sequence % plan_.rows != 0) clear(at_.q.base, at_.q.bytes);
    if (spec_.context % plan_.keys != 0) clear(at_.k.base, kTwo * at_.k.bytes);
  }

  void Vector(SectionBuilder& b) const {
    Clear(b);
    b.Signal(kQFree, plan_.heads);
    b.Signal(kKFree, kTwo);
    b.Signal(kSFree, kTwo);
    BufferCursor k_at(b, at_.k), kt_at(b, at_.kt), scores_at(b, at_.scores), p_at(b, at_.p);
    const auto transpose = [&] {
      b.Wait(kKtFree);
      b.Emit(Op::kVtranspose, 0, {kKFull, kKtFull},
             {kt_at.at(), k_at.at(), b.Const(kStick), b.Const(kStick), b.Const(depth_sticks_),
              b.Const(kStickElements * kStick), b.Const(plan_.keys * kStick), b.Const(key_sticks_),
              b.Const(spec_.head_dim * kStick), b.Const(kStickElements * kStick)});
      b.Signal(kKFree);
      k_at.Advance();
      kt_at.Advance();
    };
    ForBlocks(b, [&](const Block& block) {
      b.Scoped(transpose);
      ForTiles(b, block, [&](const Tile& tile) {
        b.If(tile.has_next, transpose);
        b.Scoped([&] {
          b.Emit(Op::kVround, kRoundScale, {kSFull, kSFree},
                 {p_at.at(), scores_at.at(), b.Const(ScaleBits()), b.Const(m_),
                  b.Const(key_sticks_), b.Const(m_ * kStick), b.Const(m_ * kAccumulatorStick),
                  kZero, b.Const(kStick), b.Const(kAccumulatorStick)});
        });
        if (spec_.causal) b.Scoped([&] { Mask(b, block, tile, p_at.at()); });
        b.Scoped([&] { Probabilities(b, tile, p_at.at()); });
        b.Signal(kPFull);
        scores_at.Advance();
        p_at.Advance();
      });
      b.Scoped([&] { Finish(b); });
    });
    b.Wait(kKtFree, kTwo);
    b.Wait(kOutFree, plan_.heads);
  }

  // In tiles that a row of the block sees a part of: what it does not see becomes very small.
  void Mask(SectionBuilder& b, const Block& block, const Tile& tile, Reg scores) const {
    const Reg one = b.Const(1);
    // Keys of this tile that the first row sees.
    const Reg sees =
        b.Add(b.Add(b.Const(spec_.context - spec_.sequence + 1), block.first), tile.first, -1);
    b.If(b.Min(b.Add(b.Const(plan_.keys), sees, -1), one), [&] {
      b.Loop(block.rows, [&](Reg row) {
        const Reg visible = b.Add(sees, row);
        const Reg at = b.Add(scores, row, kStick);
        for (int64_t p = 0; p < key_sticks_; ++p) {
          b.Scoped([&] {
            const Reg beyond =
                b.Min(b.Add(visible, b.Const(-p * kStickElements)), b.Const(kStickElements));
            const Reg kept = b.Add(beyond, b.Min(beyond, kZero), -1);  // 0 .. 64
            const Reg masked = b.Add(b.Const(kStickElements), kept, -1);
            b.If(b.Min(masked, b.Const(1)), [&] {
              b.Emit(Op::kVfill, 0, {},
                     {b.Add(b.Add(at, b.Const(p * m_ * kStick)), kept, 2), b.Const(MaskedCode()),
                      b.Add(kZero, masked, 2), b.Const(plan_.heads), b.Const(plan_.rows * kStick)});
            });
          });
        }
      });
    });
  }

  // Scores become exponentials of their distance to the largest so far; sums and output follow.
  void Probabilities(SectionBuilder& b, const Tile& tile, Reg p) const {
    const Reg rows = b.Const(m_), sticks = b.Const(key_sticks_), plane = b.Const(m_ * kStick);
    const Reg stick = b.Const(kStick), four = b.Const(kFp32), one = b.Const(1);
    const Reg most = b.Const(at_.most), total = b.Const(at_.total);
    const Reg largest = b.Const(at_.sticks);
    const Reg not_first = b.Min(tile.index, one);
    b.If(not_first, [&] { RowNumbers(b, Fp32(UnaryFn::kCopy), at_.before, at_.most); });
    b.Emit(Op::kVreduce, FnByte(ReduceFn::kMax), {},
           {most, p, tile.index, rows, sticks, kZero, plane, kZero, four, stick, kZero, tile.keys});
    b.Emit(Op::kVround, kRoundLane0, {},
           {largest, most, kZero, rows, one, kZero, kZero, kZero, stick, four});
    b.Emit(Op::kVbinary, FnByte(BinaryFn::kSub, kBroadcastLane0), {},
           {p, p, largest, rows, sticks, plane, plane, kZero, stick, stick, stick});
    b.Emit(Op::kVunary, FnByte(UnaryFn::kExp), {},
           {p, p, kZero, rows, sticks, plane, plane, kZero, stick, stick});
    b.If(not_first, [&] {  // before: the factor from here on
      RowNumbers(b, Fp32(BinaryFn::kSub), at_.before, at_.before, at_.most);
      RowNumbers(b, Fp32(UnaryFn::kExp), at_.before, at_.before);
      RowNumbers(b, Fp32(BinaryFn::kMul), at_.total, at_.total, at_.before);
    });
    b.Emit(
        Op::kVreduce, FnByte(ReduceFn::kSum), {},
        {total, p, tile.index, rows, sticks, kZero, plane, kZero, four, stick, kZero, tile.keys});
    b.If(not_first, [&] { ScaleOutput(b, at_.before); });
  }

  // One fp32 of each row: dst = fn(a), or fn(a, c).
  void RowNumbers(SectionBuilder& b, uint8_t fn, int64_t dst, int64_t a, int64_t c = -1) const {
    b.Scoped([&] {
      const Reg count = b.Const(CeilDiv(m_ * kFp32, kStick)), stick = b.Const(kStick);
      if (c < 0) {
        b.Emit(Op::kVunary, fn, {},
               {b.Const(dst), b.Const(a), kZero, count, b.Const(1), kZero, kZero, kZero, stick,
                stick});
      } else {
        b.Emit(Op::kVbinary, fn, {},
               {b.Const(dst), b.Const(a), b.Const(c), count, b.Const(1), kZero, kZero, kZero, stick,
                stick, stick});
      }
    });
  }

  // Each row of the fp32 sums, by its factor; when the array has added the tile before.
  void ScaleOutput(SectionBuilder& b, int64_t factors) const {
    b.Scoped([&] {
      const Reg rows = b.Const(m_), stick = b.Const(kStick), two = b.Const(kTwo);
      const Reg sticks = b.Const(at_.sticks);
      b.Emit(Op::kVround, static_cast<uint8_t>(kFp32Sticks | kRoundLane0), {},
             {sticks, b.Const(factors), kZero, rows, b.Const(1), kZero, kZero, kZero, stick,
              b.Const(kFp32)});
      b.Wait(kOReady);
      b.Loop(b.Const(depth_sticks_), [&](Reg i) {
        const Reg sums = b.Add(b.Const(at_.sums), i, m_ * kAccumulatorStick);
        const Reg row = b.Const(kAccumulatorStick);
        b.Emit(Op::kVbinary, Fp32(BinaryFn::kMul, kBroadcastLane0), {},
               {sums, sums, sticks, rows, two, stick, stick, kZero, row, row, stick});
      });
    });
  }

  void Finish(SectionBuilder& b) const {
    RowNumbers(b, Fp32(UnaryFn::kReciprocal), at_.before, at_.total);
    ScaleOutput(b, at_.before);
    b.Wait(kOutFree, plan_.heads);
    b.Emit(Op::kVround, 0, {},
           {b.Const(at_.out.base), b.Const(at_.sums), kZero, b.Const(m_), b.Const(depth_sticks_),
            b.Const(m_ * kStick), b.Const(m_ * kAccumulatorStick), kZero, b.Const(kStick),
            b.Const(kAccumulatorStick)});
    b.Signal(kOutFull, plan_.heads);
  }

  void Store(SectionBuilder& b) const {
    b.Signal(kOutFree, plan_.heads);
    ForBlocks(b, [&](const Block& block) {
      Rows(b, Op::kStore, {kOutFull, kOutFree}, kOut, block, at_.out.base);
    });
  }

  int64_t ScaleBits() const {
    const float scale = spec_.scale();
    uint32_t bits = 0;
    std::memcpy(&bits, &scale, sizeof(bits));
    return bits;
  }
  static int64_t MaskedCode() { return DlfFromDouble(kMasked); }

  const AttentionSpec& spec_;
  const AttentionPlan& plan_;
  const AttentionStrides strides_;
  const Places at_;
  const int64_t m_;  // rows of a product: those of all its heads
  const int64_t depth_sticks_, key_sticks_;
  const int64_t blocks_, tiles_;
  int kv_column_ = -1, group_column_ = -1, row_column_ = -1, mask_column_ = -1;
};

}  // namespace
}  // namespace attention

void BuildAttention(const AttentionSpec& spec, const AttentionPlan& plan,
                    const AttentionStrides& strides, CoreColumns& columns, StepCode& code) {
  attention::AttentionKernel(spec, plan, strides, columns).Build(code);
}

}  // namespace spyre::compiler
