#include "model/rtl/pt/array.h"

#include <contract/registers.h>
#include <verilated.h>

#include <algorithm>
#include <cstring>

#include "Vpt_array.h"
#include "model/contract/error.h"
#include "model/rtl/verilated_block.h"
#include "model/rtl/waves.h"

namespace spyre::model {

// Between calls the clock is low and every input has settled.
struct RtlPtArray::Model {
  Model() {
    top.reset = 1;
    top.clk = 0;
    top.eval();
    Cycle({});
    top.reset = 0;
    top.eval();
  }

  void Dump() {
    if (waves != nullptr) waves->Dump(now_ps);
    now_ps += period_ps / 2;
  }

  // One cycle: the memory takes writes and addresses at the rising edge, and shows what was read
  // behind it.
  void Cycle(const PtOperands& o) {
    const uint8_t* const weights = top.weights_read ? o.b + top.weights_address : nullptr;
    const uint8_t* const row = top.activations_read ? o.a + top.activations_address : nullptr;
    const uint8_t* const sums = top.sums_read ? o.acc + top.sums_read_address : nullptr;
    if (top.sums_write) {
      std::memcpy(o.acc + top.sums_write_address, top.sums_write_data.data(),
                  sizeof top.sums_write_data);
    }
    top.clk = 1;
    top.eval();
    ++cycles;
    Dump();
    if (weights != nullptr) std::memcpy(top.weights_data.data(), weights, sizeof top.weights_data);
    if (row != nullptr) std::memcpy(top.activations_data.data(), row, sizeof top.activations_data);
    if (sums != nullptr) std::memcpy(top.sums_read_data.data(), sums, sizeof top.sums_read_data);
    top.clk = 0;
    top.eval();
    Dump();
  }

  void Offer(const PtOperands& o, const PtShare& share) {
    top.command_valid = 1;
    top.command_rows = static_cast<uint32_t>(share.rows);
    top.command_sticks = static_cast<uint32_t>(share.sticks);
    top.command_chunks = static_cast<uint32_t>((o.k + kPtChunk - 1) / kPtChunk);
    top.command_last_k = static_cast<uint8_t>((o.k - 1) % kPtChunk);
    top.command_accumulate = o.accumulate;
    top.command_a = static_cast<uint32_t>(share.row * kStick);
    top.command_b = static_cast<uint32_t>(share.stick * o.b_nstick_stride);
    top.command_sums =
        static_cast<uint32_t>(share.stick * o.acc_nstick_stride + share.row * kSumStick);
    top.command_a_stride = static_cast<uint32_t>(o.a_kstick_stride);
    top.command_b_stride = static_cast<uint32_t>(share.stick_step * o.b_nstick_stride);
    top.command_sums_stride = static_cast<uint32_t>(share.stick_step * o.acc_nstick_stride);
    top.eval();
  }

  // The cycles that they took, no more than `limit`.
  uint64_t Run(const PtOperands& o, const std::vector<PtShare>& shares, uint64_t limit) {
    const uint64_t begin = cycles;
    for (const PtShare& share : shares) {
      Offer(o, share);
      while (!top.command_ready && cycles - begin < limit) Cycle(o);
      Cycle(o);
      top.command_valid = 0;
      top.eval();
    }
    while (top.busy && cycles - begin < limit) Cycle(o);
    return cycles - begin;
  }

  uint64_t Multiply(const PtOperands& o, uint64_t corelets, uint64_t start_ps) {
    if (o.k == 0 && !o.accumulate) {  // no products: nothing for the array
      for (uint64_t stick = 0; stick < o.n / (kPtColumns * kPtLanes); ++stick)
        std::memset(o.acc + stick * o.acc_nstick_stride, 0, o.m * kSumStick);
    }
    const uint64_t expected = PtArrayCycles(o.m, o.n, o.k, corelets);
    if (expected == 0) return 0;
    now_ps = std::max(now_ps, start_ps);
    uint64_t longest = 0;
    for (uint64_t corelet = 0; corelet < corelets; ++corelet)
      longest = std::max(longest, Run(o, PtShares(o.m, o.n, corelets, corelet), expected + 1));
    if (longest != expected) {
      throw DeviceFault(
          "PT array (RTL): MATMUL of m = {}, n = {}, k = {} on {} corelets took {} cycles{}, not "
          "the {} that the timed model counts; model/rtl/pt and model/rtl/pt/array_cycles.cc "
          "differ",
          o.m, o.n, o.k, corelets, longest, longest > expected ? " or more" : "", expected);
    }
    return longest;
  }

  static constexpr uint64_t kStick = kEntryBytes;
  static constexpr uint64_t kSumStick = sizeof(Vpt_array::sums_write_data);

  VerilatedBlock<Vpt_array> block{"pt_array"};
  Vpt_array& top = block.top;
  uint64_t cycles = 0;
  Waves* waves = nullptr;
  uint64_t period_ps = 0, now_ps = 0;
};

RtlPtArray::RtlPtArray() : model_(std::make_unique<Model>()) {}
RtlPtArray::~RtlPtArray() = default;

uint64_t RtlPtArray::cycles() const { return model_->cycles; }

void RtlPtArray::SetWaves(Waves* waves, uint64_t period_ps) {
  waves->Attach(model_->top);
  model_->waves = waves;
  model_->period_ps = period_ps;
}

uint64_t RtlPtArray::Run(const PtOperands& o, uint64_t corelets, uint64_t start_ps) noexcept {
  if (failure_ != nullptr) return 0;
  try {
    return model_->Multiply(o, corelets, start_ps);
  } catch (...) {
    failure_ = std::current_exception();
    return 0;
  }
}

void RtlPtArray::Check() const {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

}  // namespace spyre::model
