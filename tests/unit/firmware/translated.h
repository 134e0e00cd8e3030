// SPDX-License-Identifier: Apache-2.0
// The answer that a message must get, from the contract's own check and the card's MMU: independent
// of the firmware's code and tables.
#pragma once

#include <cstddef>

#include "model/contract/memory_map.h"
#include "tests/unit/firmware/fake_card.h"

namespace spyre::firmware {

// What the PF has set for a function.
struct Limits {
  bool disabled = false;
  uint64_t transfer_quota = 0;  // bytes, 0: none
};

inline MessageAnswer Translated(const FakeCard& card, uint32_t vf, const Message& message,
                                const Limits& limits = {}) {
  MessageAnswer answer;
  if (limits.disabled) {
    answer.status = Status::PERMISSION;
    return answer;
  }
  answer.status = Check(message, &answer.fault);
  if (answer.status != Status::OK) return answer;
  ControlBlock& block = answer.block;
  block.opcode = message.opcode;
  block.function = static_cast<uint16_t>(vf);
  block.flags = message.flags;
  block.stream = message.stream;
  block.sequence = message.sequence;
  block.host_address = message.host_address;
  block.size_bytes = message.size_bytes;
  block.value = message.value;
  block.correlation = message.correlation;
  const auto locate = [&](uint32_t region, uint64_t offset, uint64_t bytes, size_t field) {
    if (region >= kFunctionRegions) {
      answer.fault = field;
      answer.status = Status::BAD_FIELD;
      return uint64_t{0};
    }
    answer.fault = SegmentAddress(region, offset);
    const Range& range = card.region(vf, region);
    if (!IsStickAligned(offset)) {
      answer.status = Status::MISALIGNED;
    } else if (offset > range.length || bytes > range.length - offset) {
      answer.status = Status::PAGE_FAULT;
    }
    return range.base + offset;
  };
  switch (static_cast<Opcode>(message.opcode)) {
    case Opcode::DMA_IN:
    case Opcode::DMA_OUT:
    case Opcode::DMA_FILL:
      block.device_address = locate(message.device_region, message.device_offset,
                                    message.size_bytes, offsetof(Message, device_region));
      if (answer.status == Status::OK && limits.transfer_quota != 0 &&
          message.size_bytes > limits.transfer_quota) {
        answer.status = Status::BAD_FIELD;
        answer.fault = offsetof(Message, size_bytes);
      }
      break;
    case Opcode::COMPUTE:
      block.program_base = locate(message.program_region, message.program_offset,
                                  message.program_bytes, offsetof(Message, program_region));
      block.program_bytes = message.program_bytes;
      block.device_address = message.device_offset;
      break;
    default:
      break;
  }
  answer.has_block = answer.status == Status::OK;
  Seal(block);
  return answer;
}

// Bytes that the firmware writes for an accepted message and the reference's are the same; a
// refused one has no block.
inline bool Same(const MessageAnswer& left, const MessageAnswer& right) {
  return left.status == right.status && left.fault == right.fault &&
         left.has_block == right.has_block &&
         (!left.has_block || std::memcmp(&left.block, &right.block, sizeof(ControlBlock)) == 0);
}

}  // namespace spyre::firmware
