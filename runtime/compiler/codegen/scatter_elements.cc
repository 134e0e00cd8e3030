// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/scatter_elements.h"

#include <algorithm>

#include "base/error.h"
#include "model/contract/formats.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {
namespace {

constexpr int kFrom = 0;
constexpr int kTo = 1;
constexpr int kNumbers = 2;
constexpr int64_t kBytesOfNumber = 4;
constexpr int64_t kBytesOfElement = 2;
constexpr uint8_t kLoaded = 1;     // load -> vector
constexpr uint8_t kScattered = 2;  // vector -> store

// An index is there for this dimension.
bool HasIndexFor(const SuperDsc& dsc, int dim) {
  return dsc.dims[static_cast<size_t>(dim)].per_core > 1 && Walks(dsc.tensors[dsc.index], dim);
}

bool IsChosen(const SdscTensor& tensor, int dim) {
  const auto at = std::find(tensor.dim_order.begin(), tensor.dim_order.end(), dim);
  return at != tensor.dim_order.end() &&
         tensor.scale[static_cast<size_t>(at - tensor.dim_order.begin())] == 0;
}

class ElementScatter {
 public:
  ElementScatter(const SuperDsc& dsc, Problem& problem)
      : dsc_(dsc),
        p_(problem),
        from_(dsc.tensors[dsc.inputs.front()]),
        to_(dsc.tensors[dsc.outputs.front()]),
        numbers_(dsc.tensors[dsc.index]),
        lx_(problem.lx_base) {
    CheckTensors();
    ReadDims();
    numbers_at_ = lx_.Take(positions_ * number_sticks() * kStick, "indices");
    if (!p_.operands[kFrom].in_lx) from_at_ = lx_.Take(positions_ * sticks_ * kStick, "elements");
    to_at_ = lx_.Take(p_.index_rows * sticks_ * kStick, "tensor that is written to");
    lanes_at_ = lx_.Take(kStickElements * kStick, "lanes");
    if (lx_.used() > p_.lx_base + p_.lx_bytes) {
      throw BadInput(
          "{}: scatters single elements into {} rows of {} sticks, which stay in LX meanwhile; "
          "that "
          "needs {} bytes, and {} may be used",
          p_.name, p_.index_rows, sticks_, lx_.used() - p_.lx_base, p_.lx_bytes);
    }
  }

  uint64_t Build(StepCode& code) {
    code.Emit(Unit::kLoad, [&](SectionBuilder& b) { Load(b, code.loops(Unit::kLoad)); });
    code.Emit(Unit::kVector, [&](SectionBuilder& b) { Scatter(b, code.loops(Unit::kVector)); });
    code.Emit(Unit::kStore, [&](SectionBuilder& b) {
      TileWalk walk(b, p_, {kTo}, code.loops(Unit::kStore));
      MoveRows(b, Op::kStore, {kScattered, 0}, walk.address(kTo));
    });
    code.Keep(lx_.uses());
    return lx_.used();
  }

 private:
  void CheckTensors() const {
    if (from_.format != DataFormat::kSen169Fp16 || to_.format != from_.format) {
      throw BadInput("{}: single elements are scattered in {} only", p_.name,
                     FormatName(DataFormat::kSen169Fp16));
    }
    const bool same = from_.stick_dims.size() == 1 && to_.stick_dims == from_.stick_dims &&
                      numbers_.stick_dims == from_.stick_dims;
    if (!same || numbers_.in_lx || numbers_.word_bytes != kBytesOfNumber ||
        p_.operands[kTo].in_lx) {
      throw BadInput(
          "{}: to scatter single elements, {}, {} and {} must have the same dimension in their "
          "sticks, and the last two must be in device memory",
          p_.name, from_.name, to_.name, numbers_.name);
    }
  }

  void ReadDims() {
    const int stick = from_.stick_dims.front();
    const std::vector<int64_t> from = DimStrides(dsc_, from_);
    const std::vector<int64_t> to = DimStrides(dsc_, to_);
    const std::vector<int64_t> numbers = DimStrides(dsc_, numbers_);
    bool is_found = false;
    for (int dim = 0; dim < static_cast<int>(dsc_.dims.size()); ++dim) {
      const auto d = static_cast<size_t>(dim);
      const SdscDim& size = dsc_.dims[d];
      if (dim == stick) {
        elements_ = size.per_core;
        sticks_ = (elements_ + kStickElements - 1) / kStickElements;
        from_stick_ = from[d];
        to_stick_ = to[d];
        number_stick_ = numbers[d];
        if (size.slices > 1 && elements_ % kStickElements != 0) {
          throw BadInput("{}: {} elements of '{}' on each core are not whole sticks", p_.name,
                         elements_, size.name);
        }
        continue;
      }
      if (size.size == 1) continue;
      // Rows of one core are read, changed and written again, which another must not do with them.
      if (is_found || !IsChosen(to_, dim) || !HasIndexFor(dsc_, dim) || size.slices > 1) {
        throw BadInput(
            "{}: {} has an index for each element of '{}', which is inside the sticks; beside "
            "that, "
            "one dimension with indices is supported, on one core",
            p_.name, numbers_.name, dsc_.dims[static_cast<size_t>(stick)].name);
      }
      is_found = true;
      positions_ = size.per_core;
      from_position_ = from[d];
      number_position_ = numbers[d];
    }
    block_bytes_ = IndexedBlockBytes(dsc_, to_);
  }

  int64_t number_sticks() const { return sticks_ * kBytesOfNumber / kBytesOfElement; }

  // Every row that may be chosen.
  void MoveRows(SectionBuilder& b, Op op, Order order, Reg device) const {
    EmitBox(b, op, order, b.Const(to_at_), device,
            {b.Const(sticks_), b.Const(to_stick_), b.Const(kStick)},
            {b.Const(p_.index_rows), b.Const(block_bytes_), b.Const(sticks_ * kStick)});
  }

  void Load(SectionBuilder& b, const std::vector<Reg>& outer) const {
    const bool staged = !p_.operands[kFrom].in_lx;
    std::vector<int> operands = {kTo, kNumbers};
    if (staged) operands.push_back(kFrom);
    TileWalk walk(b, p_, operands, outer);
    const int64_t sticks = (elements_ * kBytesOfNumber + kStick - 1) / kStick;
    EmitBox(b, Op::kLoad, {0, kLoaded}, b.Const(numbers_at_), walk.address(kNumbers),
            {b.Const(sticks), b.Const(number_stick_), b.Const(kStick)},
            {b.Const(positions_), b.Const(number_position_), b.Const(number_sticks() * kStick)});
    if (staged) {
      EmitBox(b, Op::kLoad, {0, kLoaded}, b.Const(from_at_), walk.address(kFrom),
              {b.Const(sticks_), b.Const(from_stick_), b.Const(kStick)},
              {b.Const(positions_), b.Const(from_position_), b.Const(sticks_ * kStick)});
    }
    MoveRows(b, Op::kLoad, {0, kLoaded}, walk.address(kTo));
  }

  // A stick for each lane, with 1 in that lane and 0 in the others.
  void MakeLanes(SectionBuilder& b) const {
    const Reg lanes = b.Const(lanes_at_);
    b.Emit(Op::kVfill, 0, {}, {lanes, kZero, b.Const(kStickElements * kStick), b.Const(1), kZero});
    b.Emit(Op::kVfill, 0, {},
           {lanes, b.Const(DlfFromDouble(1)), b.Const(kBytesOfElement), b.Const(kStickElements),
            b.Const(kStick + kBytesOfElement)});
  }

  void Scatter(SectionBuilder& b, const std::vector<Reg>& outer) const {
    const bool staged = !p_.operands[kFrom].in_lx;
    MakeLanes(b);
    std::vector<int> in_lx;
    if (!staged) in_lx.push_back(kFrom);
    TileWalk walk(b, p_, in_lx, outer);
    const Reg from = staged ? b.Const(from_at_) : walk.address(kFrom);
    b.Wait(kLoaded, staged ? 3 : 2);
    const Reg one = b.Const(1);
    b.Loop(b.Const(positions_), [&](Reg position) {
      b.Loop(b.Const(sticks_), [&](Reg stick) {
        const Reg value = b.Add(b.Add(from, position, staged ? sticks_ * kStick : from_position_),
                                stick, staged ? kStick : from_stick_);
        const Reg numbers = b.Add(b.Add(b.Const(numbers_at_), position, number_sticks() * kStick),
                                  stick, kStickElements * kBytesOfNumber);
        const Reg to = b.Add(b.Const(to_at_), stick, kStick);
        const Reg left = b.Add(b.Const(elements_), stick, -kStickElements);
        b.Loop(b.Min(left, b.Const(kStickElements)), [&](Reg lane) {
          const Reg row = b.Index(b.Add(numbers, lane, kBytesOfNumber), b.Const(p_.index_tensor),
                                  p_.index_rows);
          b.Emit(Op::kVbinary, FnByte(BinaryFn::kSelect), {},
                 {b.Add(to, row, sticks_ * kStick), b.Add(b.Const(lanes_at_), lane, kStick), value,
                  one, one, kZero, kZero, kZero, kZero, kZero, kZero});
        });
      });
    });
    b.Signal(kScattered);
  }

  const SuperDsc& dsc_;
  Problem& p_;
  const SdscTensor &from_, &to_, &numbers_;
  LxAllocator lx_;
  int64_t elements_ = 1, sticks_ = 1;  // of a position, on each core
  int64_t positions_ = 1;
  int64_t from_stick_ = 0, to_stick_ = 0, number_stick_ = 0;  // bytes from stick to stick
  int64_t from_position_ = 0, number_position_ = 0;           // and from position to position
  int64_t block_bytes_ = 0;
  int64_t numbers_at_ = 0, from_at_ = 0, to_at_ = 0, lanes_at_ = 0;
};

}  // namespace

bool ScattersElements(const SuperDsc& dsc) {
  const SdscTensor& to = dsc.tensors[dsc.outputs.front()];
  return IsIndexed(to) && to.stick_dims.size() == 1 && !IsChosen(to, to.stick_dims.front()) &&
         HasIndexFor(dsc, to.stick_dims.front());
}

uint64_t BuildElementScatter(const SuperDsc& dsc, Problem& problem, StepCode& code) {
  return ElementScatter(dsc, problem).Build(code);
}

}  // namespace spyre::compiler
