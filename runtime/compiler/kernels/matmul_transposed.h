// SPDX-License-Identifier: Apache-2.0
// An operand of a matmul whose sticks run along its other dimension: rows of the result in those of
// the first operand, or what is summed over in those of the second. Its chunks come to LX as they
// lie, and the vector unit transposes them, blocks of 64 by 64 elements, to what the array takes.
// Used by code generation only.
#pragma once

#include <cstdint>

#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {

class TransposedOperand {
 public:
  struct Axes {
    int from, to;  // in its sticks, and in those that the array takes
  };
  struct Tokens {
    uint8_t rows_full, rows_free;    // load -> vector: a chunk as it lies; vector -> load
    uint8_t chunk_full, chunk_free;  // vector -> pt: a chunk that is transposed; pt -> vector
  };
  // Of `problem`, whose tiles are decided; it must outlive this. chunk_block: bytes of a transposed
  // chunk from one stick along `to` to the next.
  TransposedOperand(const Problem& problem, int argument, Axes axes, int64_t chunk_block,
                    Tokens tokens);

  void Take(LxAllocator& lx, int slots);
  BufferCursor Cursor(SectionBuilder& b) const { return {b, rows_}; }
  // Whether the load unit brings it. Else it stays in LX.
  bool loaded() const { return !operand().in_lx; }

  // What the sections of the load and the vector unit do at their start and their end, and of each
  // chunk: `rows` is the buffer of the chunk as it lies, `chunk` of the transposed one.
  void BeginLoad(TileWalk& walk) const { walk.CountElements(axes_.to); }
  void Load(SectionBuilder& b, TileWalk& walk, Reg rows, Reg group) const;
  void EndLoad(SectionBuilder& b) const;
  void BeginTranspose(SectionBuilder& b, TileWalk& walk) const;
  void Transpose(SectionBuilder& b, TileWalk& walk, Reg rows, Reg chunk) const;

 private:
  const Operand& operand() const { return problem_.operands[static_cast<size_t>(argument_)]; }
  const Axis& axis(int which) const { return problem_.axes[static_cast<size_t>(which)]; }
  // The last block of a core may have fewer than 64 rows.
  bool partial() const;
  bool staged() const { return loaded() || partial(); }
  int64_t plane_bytes() const { return axis(axes_.to).tile * kStickElements * kStick; }

  const Problem& problem_;
  int argument_;
  Axes axes_;
  int64_t chunk_block_;
  Tokens tokens_;
  Buffers rows_;
};

}  // namespace spyre::compiler
