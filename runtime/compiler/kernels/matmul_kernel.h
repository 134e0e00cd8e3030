// SPDX-License-Identifier: Apache-2.0
// Matmul: out[m,n] = sum over k of a[m,k] * b[k,n], for each batch. Four or five units of a core
// run the same loops (batch, tiles of m, n, k), each doing its part of a tile:
//
//   load    a and b chunks into LX, one ahead of the PT array; operands that several cores need at
//           the same time come by multicast
//   vector  transposes chunks that lie otherwise (matmul_transposed.h), between load and pt
//   pt      accumulates the chunks of one output tile in fp32
//   vector  adds the partial result of the previous slice of k (if k is divided), rounds to SEN169
//   ring    hands the partial result to the core with the next slice of k
//   store   writes the rounded tile, while the next one is computed
//
// A launch of a kernel with carried sums is told whether it starts from the accumulators of the
// launch before (the load unit brings them in, or they are in LX), and whether it leaves them for
// the next (the store unit writes them, or they stay) or rounds.
//
// Used by code generation only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/compiler/kernels/matmul_sums.h"
#include "runtime/compiler/kernels/matmul_tiling.h"
#include "runtime/compiler/kernels/matmul_transposed.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {

class MatmulKernel {
 public:
  MatmulKernel(Problem& problem, MatmulFn fn);

  uint64_t Build(StepCode& code);  // bytes of LX that it uses
  uint64_t workspace_bytes() const { return sums_->workspace_bytes(); }

 private:
  // Positions in the problem's operands.
  static constexpr int kA = 0;
  static constexpr int kB = 1;
  static constexpr int kOut = 2;

  // How an operand comes to the array: by the load unit; from where it stays in LX; or, if its rows
  // there do not follow each other, packed by the vector unit; or transposed by it, from where the
  // load unit puts it or from where it stays.
  enum class Source : uint8_t { kLoaded, kDirect, kPacked, kTransposed };

  bool out_staged() const { return !problem_.operands[kOut].in_lx; }
  bool Loaded(int operand) const { return source_[operand] == Source::kLoaded; }
  bool Packed(int operand) const { return source_[operand] == Source::kPacked; }
  bool TransposedLoad(int operand) const {
    return transposed_[operand] && transposed_[operand]->loaded();
  }

  // k is what the output does not walk, n what a does not walk, m the longest of those that b does
  // not walk, or those in the sticks of a; the others go outside. Where the output lacks several, k
  // is in the sticks of a, and the others are steps around it (the windows of a convolution).
  void FindAxes();
  Source SourceOf(int operand) const;
  void TakeTransposed();

  // A walk over the tiles. Their rows may be asked for: Rows.
  TileWalk Walk(SectionBuilder& b, const std::vector<int>& operands,
                const std::vector<Reg>& outer) const;

  // A box whose row side is the one with the smaller stride in the compiled layout. Rows are
  // elements of an axis, planes units of another.
  struct BoxAxes {
    int rows, planes;
  };
  void Box(SectionBuilder& b, Op op, Order order, int argument, Reg lx, Reg device, BoxAxes axes,
           BoxSide rows, BoxSide planes, Reg group = kZero);

  // Rows of the current tile, and bytes from one to the next in the output.
  Reg Rows(TileWalk& walk) const { return walk.Elements(m_); }
  Reg OutRowStride(TileWalk& walk) const {
    return share_.a_transposed ? walk.ElementStride(kOut, m_) : walk.stride(kOut, m_);
  }

  // The rows of a tile in groups, so that the first are rounded and stored while the array works on
  // the others: body(index, rows), rows 0 beyond the tile. Partial sums go as a whole.
  template <typename Body>
  void ForRowGroups(SectionBuilder& b, TileWalk& walk, Body body) const {
    if (share_.combines || tiling_.row_groups() == 1) return body(kZero, Rows(walk));
    b.Loop(b.Const(tiling_.row_groups()), [&](Reg index) {
      const Reg group = b.Const(tiling_.group_rows());
      const Reg before = b.Add(b.Mul(index, group), Rows(walk), -1);  // -(rows from here on)
      body(index, b.Min(group, b.Add(kZero, b.Min(before, kZero), -1)));
    });
  }

  Reg TileSums(SectionBuilder& b, TileWalk& walk) const {
    return b.Add(kZero, b.Mul(Rows(walk), walk.size(n_)), kStickElements);
  }

  // The partial sums of a tile in pieces: body(bytes from the tile's first sum, sums), 0 of them
  // beyond the tile. Of one piece neither is said.
  template <typename Body>
  void ForSumPieces(SectionBuilder& b, TileWalk& walk, Body body) const {
    if (tiling_.sum_pieces == 1) return body(kZero, kZero);
    const Reg sums = TileSums(b, walk);
    constexpr int64_t kSumBytes = sizeof(float);
    const int64_t most = tiling_.accumulator_bytes() / kSumBytes;
    const Reg piece = b.Const((most + tiling_.sum_pieces - 1) / tiling_.sum_pieces);
    b.Loop(b.Const(tiling_.sum_pieces), [&](Reg index) {
      const Reg before = b.Mul(index, piece);
      const Reg left = b.Add(sums, before, -1);
      const Reg some = b.Add(left, b.Min(left, kZero), -1);
      body(b.Add(kZero, before, kSumBytes), b.Min(piece, some));
    });
  }

  void LoadSection(SectionBuilder& b, const std::vector<Reg>& outer);

  // The vector unit in the load unit's place: the chunks of one output tile. k_rows: elements of k,
  // of this core.
  struct PackCursors {
    BufferCursor a, b;
    std::vector<BufferCursor> rows;  // of operands that are transposed
  };
  void Pack(SectionBuilder& b, TileWalk& walk, PackCursors& at, Reg k_rows);

  void PtSection(SectionBuilder& b, const std::vector<Reg>& outer);

  Reg SliceOfK(SectionBuilder& b) const {
    const int column = problem_.axes[k_].slice_column;
    return column < 0 ? kZero : b.Core(column);
  }
  Reg HasPrevious(SectionBuilder& b) const { return b.Min(SliceOfK(b), b.Const(1)); }
  Reg HasNext(SectionBuilder& b) const {
    return b.Min(b.Add(b.Const(problem_.axes[k_].split - 1), SliceOfK(b), -1), b.Const(1));
  }
  Reg IsLastSlice(SectionBuilder& b) const {
    return b.Add(SliceOfK(b), b.Const(1), 2 - problem_.axes[k_].split);
  }

  // The rounded tile goes to a buffer for the store unit, or to where it stays in LX.
  void Round(SectionBuilder& b, TileWalk& walk, Reg sum, Reg out);

  // The vector, ring and store units.
  void VectorSection(SectionBuilder& b, const std::vector<Reg>& outer);
  void VectorResults(SectionBuilder& b, TileWalk& walk);
  void RingSection(SectionBuilder& b, const std::vector<Reg>& outer);
  void RingResults(SectionBuilder& b, const std::vector<Reg>& outer);
  int64_t OutTokens() const { return tiling_.output_slots * tiling_.SumTokens(share_); }
  void StoreSection(SectionBuilder& b, const std::vector<Reg>& outer);
  void StoreResults(SectionBuilder& b, const std::vector<Reg>& outer);

  Problem& problem_;
  MatmulFn fn_;
  int m_ = -1, n_ = -1, k_ = -1;
  std::vector<int> summed_;  // axes that are summed over, k the innermost
  std::vector<int> outer_;   // batch axes, and rows beyond the first
  std::vector<int> tiles_;   // loops over output tiles
  std::array<Source, 2> source_{};
  MatmulShare share_;
  MatmulTiling tiling_;
  LxAllocator lx_;
  Buffers a_, b_, sum_, out_;
  std::array<std::optional<TransposedOperand>, 2> transposed_;
  int64_t received_at_ = 0;
  std::optional<MatmulSums> sums_;
};

}  // namespace spyre::compiler
