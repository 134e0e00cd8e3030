// SPDX-License-Identifier: Apache-2.0
// Pieces that the sections of every kernel are made of: nested loops over the tiles of a core's
// slice, with the addresses of the tensors; boxes between LX and device memory; buffers in LX that
// are used in turn. Used by code generation only.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/kernels/lx_use.h"
#include "runtime/compiler/kernels/public_tiling.h"
#include "runtime/compiler/kernels/step_code.h"

namespace spyre::compiler {

// Walks the tiles of a core's slice in one section. Inside the body of Run: the index and size of
// the current tile of each axis, in units, and the address of each operand's tile, in device memory
// or in LX.
class TileWalk {
 public:
  // Operands are positions in the problem's; `loops` are the iterations of the loops around the
  // step. Emits the start addresses, so construct it where the step begins.
  TileWalk(SectionBuilder& builder, const Problem& problem, const std::vector<int>& operands,
           const std::vector<Reg>& loops);

  // Loops over the tiles of the axes in `order`, the first outermost. May be called in a body.
  void Run(const std::vector<int>& order, const std::function<void()>& body);

  Reg index(int axis) const { return index_[axis]; }
  Reg size(int axis) const { return size_[axis]; }
  Reg address(int operand) const { return address_[operand]; }
  // Bytes per unit; r0 if the operand does not walk the axis.
  Reg stride(int operand, int axis) const { return stride_[operand][axis]; }
  // Bytes per element of an axis that is counted in sticks but is not inside the operand's own; if
  // its elements take turns in the operand's sticks, bytes per stick.
  Reg ElementStride(int operand, int axis);

  // 1 in the first (last) tile of the axis, 0 or less in the others.
  Reg IsFirst(int axis);
  Reg IsLast(int axis);

  // Elements of the current tile that are inside the tensor: less than size * 64 at its end.
  // `core_elements`: CoreElements of the axis, computed outside the loops. Of elements that take
  // `turns` in a stick, it counts these sticks.
  Reg CoreElements(int axis, int64_t turns = 1);
  Reg TileElements(int axis, Reg core_elements, int64_t turns = 1);

  // Elements of the current tile, also of an axis that is counted in sticks. Of such an axis,
  // CountElements comes first, outside the loops.
  void CountElements(int axis);
  Reg Elements(int axis);

 private:
  Reg Slice(int axis);       // of this core
  Reg SliceStart(int axis);  // of this core, in units
  Reg Start(const Operand& operand, const std::vector<Reg>& loops);
  Reg Trips(int axis);
  void Descend(const std::vector<int>& order, size_t level, const std::function<void()>& body);

  SectionBuilder& b_;
  const Problem& problem_;
  std::vector<int> operands_;
  std::vector<Reg> index_;
  std::vector<Reg> size_;
  std::vector<Reg> count_;          // units of this core's slice, by axis; only of uneven ones
  std::vector<Reg> core_elements_;  // by axis; r0: not counted
  std::vector<Reg> address_;        // by operand
  std::vector<std::vector<Reg>> stride_;       // [operand][axis]
  std::vector<std::vector<Reg>> tile_stride_;  // [operand][axis]
};

// One dimension of a box.
struct BoxSide {
  Reg count;
  Reg device_stride;
  Reg lx_stride;
};

// A LOAD or STORE of sticks. The side with the smaller stride in device memory should be `rows`.
void EmitBox(SectionBuilder& builder, Op op, Order order, Reg lx, Reg device, const BoxSide& rows,
             const BoxSide& planes, Reg group = kZero);

// The two axes of a tile of sticks that one box moves, and the loops around it; -1: no such axis.
// In LX the sticks of `rows` follow each other, and planes of them follow each other.
struct TileShape {
  int rows = -1;
  int planes = -1;
  std::vector<int> outer;

  // Rows is the axis with the smallest stride in the operand's compiled layout, planes the next;
  // or, if `with` is an axis, these are `with` and the other one with the smallest stride.
  static TileShape Choose(const Problem& problem, int operand, int with = -1);

  int64_t row_tile(const Problem& problem) const { return rows < 0 ? 1 : problem.axes[rows].tile; }
  int64_t plane_tile(const Problem& problem) const {
    return planes < 0 ? 1 : problem.axes[planes].tile;
  }
  std::vector<int> Loops() const;  // outer, planes, rows
};

// The current tile of `operand`, between LX and device memory. Works for any layout of the operand;
// the box's inner side is the one with the smaller stride there.
void EmitTile(SectionBuilder& builder, const TileWalk& walk, const Problem& problem,
              const TileShape& shape, Op op, Order order, int operand, Reg lx);

// Units of work per LX buffer for kernels that only stream: with the public schedule those of
// PublicStreamSticks (public_tiling.h), else about 64 tiles a core, of at least 2 KiB.
int64_t StreamTileSticks(const Problem& problem, int64_t most_sticks,
                         PublicStreamTile public_tile = kPublicTile);

// LX given out from `base`, in sticks. `name`: what it is for.
class LxAllocator {
 public:
  explicit LxAllocator(uint64_t base = 0)
      : used_(static_cast<int64_t>(AlignUp(base, kStickBytes))) {}
  int64_t Take(int64_t bytes, std::string name) {
    const int64_t at = used_;
    used_ += static_cast<int64_t>(AlignUp(static_cast<uint64_t>(bytes), kStickBytes));
    Note(std::move(name), at, used_ - at);
    return at;
  }
  // A place that was not given out here.
  void Note(std::string name, int64_t at, int64_t bytes) {
    if (bytes == 0) return;
    LxUse use;
    use.name = std::move(name);
    use.address = static_cast<uint64_t>(at);
    use.bytes = static_cast<uint64_t>(bytes);
    uses_.push_back(std::move(use));
  }
  uint64_t used() const { return static_cast<uint64_t>(used_); }
  const std::vector<LxUse>& uses() const { return uses_; }  // of no step and no core yet

 private:
  int64_t used_ = 0;
  std::vector<LxUse> uses_;
};

// Buffers in LX, used in turn.
struct Buffers {
  int64_t base = 0;
  int64_t bytes = 0;  // of one
  int slots = 1;

  static Buffers Take(LxAllocator& lx, int64_t bytes, int slots, std::string name) {
    bytes = static_cast<int64_t>(AlignUp(static_cast<uint64_t>(bytes), kStickBytes));
    return {lx.Take(bytes * slots, std::move(name)), bytes, slots};
  }
};

// A section's place in a set of buffers.
class BufferCursor {
 public:
  BufferCursor(SectionBuilder& builder, const Buffers& buffers);
  Reg at() const { return at_; }
  void Advance();  // at the end of the body that used the buffer

 private:
  SectionBuilder& b_;
  const Buffers buffers_;
  Reg at_;
  Reg sum_;    // two buffers: of both addresses
  Reg index_;  // more: of the buffer
};

// What kernels with one input share: the places of their operands, and the tokens between the load,
// vector and store units, each of which works one buffer ahead of the next.
namespace one_input {

enum Token : uint8_t {
  kInFull = 1,  // load -> vector
  kInFree,      // vector -> load
  kOutFull,     // vector -> store
  kOutFree,     // store -> vector
};

inline constexpr int kIn = 0;
inline constexpr int kOut = 1;
inline constexpr int kSlots = 2;  // buffers of an operand, used in turn

}  // namespace one_input

}  // namespace spyre::compiler
