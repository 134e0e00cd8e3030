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

const char* StatusName(Status status);
const char* OpcodeName(Opcode opcode);

}  // namespace spyre
