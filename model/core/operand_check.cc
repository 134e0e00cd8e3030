// SPDX-License-Identifier: Apache-2.0
#include "model/core/operand_check.h"

#include <initializer_list>

#include "base/round_up.h"
#include "model/contract/control_block.h"
#include "model/contract/op_table.h"
#include "model/core/vector_math.h"
#include "model/core/vector_shuffle.h"
#include "model/core/vector_walk.h"

namespace spyre::model {
namespace {

constexpr uint64_t kMaxCount = 1ull << 32;
constexpr uint64_t kMaxExtent = 1 << 20;
constexpr uint64_t kMaxRecords = 4096;
constexpr uint64_t kFloatBytes = sizeof(float);
constexpr uint64_t kHalfBytes = sizeof(uint16_t);
constexpr int kNone = -1;  // operand: the instruction has no such stride

class OperandCheck {
 public:
  OperandCheck(const Sequencer& sequencer, const Instruction& in, const CoreLimits& limits)
      : sequencer_(sequencer), in_(in), limits_(limits) {}

  bool Box(bool is_store, unsigned core, DeviceBox& box) const {
    if (!AtMost(kMaxCount, {2, 3, 6}) || !AtMost(kSegmentBytes, {4, 7}) ||
        !AtMost(kLxBytes, {5, 8})) {
      return false;
    }
    box = {reg(1), reg(2), reg(3), reg(4), reg(6), reg(7), 0, 0};
    uint64_t lx_row_stride = reg(5);
    const uint64_t lx_plane_stride = reg(8);
    if (!IsStickAligned(box.address | box.row_stride | box.plane_stride | box.row_bytes)) {
      return false;
    }
    if (box.row_bytes == 0 || box.rows == 0 || box.planes == 0) return true;
    uint64_t total = 0;
    if (__builtin_mul_overflow(box.row_bytes, box.rows, &total) ||
        __builtin_mul_overflow(total, box.planes, &total)) {
      return false;
    }
    if (box.row_stride == box.row_bytes && lx_row_stride == box.row_bytes) {
      box.row_bytes *= box.rows;
      box.rows = 1;
      lx_row_stride = 0;
    }
    if (box.rows == 1 && box.plane_stride == box.row_bytes && lx_plane_stride == box.row_bytes) {
      box.row_bytes *= box.planes;
      box.planes = 1;
    }
    uint64_t lx_bytes = 0;
    if (!Extent(box, box.row_stride, box.plane_stride, box.extent_bytes) ||
        !Extent(box, lx_row_stride, lx_plane_stride, lx_bytes) || !InLx(0, lx_bytes)) {
      return false;
    }
    if (is_store) return true;
    const uint32_t self = 1u << core;
    const auto group = static_cast<uint32_t>(reg(9));
    box.group = group == self ? 0 : group;
    return box.group == 0 || (group & self) != 0;
  }

  bool Matmul() const {
    if (!IsKnownFn(FnSet::kFormat, in_.fn)) return false;
    if (!AtMost(kMaxExtent, {3, 4, 5}) || !AtMost(kLxBytes, {6, 7, 8})) return false;
    const auto fn = static_cast<MatmulFn>(in_.fn & kFnMask);
    const auto per_stick = static_cast<uint64_t>(ElementsPerStick(OperandFormat(fn)));
    const auto rows = static_cast<uint64_t>(WeightRows(fn));
    const uint64_t columns = per_stick / rows;
    const uint64_t m = reg(3);
    const uint64_t n = reg(4);
    const uint64_t k = reg(5);
    if (n % columns != 0) return false;
    if (m == 0 || n == 0) return true;
    constexpr uint64_t kAccStickBytes = kLanes * kFloatBytes;
    const uint64_t k_sticks = CeilDiv(k, per_stick);
    const uint64_t acc_sticks = n / kLanes;
    if ((acc_sticks > 1 && reg(8) < m * kAccStickBytes) ||
        (k_sticks > 1 && reg(6) < m * kStickBytes)) {
      return false;
    }
    return InLx(0, (acc_sticks - 1) * reg(8) + m * kAccStickBytes) &&
           (k == 0 || (InLx(1, (k_sticks - 1) * reg(6) + m * kStickBytes) &&
                       InLx(2, (n / columns - 1) * reg(7) + CeilDiv(k, rows) * kStickBytes)));
  }

  // planes x rows sticks, or one of each where there is no stride.
  bool Walk(int address, int plane_stride, int row_stride, uint64_t stick_bytes) const {
    const uint64_t planes = plane_stride == kNone ? 1 : reg(4);
    const uint64_t rows = row_stride == kNone ? 1 : reg(3);
    const uint64_t plane_bytes = plane_stride == kNone ? 0 : reg(plane_stride);
    const uint64_t row_bytes = row_stride == kNone ? 0 : reg(row_stride);
    if (planes > kMaxRows || rows > kMaxRows || planes * rows > limits_.lx_bytes / kStickBytes ||
        plane_bytes > kLxBytes || row_bytes > kLxBytes ||
        (reg(address) | plane_bytes | row_bytes) % kFloatBytes != 0) {
      return false;
    }
    return InLx(address, rows == 0 || planes == 0
                             ? 0
                             : (planes - 1) * plane_bytes + (rows - 1) * row_bytes + stick_bytes);
  }

  bool Vector() const {
    switch (in_.op) {
      case Op::kVbinary:
        return Rows() && Walk(0, 5, 8, kStickBytes) && Walk(1, 6, 9, kStickBytes) &&
               Walk(2, 7, 10, kStickBytes);
      case Op::kVunary:
        return Rows() && Walk(0, 5, 8, kStickBytes) && Walk(1, 6, 9, kStickBytes);
      case Op::kVreduce:
        return Rows() && AtMost(kMaxCount, {11}) && Walk(1, 6, 9, kStickBytes) &&
               Walk(0, kNone, 8, kFloatBytes);
      case Op::kVreduceRows:
        return Rows() && Walk(1, 6, 9, kStickBytes) && Walk(0, 5, kNone, AccBytes());
      case Op::kVround: {
        const bool one = (in_.fn & (kRoundLane0 | kRoundLane1)) != 0;
        return Rows() && AtMost(kMaxCount, {2}) && Walk(0, 5, 8, kStickBytes) &&
               Walk(1, 6, 9, one ? kFloatBytes : AccBytes());
      }
      case Op::kVaccumulate:
        return AtMost(kLxBytes / kFloatBytes, {3}) &&
               (reg(0) | reg(1) | reg(2)) % kFloatBytes == 0 && InLx(0, reg(3) * kFloatBytes) &&
               InLx(1, reg(3) * kFloatBytes) && InLx(2, reg(3) * kFloatBytes);
      case Op::kVfill:
        return AtMost(kLxBytes, {2, 4}) && AtMost(kMaxRows, {3}) &&
               (reg(0) | reg(2) | reg(4)) % kHalfBytes == 0 &&
               reg(3) * reg(2) <= limits_.lx_bytes &&
               InLx(0, reg(3) == 0 ? 0 : (reg(3) - 1) * reg(4) + reg(2));
      case Op::kVreloc:
        return AtMost(kMaxRecords, {2}) && InLx(0, reg(2) * sizeof(CorrectionRecord)) &&
               InLx(1, reg(2) * sizeof(CorrectionRecord));
      case Op::kVtranspose:
        return AtMost(kMaxRows, {4, 7}) &&
               reg(4) * reg(7) * kLanes <= limits_.lx_bytes / kStickBytes && Blocks(0, 2, 5, 8) &&
               Blocks(1, 3, 6, 9);
      case Op::kVconvert:
        return Rows() && Convert();
      default:
        return false;
    }
  }

  bool Ring(unsigned core, uint32_t program_cores) const {
    switch (in_.op) {
      case Op::kSend:
        if (!AtMost(kLxBytes, {3}) || !AtMost(kTokens - 1, {4}) || reg(0) >= 32 ||
            (program_cores >> reg(0) & 1) == 0) {
          return false;
        }
        return reg(3) == 0 || (InLx(1, reg(3)) && InLx(2, reg(3)));
      case Op::kBarrier:
        return (reg(0) >> core & 1) != 0;
      default:
        return in_.op == Op::kMark;
    }
  }

 private:
  uint64_t reg(int operand) const { return sequencer_.reg(in_, operand); }
  bool AtMost(uint64_t limit, std::initializer_list<int> operands) const {
    for (const int operand : operands) {
      if (reg(operand) > limit) return false;
    }
    return true;
  }
  bool Rows() const { return AtMost(kMaxRows, {3, 4}); }
  uint64_t AccBytes() const { return static_cast<uint64_t>(LanesOf(in_.fn)) * kFloatBytes; }
  bool InLx(int address, uint64_t bytes) const {
    return bytes <= limits_.lx_usable_bytes && reg(address) <= limits_.lx_usable_bytes - bytes;
  }
  static bool Extent(const DeviceBox& box, uint64_t row_stride, uint64_t plane_stride,
                     uint64_t& bytes) {
    uint64_t rows = 0;
    uint64_t planes = 0;
    return !__builtin_mul_overflow(box.rows - 1, row_stride, &rows) &&
           !__builtin_mul_overflow(box.planes - 1, plane_stride, &planes) &&
           !__builtin_add_overflow(rows, planes, &bytes) &&
           !__builtin_add_overflow(bytes, box.row_bytes, &bytes);
  }
  bool Blocks(int address, int stick, int block, int plane) const {
    if (!AtMost(kLxBytes, {stick, block, plane}) ||
        (reg(address) | reg(stick) | reg(block) | reg(plane)) % kFloatBytes != 0) {
      return false;
    }
    return InLx(address, reg(4) == 0 || reg(7) == 0
                             ? 0
                             : (reg(7) - 1) * reg(plane) + (reg(4) - 1) * reg(block) +
                                   (kLanes - 1) * reg(stick) + kStickBytes);
  }
  bool Convert() const {
    if (!AtMost(kLxBytes, {2}) || reg(2) % kFloatBytes != 0 || !AtMost(UINT32_MAX, {7, 10})) {
      return false;
    }
    const uint64_t pair = reg(2) + kStickBytes;
    const bool widens = IsWidening(static_cast<ConvertFn>(in_.fn));
    return Walk(0, 5, 8, widens ? pair : kStickBytes) && Walk(1, 6, 9, widens ? kStickBytes : pair);
  }

  const Sequencer& sequencer_;
  const Instruction& in_;
  const CoreLimits& limits_;
};

}  // namespace

bool TakesOperands(const Sequencer& sequencer, const Instruction& in, unsigned core,
                   uint32_t program_cores, const CoreLimits& limits, DeviceBox& box) {
  const OperandCheck check(sequencer, in, limits);
  switch (in.op) {
    case Op::kLoad:
    case Op::kStore:
      return check.Box(in.op == Op::kStore, core, box);
    case Op::kMatmul:
      return check.Matmul();
    case Op::kSend:
    case Op::kBarrier:
    case Op::kMark:
      return check.Ring(core, program_cores);
    default:
      return check.Vector();
  }
}

}  // namespace spyre::model
