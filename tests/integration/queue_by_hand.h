// SPDX-License-Identifier: Apache-2.0
// The PF's queue run by hand, entry by entry, for tests of the control processor and of what the
// host answers to it.
#pragma once

#include <optional>
#include <vector>

#include "driver/function_registers.h"
#include "model/contract/control_block.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test {

// Over both kinds of block: card.control.fidelity.
class QueueByHand : public CardFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr uint32_t kSubmissionEntries = 16;

  QueueByHand() { config_.control.fidelity = test::Named(GetParam()); }

  // Takes the PF's queue from the driver and runs it by hand.
  void OpenByHand(uint32_t response_entries = 16) {
    transport_ =
        std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, &*recorder_);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    driver::PhysicalFunction(*admin_).MapRange(0, 1 << 20, kPermissionRead | kPermissionWrite);
    registers_.emplace(driver::Bar0{transport_.get(), 0});
    registers_->WriteQueueControl(0);
    submission_.assign(kSubmissionEntries, {});
    response_.assign(response_entries, {});
    Program();
  }
  void Program() {
    registers_->WriteControl(1);
    registers_->WriteSqBase(
        transport_->MapHost(0, submission_.data(), submission_.size() * sizeof(ControlBlock)));
    registers_->WriteSqEntries(kSubmissionEntries);
    registers_->WriteRqBase(
        transport_->MapHost(0, response_.data(), response_.size() * sizeof(Response)));
    registers_->WriteRqEntries(static_cast<uint32_t>(response_.size()));
    registers_->WriteQueueControl(1);
    tail_ = 0;
  }
  ControlBlock Block(Opcode opcode, uint32_t stream = 0) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.stream = stream;
    block.sequence = tail_ + 1;
    Seal(block);
    return block;
  }
  void Put(const ControlBlock& block) { submission_[tail_++ % kSubmissionEntries] = block; }
  void Ring() { registers_->WriteSqTail(tail_); }
  void Settle() { transport_->Advance(100'000'000); }  // 100 us of simulated time
  const Response& At(uint32_t index) { return response_[index % response_.size()]; }
  Status StatusAt(uint32_t index) {
    EXPECT_EQ(Check(At(index)), Status::OK) << "response " << index << " is sealed";
    return static_cast<Status>(At(index).status);
  }

  std::optional<driver::FunctionRegisters> registers_;
  std::vector<ControlBlock> submission_;
  std::vector<Response> response_;
  uint32_t tail_ = 0;
};

}  // namespace spyre::test
