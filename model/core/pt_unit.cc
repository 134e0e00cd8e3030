#include <algorithm>

#include "model/core/pt_kernel.h"
#include "model/core/units.h"

namespace spyre::model {

namespace {
constexpr uint64_t kBlock = 64;  // weights of one block: 64 k x 64 n
constexpr uint64_t kAccStickBytes = 256;
constexpr uint64_t kMaxExtent = 1 << 20;  // of m, n, k in one instruction: beyond any LX
}  // namespace

uint64_t PtUnit::Execute(const Instruction& in) {
  if (in.op != Op::kMatmul) throw UnitFault{Status::ILLEGAL_INSTRUCTION, 0};
  const uint64_t m = Count(in, 3, kMaxExtent);
  const uint64_t n = Count(in, 4, kMaxExtent);
  const uint64_t k = Count(in, 5, kMaxExtent);
  const uint64_t a_stride = Count(in, 6, kLxBytes);
  const uint64_t b_stride = Count(in, 7, kLxBytes);
  const uint64_t acc_stride = Count(in, 8, kLxBytes);
  const bool accumulate = reg(in, 9) != 0;
  if (n % kBlock != 0) throw UnitFault{Status::ILLEGAL_INSTRUCTION, n};
  const uint64_t start = local_ps();
  if (m == 0 || n == 0) return start;
  const uint64_t k_sticks = (k + kBlock - 1) / kBlock;
  const uint64_t n_sticks = n / kBlock;
  // Blocks of a and of acc do not overlap; else work would not be bounded by what LX can hold.
  if ((n_sticks > 1 && acc_stride < m * kAccStickBytes) ||
      (k_sticks > 1 && a_stride < m * kStickBytes)) {
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, m};
  }
  uint8_t* const acc = core_.Lx(reg(in, 0), (n_sticks - 1) * acc_stride + m * kAccStickBytes);
  const uint8_t* a = acc;
  const uint8_t* b = acc;
  if (k > 0) {
    a = core_.Lx(reg(in, 1), (k_sticks - 1) * a_stride + m * kStickBytes);
    b = core_.Lx(reg(in, 2), (n_sticks - 1) * b_stride + k * kStickBytes);
  }
  if (job().move_data) {
    PtMatmul(acc, a, b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
             static_cast<int64_t>(a_stride), static_cast<int64_t>(b_stride),
             static_cast<int64_t>(acc_stride), accumulate);
  }
  job().macs += m * n * k;
  const uint64_t bytes = Price(m, n, k, accumulate);
  Account(in, start, local_ps(), bytes);
  return local_ps();
}

// Corelets take different columns of weights where there are enough, else different rows. Per step
// each loads one weight block (hidden behind the previous block's rows) and streams its rows past
// it; the LX port carries both.
uint64_t PtUnit::Price(uint64_t m, uint64_t n, uint64_t k, bool accumulate) {
  const CoreConfig& core = config_.core;
  const uint64_t n_sticks = n / kBlock;
  const uint64_t columns = std::min<uint64_t>(core.corelets, n_sticks);
  const uint64_t row_shares = std::max<uint64_t>(1, core.corelets / columns);
  const uint64_t rows = (m + row_shares - 1) / row_shares;
  const uint64_t groups = (n_sticks + columns - 1) / columns;
  const uint64_t steps = (k + kBlock - 1) / kBlock;
  const uint64_t row_cycles =
      (rows * kBlock * kBlock + core.pt_macs_per_cycle - 1) / core.pt_macs_per_cycle;
  const uint64_t block_cycles = std::max(core.pt_block_load_cycles, row_cycles);
  const uint64_t step_bytes = columns * kBlock * kStickBytes + m * kStickBytes;
  const uint64_t acc_bytes = columns * m * kAccStickBytes * (accumulate ? 2 : 1);

  CountLoss(Loss::kWeightLoad, Cycles(groups * steps * (block_cycles - row_cycles)));
  CountLoss(Loss::kFillDrain, Cycles(core.pt_fill_drain_cycles));
  Advance(core.pt_fill_drain_cycles);
  for (uint64_t group = 0; group < groups; ++group) {
    for (uint64_t step = 0; step < steps; ++step) {
      const uint64_t port_end = core_.UseLxPort(local_ps(), step_bytes);
      Advance(block_cycles);
      AdvanceTo(port_end);
      SyncIfFarAhead();
    }
    AdvanceTo(core_.UseLxPort(local_ps(), acc_bytes));
  }
  return groups * (steps * step_bytes + acc_bytes);
}

}  // namespace spyre::model
