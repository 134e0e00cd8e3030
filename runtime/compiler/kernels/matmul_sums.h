// SPDX-License-Identifier: Apache-2.0
// The accumulators of a matmul whose sums go from launch to launch: they are brought in by the load
// unit and written by the store unit, or stay in LX. With sums that end in their launch, nothing
// here emits code. Used by code generation only.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/compiler/kernels/matmul_tiling.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {

// The tokens of every matmul kernel; kNone is not a token.
enum MatmulToken : uint8_t {
  kNone = 0,
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
  kSumReady,     // load -> pt: an accumulator has what was carried in
  kMarked,       // vector -> store: LX bears the mark of its first launch
  kARowsFull,    // load -> vector: a chunk of a that is to be transposed
  kARowsFree,    // vector -> load
  kBRowsFull,
  kBRowsFree,
};

// In the LX that a program may use, accumulators that stay lie at the end, whatever is before them
// in a kernel for a shorter k, and behind them a stick with a mark.
uint64_t EndOfResidentLx(uint64_t lx_bytes);  // of the accumulators
Buffers ResidentSums(const MatmulTiling& tiling, uint64_t end);

struct MatmulAxes {
  int m, n;
  std::vector<int> tiles;  // loops over output tiles
};

class MatmulSums {
 public:
  MatmulSums(Problem& problem, const MatmulShare& share, const MatmulTiling& tiling,
             const Buffers& buffers, MatmulAxes axes);

  uint64_t workspace_bytes() const;
  uint64_t lx_end() const;  // 0: no accumulators stay in LX

  // What only the launch does that ends the sums; every launch, if they are not carried.
  template <typename Body>
  void IfFinal(SectionBuilder& b, Body body) const {
    if (!problem_.carried.any()) return body();
    b.If(problem_.carried.Get(b, AccumulationEntry::kFinal), body);
  }

  // A tile's buffer and its place in the workspace.
  class Saved {
   public:
    Saved(const MatmulSums& sums, SectionBuilder& b);
    Reg sum() const { return sum_.at(); }
    Reg at() const { return at_; }
    void Advance();

   private:
    SectionBuilder& b_;
    BufferCursor sum_;
    Reg at_;
    int64_t bytes_;
  };

  // Load unit: the accumulator of a tile as the launch before has left it.
  void CarryIn(SectionBuilder& b, const TileWalk& walk, const Saved& saved) const;
  // Store unit: all accumulators, unless the launch ends the sums.
  void CarryOut(SectionBuilder& b, const std::vector<Reg>& outer) const;
  // Vector unit, accumulators in LX: marks them in the first launch, and leaves them where they are
  // unless the launch ends the sums.
  void Keep(SectionBuilder& b, TileWalk& walk) const;
  // Store unit, accumulators in LX: the mark as the last launch finds it goes to the workspace.
  void ShowMark(SectionBuilder& b) const;

 private:
  int64_t CoreBytes() const;  // of the accumulators of a core, tile by tile as it walks them
  Reg Workspace(SectionBuilder& b, int64_t core_bytes) const;  // of this core
  Reg TileBytes(SectionBuilder& b, const TileWalk& walk) const;
  int64_t mark_at() const { return sum_.base + sum_.bytes * sum_.slots; }

  Problem& problem_;
  const MatmulShare& share_;
  const MatmulTiling& tiling_;
  const Buffers& sum_;
  MatmulAxes axes_;
};

}  // namespace spyre::compiler
