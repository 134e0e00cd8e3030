// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/tile_walk.h"

#include <algorithm>

#include "base/ranges.h"

namespace spyre::compiler {

TileWalk::TileWalk(SectionBuilder& builder, const Problem& problem,
                   const std::vector<int>& operands, const std::vector<Reg>& loops)
    : b_(builder),
      problem_(problem),
      operands_(operands),
      index_(problem.axes.size()),
      size_(problem.axes.size()),
      count_(problem.axes.size()),
      core_elements_(problem.axes.size()),
      address_(problem.operands.size()),
      stride_(problem.operands.size(), std::vector<Reg>(problem.axes.size())),
      tile_stride_(stride_) {
  for (size_t axis = 0; axis < problem.axes.size(); ++axis) {
    const Axis& a = problem.axes[axis];
    if (!a.uneven()) continue;
    count_[axis] = b_.Var(kZero);
    b_.Scoped([&] {
      // The count runs from the start of this slice to the start of the next.
      const Reg core_slice = Slice(static_cast<int>(axis));
      const Reg full = b_.Const(a.full_slices());
      const Reg next_longer = b_.Min(b_.Add(core_slice, b_.Const(1)), full);
      const Reg longer = b_.Add(next_longer, b_.Min(core_slice, full), -1);
      b_.Set(count_[axis], longer, b_.Const(a.slice - 1));
    });
  }
  for (int index : operands) {
    const Operand& operand = problem.operands[index];
    const Reg address = b_.Var(kZero);
    for (size_t i = 0; i < problem.axes.size(); ++i) {
      const int axis = static_cast<int>(i);
      if (!operand.Walks(axis)) continue;
      const Axis& a = problem.axes[axis];
      Reg& stride = stride_[index][axis];
      const int entry = operand.stride_entry[axis];
      stride = entry < 0 ? b_.Const(operand.unit_stride[axis]) : b_.Table(entry);
      if (entry >= 0 && a.in_sticks && operand.stick_axis != axis) {
        stride = b_.Add(kZero, stride, a.stick_elements);
      }
      // An axis of one unit never moves: its stride is not meaningful in a layout of that size.
      if (a.slice > 1) {
        tile_stride_[index][axis] = a.tile == 1 ? stride : b_.Add(kZero, stride, a.tile);
      }
      if (a.split > 1 && operand.start_from_slices) {
        Slice(axis);  // for every operand
        b_.Scoped([&] { b_.Set(address, address, b_.Mul(SliceStart(axis), stride)); });
      }
    }
    b_.Scoped([&] { b_.Set(address, address, Start(operand, loops)); });
    address_[index] = address;
  }
}

// The operand's address but for the core's slices, where these come from strides.
Reg TileWalk::Start(const Operand& operand, const std::vector<Reg>& loops) {
  Reg start = operand.address_entry < 0 ? b_.Const(operand.base) : b_.Table(operand.address_entry);
  if (operand.start_column >= 0) start = b_.Add(start, b_.Core(operand.start_column));
  for (size_t level = 0; level < operand.loop_stride.size(); ++level) {
    if (operand.loop_stride[level] != 0)
      start = b_.Add(start, loops[level], operand.loop_stride[level]);
  }
  return start;
}

Reg TileWalk::ElementStride(int operand, int axis) {
  const Operand& o = problem_.operands[operand];
  if (o.stride_entry[axis] >= 0) return b_.Table(o.stride_entry[axis]);
  const Axis& a = problem_.axes[axis];
  const bool other = a.in_sticks && o.stick_axis != axis;
  const int64_t steps = other ? a.stick_elements : 1;
  return b_.Const(o.unit_stride[axis] / (axis == o.turns_axis ? steps / o.turns : steps));
}

Reg TileWalk::Slice(int axis) {
  const int column = problem_.axes[axis].slice_column;
  return column < 0 ? kZero : b_.Core(column);
}

void TileWalk::Run(const std::vector<int>& order, const std::function<void()>& body) {
  Descend(order, 0, body);
}

void TileWalk::Descend(const std::vector<int>& order, size_t level,
                       const std::function<void()>& body) {
  if (level == order.size()) {
    body();
    return;
  }
  const int axis = order[level];
  const Axis& a = problem_.axes[axis];
  const Reg count = Trips(axis);
  const Reg tile = b_.Const(a.tile);
  const Reg slice = a.uneven() ? count_[axis] : b_.Const(a.slice);
  b_.Loop(count, [&](Reg index) {
    const std::vector<Reg> outer = address_;
    index_[axis] = index;
    // Not negative: even the shortest slice reaches to the last tile.
    const bool fixed = a.tile == 1 && !a.uneven();
    size_[axis] = fixed ? tile : b_.Min(tile, b_.Add(slice, index, -a.tile));
    for (int operand : operands_) {
      const Reg step = tile_stride_[operand][axis];
      if (step.number != 0) address_[operand] = b_.AddProduct(address_[operand], index, step);
    }
    Descend(order, level + 1, body);
    address_ = outer;
  });
}

Reg TileWalk::IsFirst(int axis) { return b_.Add(b_.Const(1), index_[axis], -1); }

Reg TileWalk::IsLast(int axis) {
  return b_.Add(index_[axis], b_.Const(1), 2 - problem_.axes[axis].tiles());
}

// A slice that is one unit shorter may have one tile less. On a uniform axis that tile is walked
// all the same and is empty, which every instruction takes as nothing to do.
Reg TileWalk::Trips(int axis) {
  const Axis& a = problem_.axes[axis];
  const int64_t shorter = a.slice - 1;
  if (!a.uneven() || a.uniform || shorter % a.tile != 0) return b_.Const(a.tiles());
  return b_.Add(b_.Const(a.tiles() - 1 - shorter), count_[axis]);
}

Reg TileWalk::SliceStart(int axis) {
  const Axis& a = problem_.axes[axis];
  const Reg core_slice = Slice(axis);
  if (a.spacing_entry >= 0) return b_.Mul(core_slice, b_.Table(a.spacing_entry));
  if (!a.uneven()) return b_.Add(kZero, core_slice, a.slice);
  return b_.Add(b_.Min(core_slice, b_.Const(a.full_slices())), core_slice, a.slice - 1);
}

Reg TileWalk::CoreElements(int axis, int64_t turns) {
  const Axis& a = problem_.axes[axis];
  const int64_t unit = a.unit_elements() / turns;
  const int64_t size = (a.size + turns - 1) / turns;
  if (a.uneven()) {
    const Reg left = b_.Add(b_.Const(size), SliceStart(axis), -unit);
    return b_.Min(b_.Add(kZero, count_[axis], unit), left);
  }
  const int64_t slice = a.elements_per_slice() / turns;
  const Reg left = b_.Add(b_.Const(size), Slice(axis), -slice);
  return b_.Min(b_.Const(slice), left);
}

void TileWalk::CountElements(int axis) {
  if (problem_.axes[axis].in_sticks) core_elements_[axis] = CoreElements(axis);
}

Reg TileWalk::Elements(int axis) {
  const Reg core_elements = core_elements_[axis];
  return core_elements.number == 0 ? size_[axis] : TileElements(axis, core_elements);
}

Reg TileWalk::TileElements(int axis, Reg core_elements, int64_t turns) {
  const Axis& a = problem_.axes[axis];
  const int64_t tile_elements = a.tile * a.unit_elements() / turns;
  Reg left = b_.Add(core_elements, index_[axis], -tile_elements);
  // A tile behind the last element has no elements, not less than none.
  if ((a.uneven() && a.uniform) || a.masked) left = b_.Add(left, b_.Min(left, kZero), -1);
  return b_.Min(b_.Const(tile_elements), left);
}

void EmitBox(SectionBuilder& builder, Op op, Order order, Reg lx, Reg device, const BoxSide& rows,
             const BoxSide& planes, Reg group) {
  const Reg stick = builder.Const(kStickBytes);
  if (op == Op::kLoad) {
    builder.Emit(op, 0, order,
                 {lx, device, stick, rows.count, rows.device_stride, rows.lx_stride, planes.count,
                  planes.device_stride, planes.lx_stride, group});
  } else {
    builder.Emit(op, 0, order,
                 {lx, device, stick, rows.count, rows.device_stride, rows.lx_stride, planes.count,
                  planes.device_stride, planes.lx_stride});
  }
}

TileShape TileShape::Choose(const Problem& problem, int operand, int with) {
  std::vector<int> axes;
  for (size_t i = 0; i < problem.axes.size(); ++i) axes.push_back(static_cast<int>(i));
  const auto stride = [&](int axis) { return problem.operands[operand].unit_stride[axis]; };
  // An axis of one unit has no stride worth following; it goes outside.
  const auto order = [&](int a, int b) {
    const bool a_moves = problem.axes[a].slice > 1;
    const bool b_moves = problem.axes[b].slice > 1;
    return a_moves != b_moves ? a_moves : stride(a) < stride(b);
  };
  StableSort(axes, order);
  TileShape shape;
  if (with >= 0) {
    axes.erase(std::find(axes.begin(), axes.end(), with));
    axes.insert(axes.begin(), with);
  }
  if (!axes.empty()) shape.rows = axes[0];
  if (axes.size() > 1) shape.planes = axes[1];
  if (axes.size() > 2) shape.outer.assign(axes.begin() + 2, axes.end());
  return shape;
}

std::vector<int> TileShape::Loops() const {
  std::vector<int> loops = outer;
  if (planes >= 0) loops.push_back(planes);
  if (rows >= 0) loops.push_back(rows);
  return loops;
}

void EmitTile(SectionBuilder& builder, const TileWalk& walk, const Problem& problem,
              const TileShape& shape, Op op, Order order, int operand, Reg lx) {
  const auto side = [&](int axis, int64_t lx_stride) {
    const bool moves = axis >= 0 && problem.operands[operand].Walks(axis);
    return BoxSide{moves ? walk.size(axis) : builder.Const(1),
                   moves ? walk.stride(operand, axis) : kZero, builder.Const(lx_stride)};
  };
  BoxSide rows = side(shape.rows, kStickBytes);
  BoxSide planes = side(shape.planes, shape.row_tile(problem) * kStickBytes);
  const auto stride = [&](int axis) {
    return axis < 0 ? 0 : problem.operands[operand].unit_stride[axis];
  };
  const int64_t plane_stride = stride(shape.planes);
  if (plane_stride > 0 && plane_stride < stride(shape.rows)) std::swap(rows, planes);
  EmitBox(builder, op, order, lx, walk.address(operand), rows, planes);
}

int64_t StreamTileSticks(const Problem& problem, int64_t most_sticks,
                         PublicStreamTile public_tile) {
  constexpr int64_t kTiles = 64;
  constexpr int64_t kLeastBytes = 2048;
  constexpr auto kBytes = static_cast<int64_t>(kStickBytes);
  int64_t sticks = 1;
  for (const Axis& axis : problem.axes) sticks *= axis.slice;
  if (problem.schedule == Schedule::kPublic)
    return PublicStreamSticks(sticks, public_tile, most_sticks);
  return std::clamp<int64_t>(std::max(sticks / kTiles, kLeastBytes / kBytes), 1, most_sticks);
}

BufferCursor::BufferCursor(SectionBuilder& builder, const Buffers& buffers)
    : b_(builder), buffers_(buffers) {
  at_ = buffers.slots == 1 ? b_.Const(buffers.base) : b_.Var(b_.Const(buffers.base));
  if (buffers.slots == 2) sum_ = b_.Const(2 * buffers.base + buffers.bytes);
  if (buffers.slots > 2) index_ = b_.Var(kZero);
}

void BufferCursor::Advance() {
  if (buffers_.slots == 2) b_.Set(at_, sum_, at_, -1);
  if (buffers_.slots <= 2) return;
  // 1 past the last buffer, 0 or less before.
  b_.Scoped([&] {
    b_.Set(index_, index_, b_.Const(1));
    b_.Set(at_, at_, b_.Const(buffers_.bytes));
    b_.If(b_.Add(index_, b_.Const(1), 1 - buffers_.slots), [&] {
      b_.Set(index_, kZero);
      b_.Set(at_, b_.Const(buffers_.base));
    });
  });
}

}  // namespace spyre::compiler
