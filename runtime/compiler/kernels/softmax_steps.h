// SPDX-License-Identifier: Apache-2.0
// What the softmax kernels share: the instructions on the rows of a tile. In LX the sticks of a row
// are a plane apart, rows follow each other; a row's maximum, or the reciprocal of its sum, is lane
// 0 of a stick of its own. Used by code generation only.
#pragma once

#include <optional>

#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {

struct SoftmaxSteps {
  SectionBuilder& v;
  Reg rows, sticks;  // of the tile; sticks of each row
  Reg plane;         // bytes from stick to stick of a row
  Reg scalars;       // one stick for each row
  Reg elements;      // of a row
  Reg one = v.Const(1), stick = v.Const(kStickBytes), four = v.Const(4);

  // Of each row, to its fp32 accumulator behind `sums`, which goes on where `goes_on` is not 0.
  void Reduce(ReduceFn fn, Order order, Reg sums, Reg from, Reg goes_on = kZero) const {
    v.Emit(Op::kVreduce, static_cast<uint8_t>(fn), order,
           {sums, from, goes_on, rows, sticks, kZero, plane, kZero, four, stick, kZero, elements});
  }
  void RoundSums(Reg sums) const {
    v.Emit(Op::kVround, kRoundLane0, {},
           {scalars, sums, kZero, rows, one, kZero, kZero, kZero, stick, four});
  }
  void Broadcast(BinaryFn fn, Order order, Reg to, Reg from) const {
    v.Emit(Op::kVbinary, static_cast<uint8_t>(fn) | kBroadcastLane0, order,
           {to, from, scalars, rows, sticks, plane, plane, kZero, stick, stick, stick});
  }
  void Exp(Order order, Reg to, Reg from) const {
    v.Emit(Op::kVunary, static_cast<uint8_t>(UnaryFn::kExp), order,
           {to, from, kZero, rows, sticks, plane, plane, kZero, stick, stick});
  }
  void Invert() const {
    v.Emit(Op::kVunary, static_cast<uint8_t>(UnaryFn::kReciprocal), {},
           {scalars, scalars, kZero, rows, one, kZero, kZero, kZero, stick, stick});
  }
};

// The schedule of the closed compiler (Schedule::kPublic). Rows of a core that fit four fifths of
// LX stay there, in place, from the load to the store. Others go through device memory: five passes
// over all rows of the core read them, three of these write what the next one reads. None, and no
// code, where the buffers or the sums of all rows have no room in the LX that the kernel may use.
std::optional<uint64_t> BuildPublicSoftmax(Problem& problem, StepCode& code);

}  // namespace spyre::compiler
