// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/matmul_transposed.h"

#include <utility>

namespace spyre::compiler {
namespace {
constexpr int64_t kBlockBytes = kStickElements * kStick;  // of 64 sticks
}  // namespace

TransposedOperand::TransposedOperand(const Problem& problem, int argument, Axes axes,
                                     int64_t chunk_block, Tokens tokens)
    : problem_(problem),
      argument_(argument),
      axes_(axes),
      chunk_block_(chunk_block),
      tokens_(tokens) {}

void TransposedOperand::Take(LxAllocator& lx, int slots) {
  if (!staged()) return;
  rows_ = Buffers::Take(lx, axis(axes_.from).tile * plane_bytes(), slots,
                        argument_ == 0 ? "a, to be transposed" : "b, to be transposed");
}

bool TransposedOperand::partial() const {
  const Axis& to = axis(axes_.to);
  return to.size % kStickElements != 0 || to.elements_per_slice() % kStickElements != 0;
}

// Rows are elements of `to`, and each stick along `from` is a plane of them.
void TransposedOperand::Load(SectionBuilder& b, TileWalk& walk, Reg rows, Reg group) const {
  b.Scoped([&] {
    BoxSide row{walk.Elements(axes_.to), walk.ElementStride(argument_, axes_.to), b.Const(kStick)};
    BoxSide plane{walk.size(axes_.from), walk.stride(argument_, axes_.from),
                  b.Const(plane_bytes())};
    const int64_t plane_stride = operand().unit_stride[static_cast<size_t>(axes_.from)];
    const int64_t row_stride =
        operand().unit_stride[static_cast<size_t>(axes_.to)] / kStickElements;
    if (plane_stride > 0 && plane_stride < row_stride) std::swap(row, plane);
    EmitBox(b, Op::kLoad, {tokens_.rows_free, tokens_.rows_full}, rows, walk.address(argument_),
            row, plane, group);
  });
}

void TransposedOperand::EndLoad(SectionBuilder& b) const { b.Wait(tokens_.rows_free, rows_.slots); }

void TransposedOperand::BeginTranspose(SectionBuilder& b, TileWalk& walk) const {
  walk.CountElements(axes_.to);
  if (staged() && partial()) {  // rows that are not there are transposed as well
    b.Scoped([&] {
      b.Emit(Op::kVfill, 0, {},
             {b.Const(rows_.base), kZero, b.Const(rows_.bytes * rows_.slots), b.Const(1), kZero});
    });
  }
  if (loaded()) b.Signal(tokens_.rows_free, rows_.slots);
}

void TransposedOperand::Transpose(SectionBuilder& b, TileWalk& walk, Reg rows, Reg chunk) const {
  if (loaded()) b.Wait(tokens_.rows_full);
  // Of what stays in LX: behind the last row there may be another tensor, or the end of LX.
  if (!loaded() && partial()) {
    b.Scoped([&] {
      b.Emit(Op::kVunary, static_cast<uint8_t>(UnaryFn::kCopy), {},
             {rows, walk.address(argument_), kZero, walk.Elements(axes_.to), walk.size(axes_.from),
              b.Const(plane_bytes()), walk.stride(argument_, axes_.from), kZero, b.Const(kStick),
              walk.ElementStride(argument_, axes_.to)});
    });
  }
  b.Wait(tokens_.chunk_free);
  b.Scoped([&] {
    const Reg stick = b.Const(kStick);
    const Reg block = b.Const(kBlockBytes);
    const bool staged_rows = staged();
    b.Emit(Op::kVtranspose, 0, {},
           {chunk, staged_rows ? rows : walk.address(argument_), stick,
            staged_rows ? stick : walk.ElementStride(argument_, axes_.to), walk.size(axes_.to),
            b.Const(chunk_block_), staged_rows ? block : walk.stride(argument_, axes_.to),
            walk.size(axes_.from), block,
            staged_rows ? b.Const(plane_bytes()) : walk.stride(argument_, axes_.from)});
  });
  // The last tile finds rows of the ones before it.
  if (staged() && partial() && axis(axes_.to).tiles() > 1) {
    b.Scoped([&] {
      b.Emit(Op::kVfill, 0, {}, {rows, kZero, b.Const(rows_.bytes), b.Const(1), kZero});
    });
  }
  if (loaded()) b.Signal(tokens_.rows_free);
  b.Signal(tokens_.chunk_full);
}

}  // namespace spyre::compiler
