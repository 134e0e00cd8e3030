// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "model/core/units.h"
#include "model/core/vector_math.h"
#include "model/core/vector_walk.h"

namespace spyre::model {

namespace {
constexpr uint64_t kCenticycles = 100;
constexpr uint64_t kWhole = 100;  // percent
// Sticks of a loop of the streams that vector_loop_* were measured with: of one or two inputs of
// the output's shape; and of reductions and where an operand is broadcast.
constexpr uint64_t kTileSticks = 64;
constexpr uint64_t kWideTileSticks = 128;
constexpr uint64_t kChunkRows = 64;  // of kVreduceRows
constexpr uint64_t kChunk =
    64;  // sticks priced per step, so that loads and PT share the LX port with long instructions
}  // namespace

VectorUnit::Walk VectorUnit::OperandWalk(const Instruction& in, int address, int plane_operand,
                                         int row_operand, uint64_t stick_bytes) {
  // An operand without a plane or row stride has one plane or row, also where the others have none.
  const uint64_t planes = plane_operand < 0 ? 1 : Count(in, 4, kMaxRows);
  const uint64_t rows = row_operand < 0 ? 1 : Count(in, 3, kMaxRows);
  // Results that do not overlap fit LX; more sticks than that are a program's mistake, and would be
  // work without bound where strides are 0.
  if (planes * rows > config_.core.lx_bytes / kStickBytes)
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, planes * rows};
  const uint64_t plane_stride = plane_operand < 0 ? 0 : Count(in, plane_operand, kLxBytes);
  const uint64_t row_stride = row_operand < 0 ? 0 : Count(in, row_operand, kLxBytes);
  const uint64_t start = reg(in, address);
  if ((start | plane_stride | row_stride) % sizeof(float) != 0)
    throw UnitFault{Status::MISALIGNED, start};
  const uint64_t extent = rows == 0 || planes == 0
                              ? 0
                              : (planes - 1) * plane_stride + (rows - 1) * row_stride + stick_bytes;
  return {Lx(start, extent), plane_stride, row_stride};
}

uint64_t VectorUnit::Execute(const Instruction& in) {
  const uint64_t start = local_ps();
  passes_ = config_.core.vector_simple_cost;
  row_cycles_ = 0;
  loop_ = {};
  switch (in.op) {
    case Op::kVbinary:
      Binary(in);
      break;
    case Op::kVunary:
      Unary(in);
      break;
    case Op::kVreduce:
      Reduce(in);
      break;
    case Op::kVreduceRows:
      ReduceRows(in);
      break;
    case Op::kVround:
      Round(in);
      break;
    case Op::kVaccumulate:
      Accumulate(in);
      break;
    case Op::kVfill:
      Fill(in);
      break;
    case Op::kVreloc:
      Relocate(in);
      break;
    case Op::kVtranspose:
      Transpose(in);
      break;
    case Op::kVconvert:
      Convert(in);
      break;
    default:
      throw UnitFault{Status::ILLEGAL_INSTRUCTION, 0};
  }
  // Lanes and LX port work side by side; the slower one decides, chunk by chunk.
  const uint64_t lanes = config_.core.vector_lanes * config_.core.corelets;
  const uint64_t chunks =
      std::max<uint64_t>(1, (elements_ + kChunk * kLanes - 1) / (kChunk * kLanes));
  const Clock& clock = core_.clock();
  uint64_t local = clock.CycleAt(start) + config_.core.vector_startup_cycles;
  uint64_t far_ahead = FarAheadCycle();
  const uint64_t chunk_elements = (elements_ + chunks - 1) / chunks;
  uint64_t chunk_cycles = (chunk_elements + lanes - 1) / lanes * passes_;
  if (job().program->generated_loops && loop_.centicycles != 0) {
    const uint64_t start_share = config_.core.vector_loop_start_percent;
    local += loop_.centicycles * loop_.sticks * start_share / (kCenticycles * kWhole);
    chunk_cycles =
        std::max(chunk_cycles, chunk_elements * loop_.centicycles * (kWhole - start_share) /
                                   (kLanes * kCenticycles * kWhole));
  } else {
    chunk_cycles += (row_cycles_ + chunks - 1) / chunks;
  }
  const uint64_t chunk_bytes = (port_bytes_ + chunks - 1) / chunks;
  const uint64_t first_chunk = local;
  uint64_t port_cycles = 0;  // of the chunks for which the port decided
  for (uint64_t i = 0; i < chunks; ++i) {
    const uint64_t through = core_.lx_port().Stream(local, chunk_bytes);
    if (through > local + chunk_cycles) port_cycles += through - local;
    local = std::max(through, local + chunk_cycles);
    if (local >= far_ahead || i + 1 == chunks) AdvanceTo(clock.Edge(local));
    if (local >= far_ahead) {
      Sync();
      far_ahead = FarAheadCycle();
    }
  }
  const uint64_t end = local_ps();
  if (follows_paths()) {
    path_.Until(clock.Edge(first_chunk), Cause::kVector);
    path_.For(clock.Span(port_cycles), end, Cause::kLxPort);
    path_.Until(end, Cause::kVector);
  }
  Account(in, start, end, port_bytes_);
  return end;
}

// An operand that does not move with a side of the walk, or of which one lane serves all, is
// broadcast; one that never moves is a constant, unless all of its lanes count in a walk of one
// column of sticks: that may be a part of a row.
VectorUnit::Loop VectorUnit::BinaryLoop(uint8_t fn, uint64_t planes, uint64_t rows, const Walk& a,
                                        const Walk& b) const {
  const CoreConfig& core = config_.core;
  bool constant = false;
  bool broadcast = false;
  for (const auto& [walk, lane0] :
       {std::pair(&a, (fn & kBroadcastALane0) != 0), std::pair(&b, (fn & kBroadcastLane0) != 0)}) {
    const bool moves_in_rows = rows > 1 && walk->row_stride != 0;
    const bool moves_in_planes = planes > 1 && walk->plane_stride != 0;
    const bool still = (rows > 1 && !moves_in_rows) || (planes > 1 && !moves_in_planes);
    broadcast |= still || lane0;
    constant |= still && !moves_in_rows && !moves_in_planes && (lane0 || planes > 1);
  }
  if (constant) return {core.vector_loop_constant_centicycles, kWideTileSticks};
  if (broadcast) return {core.vector_loop_broadcast_centicycles, kWideTileSticks};
  return {core.vector_loop_binary_centicycles, kTileSticks};
}

void VectorUnit::Binary(const Instruction& in) {
  const uint64_t rows = Count(in, 3, kMaxRows);
  const uint64_t planes = Count(in, 4, kMaxRows);
  const Walk dst = OperandWalk(in, 0, 5, 8, kStickBytes);
  const Walk a = OperandWalk(in, 1, 6, 9, kStickBytes);
  const Walk b = OperandWalk(in, 2, 7, 10, kStickBytes);
  const auto function = static_cast<BinaryFn>(in.fn & kFnMask);
  if (function == BinaryFn::kDiv || function == BinaryFn::kRevDiv ||
      function == BinaryFn::kNormScale) {
    passes_ = config_.core.vector_function_cost;
  }
  loop_ = BinaryLoop(in.fn, planes, rows, a, b);
  elements_ = planes * rows * kLanes;
  port_bytes_ = 3 * planes * rows * kStickBytes;
  Later([=, fn = in.fn] {
    for (uint64_t plane = 0; plane < planes; ++plane) {
      for (uint64_t row = 0; row < rows; ++row) {
        BinaryStick(fn, dst.At(plane, row), a.At(plane, row), b.At(plane, row));
      }
    }
  });
}

void VectorUnit::Unary(const Instruction& in) {
  const uint64_t rows = Count(in, 3, kMaxRows);
  const uint64_t planes = Count(in, 4, kMaxRows);
  const Walk dst = OperandWalk(in, 0, 5, 8, kStickBytes);
  const Walk a = OperandWalk(in, 1, 6, 9, kStickBytes);
  const bool simple = IsSimple(static_cast<UnaryFn>(in.fn & kFnMask));
  if (!simple) passes_ = config_.core.vector_function_cost;
  loop_ = {simple ? config_.core.vector_loop_unary_centicycles
                  : config_.core.vector_loop_function_centicycles,
           kTileSticks};
  elements_ = planes * rows * kLanes;
  port_bytes_ = 2 * planes * rows * kStickBytes;
  Later([=, fn = in.fn] {
    for (uint64_t plane = 0; plane < planes; ++plane) {
      for (uint64_t row = 0; row < rows; ++row)
        UnaryStick(fn, dst.At(plane, row), a.At(plane, row));
    }
  });
}

void VectorUnit::Reduce(const Instruction& in) {
  const uint64_t rows = Count(in, 3, kMaxRows);
  const uint64_t planes = Count(in, 4, kMaxRows);
  const uint64_t cols = Count(in, 11);
  const bool accumulate = reg(in, 2) != 0;
  const Walk a = OperandWalk(in, 1, 6, 9, kStickBytes);
  const Walk dst = OperandWalk(in, 0, -1, 8, sizeof(float));
  // The measured loop has the folding of the lanes in it.
  if (!job().program->generated_loops) passes_ = config_.core.vector_reduce_cost;
  loop_ = {config_.core.vector_loop_reduce_centicycles, kWideTileSticks};
  elements_ = planes * rows * kLanes;
  port_bytes_ = planes * rows * kStickBytes + rows * kStickBytes * (accumulate ? 2 : 1);
  Later([=, fn = in.fn] {
    const auto reduce = static_cast<ReduceFn>(fn & kFnMask);
    const auto width = static_cast<uint64_t>(LanesOf(fn));
    for (uint64_t row = 0; row < rows; ++row) {
      float outer = accumulate ? *dst.Acc(0, row) : ReduceIdentity(reduce);
      for (uint64_t plane = 0; plane < planes && plane * width < cols; ++plane) {
        const auto lanes = static_cast<int>(std::min(width, cols - plane * width));
        outer = CombineFp32(reduce, outer, ReduceLanes(fn, a.At(plane, row), lanes));
      }
      *dst.Acc(0, row) = outer;
    }
  });
}

void VectorUnit::ReduceRows(const Instruction& in) {
  const uint64_t rows = Count(in, 3, kMaxRows);
  const uint64_t planes = Count(in, 4, kMaxRows);
  const bool accumulate = reg(in, 2) != 0;
  const Walk a = OperandWalk(in, 1, 6, 9, kStickBytes);
  const uint64_t acc_bytes = LanesOf(in.fn) * sizeof(float);
  const Walk dst = OperandWalk(in, 0, 5, -1, acc_bytes);
  loop_ = {config_.core.vector_loop_unary_centicycles, kTileSticks};
  elements_ = planes * rows * kLanes;
  port_bytes_ = planes * rows * kStickBytes + planes * acc_bytes * (accumulate ? 2 : 1);
  Later([=, fn = in.fn] {
    const auto reduce = static_cast<ReduceFn>(fn & kFnMask);
    const int width = LanesOf(fn);
    const float identity = ReduceIdentity(reduce);
    for (uint64_t plane = 0; plane < planes; ++plane) {
      float* outer = dst.Acc(plane, 0);
      if (!accumulate) std::fill(outer, outer + width, identity);
      for (uint64_t first = 0; first < rows; first += kChunkRows) {
        float inner[kStickLanes];
        std::fill(inner, inner + width, identity);
        for (uint64_t row = first; row < std::min(rows, first + kChunkRows); ++row) {
          CombineStick(fn, inner, a.At(plane, row));
        }
        CombineBlock(reduce, outer, outer, inner, static_cast<size_t>(width));
      }
    }
  });
}

void VectorUnit::Round(const Instruction& in) {
  const uint64_t rows = Count(in, 3, kMaxRows);
  const uint64_t planes = Count(in, 4, kMaxRows);
  const bool one_lane = (in.fn & (kRoundLane0 | kRoundLane1)) != 0;
  const uint64_t acc_bytes = LanesOf(in.fn) * sizeof(float);
  const Walk dst = OperandWalk(in, 0, 5, 8, kStickBytes);
  const Walk a = OperandWalk(in, 1, 6, 9, one_lane ? sizeof(float) : acc_bytes);
  const bool scale = (in.fn & kRoundScale) != 0;
  const uint64_t operand = Count(in, 2);
  if (!scale && operand > 1) passes_ = config_.core.vector_function_cost;
  if (one_lane) {
    row_cycles_ = planes * rows * config_.core.vector_reduce_row_cycles;
    loop_ = {config_.core.vector_loop_unary_centicycles, kTileSticks};
  }
  elements_ = planes * rows * kLanes;
  port_bytes_ = planes * rows * (kStickBytes + acc_bytes);
  Later([=, fn = in.fn] {
    for (uint64_t plane = 0; plane < planes; ++plane) {
      for (uint64_t row = 0; row < rows; ++row) {
        RoundStick(fn, dst.At(plane, row), a.Acc(plane, row), operand);
      }
    }
  });
}

void VectorUnit::Accumulate(const Instruction& in) {
  const uint64_t count = Count(in, 3, kLxBytes / sizeof(float));
  const uint64_t bytes = count * sizeof(float);
  auto* dst = reinterpret_cast<float*>(Lx(reg(in, 0), bytes));
  const auto* a = reinterpret_cast<const float*>(Lx(reg(in, 1), bytes));
  const auto* b = reinterpret_cast<const float*>(Lx(reg(in, 2), bytes));
  if ((reg(in, 0) | reg(in, 1) | reg(in, 2)) % sizeof(float) != 0)
    throw UnitFault{Status::MISALIGNED, reg(in, 0)};
  elements_ = 2 * count;  // two passes of the 16-bit lanes
  port_bytes_ = 3 * bytes;
  Later([=] { CombineBlock(static_cast<ReduceFn>(in.fn), dst, a, b, count); });
}

}  // namespace spyre::model
