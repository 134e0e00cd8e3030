// SPDX-License-Identifier: Apache-2.0
// What the fake card makes of an entry of a ring: a control block of the PF as it is, a message of
// a VF translated. Region r of every VF is physical r * 16 GiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "driver/transport.h"
#include "model/contract/control_block.h"
#include "model/contract/memory_map.h"

namespace spyre::test {

// Bytes of each region of a VF.
using FakeRegions = std::array<uint64_t, kRegions>;

inline Status InRegion(const FakeRegions& regions, uint32_t region, uint64_t offset,
                       uint64_t size) {
  const bool inside =
      region < kRegions && offset <= regions[region] && size <= regions[region] - offset;
  return inside ? Status::OK : Status::PAGE_FAULT;
}

// entry: 128 bytes.
inline Status TranslateEntry(const FakeRegions& regions, driver::FunctionId function,
                             const uint8_t* entry, ControlBlock* block) {
  if (function == 0) {
    std::memcpy(block, entry, sizeof(*block));
    return Check(*block);
  }
  Message message;
  std::memcpy(&message, entry, sizeof(message));
  block->opcode = message.opcode;
  block->flags = message.flags;
  block->stream = message.stream;
  block->sequence = message.sequence;
  block->correlation = message.correlation;
  block->host_address = message.host_address;
  block->size_bytes = message.size_bytes;
  block->value = message.value;
  block->program_bytes = message.program_bytes;
  const Status status = Check(message);
  if (status != Status::OK) return status;
  if (static_cast<Opcode>(message.opcode) == Opcode::COMPUTE) {
    block->device_address = message.device_offset;
    block->program_base = SegmentAddress(message.program_region, message.program_offset);
    return InRegion(regions, message.program_region, message.program_offset, message.program_bytes);
  }
  block->device_address = SegmentAddress(message.device_region, message.device_offset);
  return InRegion(regions, message.device_region, message.device_offset, message.size_bytes);
}

// As a card does: the driver's thread may read the slot meanwhile, and takes what is there when the
// phase is. slot: 128 bytes of a response ring.
inline void StoreResponse(uint8_t* slot, const Response& response) {
  std::array<uint32_t, sizeof(response) / sizeof(uint32_t)> words;
  std::memcpy(words.data(), &response, sizeof(response));
  auto* const to = reinterpret_cast<uint32_t*>(slot);
  constexpr size_t kPhase = offsetof(Response, phase) / sizeof(uint32_t);
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != kPhase) __atomic_store_n(to + i, words[i], __ATOMIC_RELAXED);
  }
  __atomic_store_n(to + kPhase, words[kPhase], __ATOMIC_RELEASE);
}

}  // namespace spyre::test
