// What the fake card makes of an entry of a ring: a control block of the PF as it is, a message of
// a VF translated. Region r of every VF is physical r * 16 GiB.
#pragma once

#include <array>
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

}  // namespace spyre::test
