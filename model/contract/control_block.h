// SPDX-License-Identifier: Apache-2.0
// Queue entries: sealing and checking control blocks, VF messages and responses. Layouts are
// generated from registers.toml (contract/registers.h): structs ControlBlock, Message, Response,
// enums Opcode, Status.
#pragma once

#include <contract/registers.h>

#include <cstddef>
#include <cstdint>

namespace spyre {

// CRC-32C (Castagnoli, reflected, initial and final XOR all ones). crc: result of an earlier call,
// to continue.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

// Sets magic, version and CRC. Entry is ControlBlock, Message or Response.
void Seal(ControlBlock& entry);
void Seal(Message& entry);
void Seal(Response& entry);

// OK, BAD_VERSION or BAD_CRC; for operations also BAD_OPCODE and BAD_FIELD (a reserved field is not
// 0; *bad_offset is its byte offset).
Status Check(const ControlBlock& entry, uint64_t* bad_offset = nullptr);
Status Check(const Message& entry, uint64_t* bad_offset = nullptr);
Status Check(const Response& entry);

// `value` of EVENT_SIGNAL and EVENT_WAIT: a slot of the function, below kEventSlots, and how far
// its counter has to be, below 2^56. Every counter is 0 after a reset.
constexpr uint64_t EventValue(uint32_t slot, uint64_t counter) { return counter << 8 | slot; }
constexpr uint32_t EventSlot(uint64_t value) { return static_cast<uint32_t>(value % kEventSlots); }
constexpr uint64_t EventCounter(uint64_t value) { return value / kEventSlots; }
static_assert(kEventSlots == 1u << 8);

const char* StatusName(Status status);
const char* OpcodeName(Opcode opcode);

}  // namespace spyre
