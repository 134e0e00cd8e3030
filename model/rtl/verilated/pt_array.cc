// SPDX-License-Identifier: Apache-2.0
// The PT array: see pt_array.h.
#include <contract/registers.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "Vpt_array.h"
#include "Vpt_array___024root.h"
#include "base/error.h"
#include "model/rtl/verilated/blocks.h"
#include "model/rtl/verilated/fst_file.h"
#include "model/rtl/verilated/verilated_block.h"
#include "model/rtl/waves.h"

namespace spyre::model::verilated {
namespace {

// Between calls the clock is low and every input has settled.
class VerilatedPtArray final : public RtlPtArray {
 public:
  explicit VerilatedPtArray(const PowerOn& power_on) : block_("pt_array", power_on) {
    top_.command_valid = 0;
    top_.reset = 1;
    SetClock(0);
    SetClock(1);  // no memory yet: what the ports ask for before the reset means nothing
    SetClock(0);
    top_.reset = 0;
    top_.eval();
    block_.HasBeenReset();
  }

  uint64_t Run(const PtOperands& operands, uint64_t corelets, const PtSharing& sharing,
               uint64_t start_ps) noexcept override {
    if (failure_ != nullptr) return 0;
    try {
      return Multiply(operands, corelets, sharing, start_ps);
    } catch (...) {
      failure_ = std::current_exception();
      return 0;
    }
  }

  void Check() const override {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  void FlipBit(uint64_t seed) noexcept override { flip_ = seed; }

  uint64_t cycles() const override { return cycles_; }

  void SetWaves(Waves* waves, uint64_t period_ps) override {
    AttachWaves(*waves, top_);
    waves_ = waves;
    period_ps_ = period_ps;
  }

 private:
  void SetClock(uint8_t level) {
    top_.clk = level;
    top_.eval();
  }

  void Dump() {
    if (waves_ != nullptr) waves_->Dump(now_ps_);
    now_ps_ += period_ps_ / 2;
  }

  // Flips a bit of a weight in column 0.
  void FlipWeight(uint64_t seed) {
    Vpt_array___024root* const root = top_.rootp;
#define SPYRE_WEIGHTS(row) \
  root->pt_array__DOT__columns__BRA__0__KET____DOT__column__DOT__rows__BRA__##row##__KET____DOT__element__DOT__weights
    VlUnpacked<VlWide<4>, 16>* const rows[] = {
        &SPYRE_WEIGHTS(0), &SPYRE_WEIGHTS(1), &SPYRE_WEIGHTS(2), &SPYRE_WEIGHTS(3),
        &SPYRE_WEIGHTS(4), &SPYRE_WEIGHTS(5), &SPYRE_WEIGHTS(6), &SPYRE_WEIGHTS(7)};
#undef SPYRE_WEIGHTS
    constexpr uint64_t kWeights = 16, kWords = 4, kWordBits = 32;  // pt_element.sv
    auto& weights = *rows[seed % std::size(rows)];
    const uint64_t bit = seed / std::size(rows) % (kWeights * kWords * kWordBits);
    weights[bit / (kWords * kWordBits)][bit / kWordBits % kWords] ^= 1u << bit % kWordBits;
  }

  // One cycle: the memory takes writes and addresses at the rising edge, and shows what was read
  // behind it.
  void Cycle(const PtOperands& operands) {
    const uint8_t* const weights = top_.weights_read ? operands.b + top_.weights_address : nullptr;
    const uint8_t* const row =
        top_.activations_read ? operands.a + top_.activations_address : nullptr;
    const uint8_t* const sums = top_.sums_read ? operands.acc + top_.sums_read_address : nullptr;
    if (top_.sums_write) {
      std::memcpy(operands.acc + top_.sums_write_address, top_.sums_write_data.data(),
                  sizeof top_.sums_write_data);
    }
    SetClock(1);
    ++cycles_;
    if (flip_ && cycles_ >= flip_at_) FlipWeight(*std::exchange(flip_, std::nullopt));
    Dump();
    if (weights != nullptr)
      std::memcpy(top_.weights_data.data(), weights, sizeof top_.weights_data);
    if (row != nullptr)
      std::memcpy(top_.activations_data.data(), row, sizeof top_.activations_data);
    if (sums != nullptr) std::memcpy(top_.sums_read_data.data(), sums, sizeof top_.sums_read_data);
    SetClock(0);
    Dump();
  }

  void Offer(const PtOperands& operands, const PtSharing& sharing, const PtShare& share) {
    top_.command_valid = 1;
    top_.command_rows = static_cast<uint32_t>(share.rows);
    top_.command_sticks = static_cast<uint32_t>(share.sticks);
    top_.command_chunks = static_cast<uint32_t>((operands.k + kPtChunk - 1) / kPtChunk);
    top_.command_last_k = static_cast<uint8_t>((operands.k - 1) % kPtChunk);
    top_.command_accumulate = operands.accumulate;
    top_.command_alone = sharing.flag != 0;
    top_.command_load_cycles = static_cast<uint32_t>(PtLoadCycles(share, sharing));
    top_.command_a = static_cast<uint32_t>(share.row * kStick);
    top_.command_b = static_cast<uint32_t>(share.stick * operands.b_nstick_stride);
    top_.command_sums =
        static_cast<uint32_t>(share.stick * operands.acc_nstick_stride + share.row * kSumStick);
    top_.command_a_stride = static_cast<uint32_t>(operands.a_kstick_stride);
    top_.command_b_stride = static_cast<uint32_t>(share.stick_step * operands.b_nstick_stride);
    top_.command_sums_stride = static_cast<uint32_t>(share.stick_step * operands.acc_nstick_stride);
    top_.eval();
  }

  // The cycles that they took, no more than `limit`.
  uint64_t RunShares(const PtOperands& operands, const PtSharing& sharing,
                     const std::vector<PtShare>& shares, uint64_t limit) {
    const uint64_t begin = cycles_;
    for (const PtShare& share : shares) {
      Offer(operands, sharing, share);
      while (!top_.command_ready && cycles_ - begin < limit) Cycle(operands);
      Cycle(operands);
      top_.command_valid = 0;
      top_.eval();
    }
    while (top_.busy && cycles_ - begin < limit) Cycle(operands);
    return cycles_ - begin;
  }

  uint64_t Multiply(const PtOperands& operands, uint64_t corelets, const PtSharing& sharing,
                    uint64_t start_ps) {
    if (operands.k == 0 && !operands.accumulate) {  // no products: nothing for the array
      for (uint64_t stick = 0; stick < operands.n / (kPtColumns * kPtLanes); ++stick)
        std::memset(operands.acc + stick * operands.acc_nstick_stride, 0, operands.m * kSumStick);
    }
    const uint64_t expected = PtArrayCycles(operands.m, operands.n, operands.k, corelets, sharing);
    if (expected == 0) return 0;
    now_ps_ = std::max(now_ps_, start_ps);
    if (flip_) flip_at_ = cycles_ + 1 + *flip_ % expected;
    uint64_t longest = 0;
    for (uint64_t corelet = 0; corelet < corelets; ++corelet)
      longest = std::max(
          longest, RunShares(operands, sharing,
                             PtShares(operands.m, operands.n, corelets, corelet, sharing.flag),
                             expected + 1));
    if (longest != expected) {
      throw DeviceFault(
          "PT array (RTL): MATMUL of m = {}, n = {}, k = {} on {} corelets took {} cycles{}, not "
          "the {} that the timed model counts; model/rtl/pt and model/rtl/pt_array_cycles.cc "
          "differ",
          operands.m, operands.n, operands.k, corelets, longest,
          longest > expected ? " or more" : "", expected);
    }
    return longest;
  }

  static constexpr uint64_t kStick = kEntryBytes;
  static constexpr uint64_t kSumStick = sizeof(Vpt_array::sums_write_data);

  VerilatedBlock<Vpt_array> block_;
  Vpt_array& top_ = block_.top;
  uint64_t cycles_ = 0;
  Waves* waves_ = nullptr;
  uint64_t period_ps_ = 0, now_ps_ = 0;
  std::exception_ptr failure_;
  std::optional<uint64_t> flip_;  // seed of a declared fault
  uint64_t flip_at_ = 0;          // cycle
};

}  // namespace

std::unique_ptr<RtlPtArray> MakePtArray(const PowerOn& power_on) {
  return std::make_unique<VerilatedPtArray>(power_on);
}

}  // namespace spyre::model::verilated
