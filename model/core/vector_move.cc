// SPDX-License-Identifier: Apache-2.0
// The vector instructions that move elements rather than compute: transposes, conversions, fills,
// program correction.
#include <algorithm>
#include <cstring>

#include "model/contract/control_block.h"
#include "model/contract/dlf_bits.h"
#include "model/core/vector_shuffle.h"
#include "model/core/vector_walk.h"

namespace spyre::model {

void VectorUnit::Transpose(const Instruction& in) {
  const uint64_t blocks = Count(in, 4, kMaxRows);
  const uint64_t planes = Count(in, 7, kMaxRows);
  const uint64_t sticks = planes * blocks * kLanes;
  if (sticks > config_.core.lx_bytes / kStickBytes)  // as in OperandWalk
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, sticks};
  struct Side {
    uint8_t* base;
    uint64_t stick, block, plane;
    uint8_t* At(uint64_t p, uint64_t q) const { return base + p * plane + q * block; }
  };
  const auto side = [&](int address, int stick, int block, int plane) {
    Side it{nullptr, Count(in, stick, kLxBytes), Count(in, block, kLxBytes),
            Count(in, plane, kLxBytes)};
    const uint64_t start = reg(in, address);
    if ((start | it.stick | it.block | it.plane) % sizeof(float) != 0)
      throw UnitFault{Status::MISALIGNED, start};
    const uint64_t extent = sticks == 0 ? 0
                                        : (planes - 1) * it.plane + (blocks - 1) * it.block +
                                              (kLanes - 1) * it.stick + kStickBytes;
    it.base = Lx(start, extent);
    return it;
  };
  const Side dst = side(0, 2, 5, 8);
  const Side a = side(1, 3, 6, 9);
  passes_ = config_.core.vector_transpose_cost;
  elements_ = sticks * kLanes;
  port_bytes_ = 2 * sticks * kStickBytes;
  Later([=] {
    for (uint64_t plane = 0; plane < planes; ++plane) {
      for (uint64_t block = 0; block < blocks; ++block)
        TransposeBlock(dst.At(plane, block), dst.stick, a.At(plane, block), a.stick);
    }
  });
}

void VectorUnit::Convert(const Instruction& in) {
  const uint64_t rows = Count(in, 3, kMaxRows);
  const uint64_t planes = Count(in, 4, kMaxRows);
  const uint64_t pair = Count(in, 2, kLxBytes);
  if (pair % sizeof(float) != 0) throw UnitFault{Status::MISALIGNED, pair};
  const auto fn = static_cast<ConvertFn>(in.fn);
  const uint64_t pair_bytes = pair + kStickBytes;
  const Walk dst = OperandWalk(in, 0, 5, 8, IsWidening(fn) ? pair_bytes : kStickBytes);
  const Walk a = OperandWalk(in, 1, 6, 9, IsWidening(fn) ? kStickBytes : pair_bytes);
  const float scale = FloatOf(static_cast<uint32_t>(Count(in, 7, UINT32_MAX)));
  const float shift = FloatOf(static_cast<uint32_t>(Count(in, 10, UINT32_MAX)));
  elements_ = 2 * planes * rows * kLanes;  // of the wide side
  port_bytes_ = 3 * planes * rows * kStickBytes;
  Later([=] {
    for (uint64_t plane = 0; plane < planes; ++plane) {
      for (uint64_t row = 0; row < rows; ++row)
        ConvertStick(fn, dst.At(plane, row), a.At(plane, row), pair, scale, shift);
    }
  });
}

void VectorUnit::Fill(const Instruction& in) {
  const uint64_t row_bytes = Count(in, 2, kLxBytes);
  const uint64_t rows = Count(in, 3, kMaxRows);
  const uint64_t stride = Count(in, 4, kLxBytes);
  const auto value = static_cast<uint16_t>(reg(in, 1));
  if ((reg(in, 0) | row_bytes | stride) % sizeof(value) != 0)
    throw UnitFault{Status::MISALIGNED, reg(in, 0)};
  uint8_t* base = Lx(reg(in, 0), rows == 0 ? 0 : (rows - 1) * stride + row_bytes);
  if (rows * row_bytes > config_.core.lx_bytes)  // as in OperandWalk
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, rows * row_bytes};
  port_bytes_ = rows * row_bytes;
  elements_ = port_bytes_ / sizeof(value);
  Later([=] {
    for (uint64_t row = 0; row < rows; ++row) {
      auto* out = reinterpret_cast<uint16_t*>(base + row * stride);
      std::fill(out, out + row_bytes / sizeof(value), value);
    }
  });
}

void VectorUnit::Relocate(const Instruction& in) {
  const uint64_t records = Count(in, 2, 4096);
  const uint64_t bytes = records * sizeof(CorrectionRecord);
  uint8_t* dst = Lx(reg(in, 0), bytes);
  const uint8_t* src = Lx(reg(in, 1), bytes);
  elements_ = records * kTableEntriesPerTensor;
  port_bytes_ = 2 * bytes;
  if (job().functional == nullptr) return;
  Later([] {});              // operands are in place
  job().functional->Join();  // a record may be a fault
  for (uint64_t i = 0; i < records; ++i) {
    CorrectionRecord record;
    std::memcpy(&record, src + i * sizeof(record), sizeof(record));
    uint64_t entries[kTableEntriesPerTensor] = {};
    if (record.kind == 0 || record.kind == 2) {
      // Segments 0..6 of the PF are physical memory, one to one; a number stays what it is.
      entries[0] = record.offset;
    } else if (record.kind == 1 && record.region < kRegions && record.offset < kSegmentBytes) {
      entries[0] = SegmentAddress(record.region, record.offset);
    } else {
      throw UnitFault{Status::BAD_FIELD, reg(in, 1) + i * sizeof(record)};
    }
    for (int stride = 0; stride < 6; ++stride) entries[1 + stride] = record.stride[stride];
    std::memcpy(dst + i * sizeof(entries), entries, sizeof(entries));
  }
}

}  // namespace spyre::model
