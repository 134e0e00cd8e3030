// SPDX-License-Identifier: Apache-2.0
// The control-block processor: see control_rtl.h.
#include <cstring>

#include "Vcontrol.h"
#include "Vcontrol___024root.h"
#include "model/rtl/verilated/blocks.h"
#include "model/rtl/verilated/fst_file.h"
#include "model/rtl/verilated/verilated_block.h"
#include "model/rtl/waves.h"

namespace spyre::model::verilated {

namespace {

static_assert(sizeof(ControlBlock) == sizeof(VlWide<32>), "an entry is 1024 bits");

// Width of a slot number in a node: function, then slot.
constexpr unsigned SlotBits() {
  unsigned bits = 0;
  while ((1u << bits) < kHeldOperations) ++bits;
  return bits;
}

ControlRtl::Node NodeOf(uint32_t bits) {
  return {bits >> SlotBits(), bits & ((1u << SlotBits()) - 1)};
}

class VerilatedControl final : public ControlRtl {
 public:
  VerilatedControl(const Settings& settings, const PowerOn& power_on)
      : block_("control", power_on) {
    // Inputs that carry data mean nothing without their valid: they stay as they came.
    ClearPulses();
    top_.entry_valid = 0;
    top_.silent = 0;
    top_.serial = settings.serial;
    top_.fetch_batch = settings.fetch_batch;
    top_.decode_ps = settings.decode_ps;
    top_.dispatch_ps = settings.dispatch_ps;
    top_.respond_ps = settings.respond_ps;
    for (unsigned function = 0; function < kMaxFunctions; ++function)
      SetShare(function, 1u << 16, 1);
    top_.compute_ports = static_cast<uint8_t>(settings.compute_ports);
    top_.clk = 0;
    top_.rst = 1;
    top_.reset = 1;
    top_.eval();
    for (unsigned function = 0; function < kMaxFunctions; ++function) {
      top_.command_function = static_cast<uint8_t>(function);
      Edge(0);
    }
    top_.rst = top_.reset = 0;
    block_.HasBeenReset();
  }

  void Clock(uint64_t now_ps) override {
    Edge(now_ps);
    ClearPulses();
  }

  void SetShare(unsigned function, uint32_t cost, unsigned programs) override {
    top_.cost[function] = cost;
    top_.most_programs[function] = static_cast<uint8_t>(programs);
  }
  bool idle() const override { return top_.idle != 0; }
  uint64_t wake_ps() const override { return top_.wake_ps; }

  void SetRing(unsigned function, const Ring& ring) override {
    top_.set_queue = 1;
    top_.command_function = static_cast<uint8_t>(function);
    top_.submission_base = ring.submission_base;
    top_.submission_entries = ring.submission_entries;
    top_.response_base = ring.response_base;
    top_.response_entries = ring.response_entries;
    top_.enabled = ring.enabled;
  }

  void Doorbell(unsigned function, uint32_t tail, uint64_t arrival_ps) override {
    top_.doorbell = 1;
    top_.command_function = static_cast<uint8_t>(function);
    top_.index = tail;
    top_.doorbell_ps = arrival_ps;
  }

  void CancelDoorbell(unsigned function) override {
    top_.cancel_doorbell = 1;
    top_.command_function = static_cast<uint8_t>(function);
  }

  void ResponsesConsumed(unsigned function, uint32_t head) override {
    top_.consumed = 1;
    top_.command_function = static_cast<uint8_t>(function);
    top_.index = head;
  }

  void ClearError(unsigned function) override {
    top_.clear_error = 1;
    top_.command_function = static_cast<uint8_t>(function);
  }

  void Reset(unsigned function) override {
    top_.reset = 1;
    top_.command_function = static_cast<uint8_t>(function);
  }

  bool doorbell_ready(unsigned function) const override {
    return (top_.doorbell_ready >> function & 1) != 0;
  }
  uint32_t submission_head(unsigned function) const override {
    return top_.submission_head[function];
  }
  uint32_t response_tail(unsigned function) const override { return top_.response_tail[function]; }
  Status error(unsigned function) const override {
    return static_cast<Status>(top_.error[function]);
  }
  uint32_t errors_raised() const override { return top_.error_raised; }
  uint32_t responses_raised() const override { return top_.response_raised; }

  bool TakeRead(Read* read) const override {
    if (top_.read_valid != 0) *read = {top_.read_function, top_.read_address, top_.read_entries};
    return top_.read_valid != 0;
  }

  void PresentEntry(const void* entry) override {
    top_.entry_valid = entry != nullptr;
    if (entry != nullptr) std::memcpy(&top_.entry, entry, sizeof(top_.entry));
  }

  void FailRead() override { top_.read_failed = 1; }
  void PutReadAside() override { top_.read_later = 1; }
  void SetSilent(uint32_t functions) override { top_.silent = functions; }
  bool entry_next() const override { return top_.entry_next != 0; }
  bool entries_drop() const override { return top_.entries_drop != 0; }

  bool TakeWrite(Write* write) const override {
    if (top_.write_valid == 0) return false;
    write->function = top_.write_function;
    write->address = top_.write_address;
    std::memcpy(static_cast<void*>(&write->response), &top_.write_response, sizeof(Response));
    return true;
  }

  void EndWrite(bool accepted) override {
    top_.write_done = 1;
    top_.write_ok = accepted;
  }

  bool message() const override { return top_.message_valid != 0; }

  void AnswerMessage(Status status, uint64_t fault, const ControlBlock& block) override {
    top_.message_done = 1;
    top_.message_status = static_cast<uint16_t>(status);
    top_.message_fault = fault;
    std::memcpy(&top_.message_block, &block, sizeof(block));
  }

  bool TakeOperation(Taken* taken) const override {
    if (top_.taken == 0) return false;
    taken->node = NodeOf(top_.taken_node);
    taken->port = top_.taken_by_port != 0 ? top_.taken_port : kPorts;
    std::memcpy(static_cast<void*>(&taken->block), &top_.taken_block, sizeof(ControlBlock));
    return true;
  }

  bool TakeStart(Started* started) const override {
    if (top_.start != 0) *started = {top_.start_port, top_.start_aborted != 0};
    return top_.start != 0;
  }

  void EndOperation(unsigned port, const Response& outcome) override {
    top_.done = 1;
    top_.done_port = static_cast<uint8_t>(port);
    top_.done_status = outcome.status;
    top_.done_fault_address = outcome.fault_address;
    top_.done_fault_core = outcome.fault_core;
    top_.done_bytes_read = outcome.device_bytes_read;
    top_.done_bytes_written = outcome.device_bytes_written;
    top_.done_macs = outcome.macs;
  }

  bool accepted(Node* node) const override {
    *node = NodeOf(top_.accepted_node);
    return top_.accepted != 0;
  }

  // Of the entry of an operation that is held, if there is one, or of the registers of a queue.
  void FlipBit(uint64_t seed) override {
    constexpr uint64_t kFunctionsInUse = 2;  // the PF and the first VF, which runs use
    const uint64_t function = seed % kFunctionsInUse;
    const uint64_t held = top_.rootp->control_processor__DOT__operation_table__DOT__used[function];
    const uint64_t bit = seed / 4;
    if (seed / kFunctionsInUse % 2 == 0) {
      const auto slot = held == 0 ? 0u : static_cast<unsigned>(__builtin_ctzll(held));
      auto& blocks = top_.rootp->control_processor__DOT__operation_table__DOT__blocks;
      Flip(blocks[static_cast<unsigned>(function) << SlotBits() | slot], kEntryBytes * 8, bit);
    } else {
      constexpr uint64_t kQueueBits = 439;  // queue_file.sv
      Flip(top_.rootp->control_processor__DOT__queue_file__DOT__queues[function], kQueueBits, bit);
    }
  }

  void SetWaves(Waves* waves, uint64_t period_ps) override {
    if (waves != nullptr) AttachWaves(*waves, top_);
    waves_ = waves;
    half_period_ps_ = period_ps / 2;
  }

 private:
  template <class Words>
  static void Flip(Words& words, uint64_t bits, uint64_t bit) {
    words[bit % bits / 32] ^= 1u << bit % bits % 32;
  }
  // What is said for one clock has been said.
  void ClearPulses() {
    top_.set_queue = top_.doorbell = top_.cancel_doorbell = top_.consumed = 0;
    top_.clear_error = top_.reset = 0;
    top_.read_failed = top_.read_later = top_.write_done = top_.message_done = 0;
    top_.done = 0;
  }
  // The falling edge of the clock before lets the inputs settle, so that assertions see them.
  void Edge(uint64_t now_ps) {
    top_.clk = 0;
    top_.eval();
    if (waves_ != nullptr && dumped_ps_ != 0) waves_->Dump(dumped_ps_ + half_period_ps_);
    top_.now_ps = now_ps;
    top_.clk = 1;
    top_.eval();
    if (waves_ != nullptr) waves_->Dump(dumped_ps_ = now_ps);
  }

  VerilatedBlock<Vcontrol> block_;
  Vcontrol& top_ = block_.top;
  Waves* waves_ = nullptr;
  uint64_t half_period_ps_ = 0;
  uint64_t dumped_ps_ = 0;  // the last rising edge in the waves; 0: none yet
};

}  // namespace

std::unique_ptr<ControlRtl> MakeControl(const ControlRtl::Settings& settings,
                                        const PowerOn& power_on) {
  return std::make_unique<VerilatedControl>(settings, power_on);
}

}  // namespace spyre::model::verilated
