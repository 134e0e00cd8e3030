// SPDX-License-Identifier: Apache-2.0
// A driver of one's own: from the contract (registers, queue entries) and a Transport, without the
// driver of this project. It copies between host memory and the memory of the card, one operation
// at a time, and waits for the interrupt of each.
#pragma once

#include <contract/register_access.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/transport.h"
#include "model/contract/control_block.h"

class CopyDriver {
 public:
  // Takes the physical function, and makes the first `device_bytes` of the card's memory reachable.
  // Throws std::runtime_error if the card is not one that it knows.
  CopyDriver(spyre::driver::Transport& transport, uint64_t device_bytes);
  ~CopyDriver();
  CopyDriver(const CopyDriver&) = delete;
  CopyDriver& operator=(const CopyDriver&) = delete;

  // Throw std::runtime_error with the status of the card.
  void ToCard(const void* host, uint64_t device, size_t bytes);
  void FromCard(void* host, uint64_t device, size_t bytes);

 private:
  struct Bar0 {  // for the generated accessors
    spyre::driver::Transport& transport;
    uint32_t Read(uint32_t offset) { return transport.Read32(0, 0, offset); }
    void Write(uint32_t offset, uint32_t value) { transport.Write32(0, 0, offset, value); }
  };
  void EnableInterrupts();
  void Copy(spyre::Opcode opcode, void* host, uint64_t device, size_t bytes);

  static constexpr uint32_t kEntries = 16;
  spyre::driver::Transport& transport_;
  spyre::driver::RegisterAccess<Bar0> registers_;
  std::vector<spyre::ControlBlock> submission_{kEntries};
  std::vector<spyre::Response> responses_{kEntries};
  spyre::driver::IoAddress submission_address_, responses_address_;
  uint32_t count_ = 0;  // operations so far
};
