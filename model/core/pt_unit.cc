// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/round_up.h"
#include "model/common/pt_narrow.h"
#include "model/common/pt_stack.h"
#include "model/contract/formats.h"
#include "model/contract/op_table.h"
#include "model/core/pt_kernel.h"
#include "model/core/units.h"

namespace spyre::model {

namespace {
constexpr uint64_t kBlockSticks = 64;  // of weights
constexpr uint64_t kLanes = 64;        // of an acc stick
constexpr uint64_t kAccStickBytes = 256;
constexpr uint64_t kMaxExtent = 1 << 20;  // of m, n, k in one instruction: beyond any LX

// The path to a time inside an instruction: cycles since the instruction's start, or since the
// array was free of the one before.
struct PtPath {
  bool from_array;
  uint64_t weights = 0, port = 0;  // the rest: rows

  PathTime Behind(const PathTime& start, const PathTime& array, const Clock& clock,
                  uint64_t end_ps) const {
    PathTime path = from_array ? array : start;
    path.For(clock.Span(weights), end_ps, Cause::kPtWeights);
    path.For(clock.Span(port), end_ps, Cause::kLxPort);
    path.Until(end_ps, Cause::kPtRows);
    return path;
  }
};

}  // namespace

uint64_t PtUnit::Execute(const Instruction& in) {
  if (in.op != Op::kMatmul || !IsKnownFn(FnSet::kFormat, in.fn))
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc()};
  const auto fn = static_cast<MatmulFn>(in.fn & kFnMask);
  const DataFormat format = OperandFormat(fn);
  const auto per_stick = static_cast<uint64_t>(ElementsPerStick(format));
  const auto weight_rows = static_cast<uint64_t>(WeightRows(fn));
  const uint64_t columns = per_stick / weight_rows;
  const uint64_t m = Count(in, 3, kMaxExtent);
  const uint64_t n = Count(in, 4, kMaxExtent);
  const uint64_t k = Count(in, 5, kMaxExtent);
  const uint64_t a_stride = Count(in, 6, kLxBytes);
  const uint64_t b_stride = Count(in, 7, kLxBytes);
  const uint64_t acc_stride = Count(in, 8, kLxBytes);
  const bool accumulate = reg(in, 9) != 0;
  if (n % columns != 0) throw UnitFault{Status::ILLEGAL_INSTRUCTION, n};
  const uint64_t start = local_ps();
  if (m == 0 || n == 0) return start;
  const uint64_t k_sticks = CeilDiv(k, per_stick);
  const uint64_t n_sticks = n / columns;
  const uint64_t acc_sticks = n / kLanes;
  // Blocks of a and of acc do not overlap; else work would not be bounded by what LX can hold.
  if ((acc_sticks > 1 && acc_stride < m * kAccStickBytes) ||
      (k_sticks > 1 && a_stride < m * kStickBytes)) {
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, m};
  }
  uint8_t* const acc = Lx(reg(in, 0), (acc_sticks - 1) * acc_stride + m * kAccStickBytes);
  const uint8_t* a = acc;
  const uint8_t* b = acc;
  if (k > 0) {
    a = Lx(reg(in, 1), (k_sticks - 1) * a_stride + m * kStickBytes);
    b = Lx(reg(in, 2), (n_sticks - 1) * b_stride + CeilDiv(k, weight_rows) * kStickBytes);
  }
  const PtOperands operands{acc, a, b, m, n, k, a_stride, b_stride, acc_stride, accumulate};
  RtlPtArray* const rtl = core_.rtl_pt_array();
  if (format != DataFormat::kSen169Fp16) {
    Later([fn, operands] { PtMatmulNarrow(fn, operands); });
  } else if (rtl != nullptr) {
    const CoreConfig& core = config_.core;
    // As small as they are: what goes into the queue has 120 bytes.
    Later([rtl, operands, start, flip = core_.TakePtFlip(),
           load = static_cast<uint32_t>(core.pt_block_load_split_cycles),
           corelets = static_cast<uint8_t>(core.corelets),
           flag = static_cast<uint8_t>(in.fn & kMatmulCorelets)] {
      if (flip) rtl->FlipBit(*flip);
      rtl->Run(operands, corelets, {flag, load}, start);
    });
  } else if (job().functional != nullptr) {
    job().functional->Matmul(operands, BestPtKernel());
  }
  job().macs += m * n * k;
  job().fp16_macs += m * n * k / Rate(format);
  job().Progress();
  const uint64_t bytes = Price(in.fn & kMatmulCorelets, fn, m, n, k, accumulate);
  const uint64_t end = core_.clock().Edge(array_free_);
  Account(in, start, end, bytes);
  return end;
}

// Corelets take different columns of weights while there are enough, else different rows. A step is
// one weight block of 64 sticks (the rows of k in them x one stick of columns) for each corelet:
// its load overlaps the rows of the block before, also of the instruction before; then its rows
// stream past it. A row meets a block in several passes that add to the same sums, so rows fewer
// than the accumulate latency leave the array waiting. The LX port carries weights, rows, and the
// sums that come and go with the rows. With a flag the corelets share the work as it says, and a
// block is loaded when the rows of the one before are through.
uint64_t PtUnit::Price(uint8_t flag, MatmulFn fn, uint64_t m, uint64_t n, uint64_t k,
                       bool accumulate) {
  const CoreConfig& core = config_.core;
  LxPort& port = core_.lx_port();
  const DataFormat format = OperandFormat(fn);
  const auto weight_rows = static_cast<uint64_t>(WeightRows(fn));
  const uint64_t stick_columns = static_cast<uint64_t>(ElementsPerStick(format)) / weight_rows;
  const uint64_t block_k = kBlockSticks * weight_rows;
  const uint64_t corelets = flag == kMatmulOneCorelet ? 1 : core.corelets;
  const bool shares_columns = flag == 0 || flag == kMatmulColumns;
  const uint64_t steps = CeilDiv(k, block_k);
  const uint64_t block_macs = block_k * stick_columns;  // of one row
  const uint64_t macs_per_cycle = core.pt_macs_per_cycle * Rate(format);
  const uint64_t least_cycles = CeilDiv(block_macs, macs_per_cycle) * Latency(format);
  const uint64_t row_bytes = m * block_k * static_cast<uint64_t>(BitsPerElement(format)) / 8;

  // Cycles of the core's clock.
  const Clock& clock = core_.clock();
  const uint64_t start_ps = local_ps();
  const uint64_t start = clock.CycleAt(start_ps);
  uint64_t local = start;  // where the array has room for the next weights
  uint64_t far_ahead = FarAheadCycle();
  uint64_t bytes = 0;
  PtPath local_path{false}, array_path{true};
  for (uint64_t left = n / stick_columns; left > 0;) {
    const uint64_t columns = shares_columns ? std::min<uint64_t>(corelets, left) : 1;
    left -= columns;
    const uint64_t rows = CeilDiv(m, corelets / columns);
    const uint64_t load_cycles =
        flag != 0 && columns > 1 ? core.pt_block_load_split_cycles : core.pt_block_load_cycles;
    const uint64_t row_cycles = std::max(CeilDiv(rows * block_macs, macs_per_cycle), least_cycles);
    const uint64_t weight_bytes = columns * kBlockSticks * kStickBytes;
    const uint64_t sum_bytes =
        columns * (stick_columns / kLanes) * m * kAccStickBytes * (accumulate ? 2 : 1);
    bytes += steps * (weight_bytes + row_bytes) + sum_bytes;
    if (steps == 0) {
      const uint64_t from = std::max(start, array_free_);
      if (from == start) array_path = local_path;
      array_free_ = port.Stream(from, sum_bytes);
      array_path.port += array_free_ - from;
    }
    for (uint64_t step = 0; step < steps; ++step) {
      if (flag != 0 && array_free_ > local) {
        local = array_free_;
        local_path = array_path;
      }
      const uint64_t weights_in = port.Stream(local, weight_bytes);
      const uint64_t weights_ready = std::max(local + load_cycles, weights_in);
      if (array_free_ >= weights_ready) {
        local_path = array_path;
      } else {
        const bool by_port = weights_in > local + load_cycles;
        (by_port ? local_path.port : local_path.weights) += weights_ready - local;
      }
      local = std::max(weights_ready, array_free_);
      if (local > array_free_) {
        const uint64_t could_stream_ps = std::max(start_ps, clock.Edge(array_free_));
        CountLoss(Loss::kWeightLoad, clock.Edge(local) - could_stream_ps);
      }
      const uint64_t sums = sum_bytes * (step + 1) / steps - sum_bytes * step / steps;
      const uint64_t rows_in = port.Stream(local, row_bytes + sums);
      array_free_ = std::max(local + row_cycles, rows_in);
      array_path = local_path;
      if (rows_in > local + row_cycles) array_path.port += rows_in - local;
      if (local >= far_ahead) {
        AdvanceTo(clock.Edge(local));
        Sync();
        far_ahead = FarAheadCycle();
      }
    }
  }
  if (steps > 0) AdvanceTo(clock.Edge(local));
  const uint64_t last_row_ps = clock.Edge(array_free_);
  array_free_ += core.pt_fill_drain_cycles;
  const uint64_t drained_ps = clock.Edge(array_free_);
  CountLoss(Loss::kFillDrain, drained_ps - last_row_ps);
  if (follows_paths()) {
    end_path_ = array_path.Behind(path_, array_path_, clock, last_row_ps);
    if (steps > 0) path_ = local_path.Behind(path_, array_path_, clock, clock.Edge(local));
    end_path_.Until(drained_ps, Cause::kPtFill);
    array_path_ = end_path_;
  }
  return bytes;
}

uint64_t PtUnit::Rate(DataFormat format) const {
  switch (format) {
    case DataFormat::kSenInt4:
      return config_.core.pt_rate_int4;
    case DataFormat::kSenInt8:
      return config_.core.pt_rate_int8;
    case DataFormat::kSen143Fp8:
    case DataFormat::kSen152Fp8:
      return config_.core.pt_rate_fp8;
    default:
      return 1;
  }
}

uint64_t PtUnit::Latency(DataFormat format) const {
  const bool integer = format == DataFormat::kSenInt4 || format == DataFormat::kSenInt8;
  return integer ? config_.core.pt_accumulate_int_cycles : config_.core.pt_accumulate_cycles;
}

void PtUnit::Drain() {
  const uint64_t free_ps = core_.clock().Edge(array_free_);
  if (free_ps > local_ps()) path_ = array_path_;
  AdvanceTo(free_ps);
}

}  // namespace spyre::model
