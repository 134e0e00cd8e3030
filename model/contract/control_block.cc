// SPDX-License-Identifier: Apache-2.0
// Sealing and checking of queue entries.
#include "model/contract/control_block.h"

#include <algorithm>
#include <iterator>

namespace spyre {
namespace {

constexpr uint16_t kDefinedFlags = kFlagInterrupt | kFlagBarrier | kFlagTimingOnly | kFlagPrepare;

uint16_t MagicOf(const ControlBlock&) { return kControlBlockMagic; }
uint16_t MagicOf(const Message&) { return kMessageMagic; }
uint16_t MagicOf(const Response&) { return kResponseMagic; }

template <class Entry>
uint32_t CrcOf(const Entry& entry) {
  return Crc32c(&entry, offsetof(Entry, crc));
}

template <class Entry>
void SealEntry(Entry& entry) {
  entry.magic = MagicOf(entry);
  entry.version = kLayoutVersion;
  entry.crc = CrcOf(entry);
}

template <class Entry>
Status CheckEnvelope(const Entry& entry) {
  if (entry.magic != MagicOf(entry) || entry.version != kLayoutVersion) return Status::BAD_VERSION;
  return entry.crc == CrcOf(entry) ? Status::OK : Status::BAD_CRC;
}

// Finds the first field, in the order of the calls, that must be 0 and is not.
class ReservedFields {
 public:
  void MustBeZero(uint64_t value, size_t offset) {
    if (value == 0 || bad_) return;
    bad_ = true;
    bad_offset_ = offset;
  }
  template <class T, size_t N>
  void MustBeZero(const T (&values)[N], size_t offset) {
    for (size_t i = 0; i < N; ++i) MustBeZero(values[i], offset + i * sizeof(T));
  }
  Status Result(uint64_t* bad_offset) const {
    if (!bad_) return Status::OK;
    if (bad_offset != nullptr) *bad_offset = bad_offset_;
    return Status::BAD_FIELD;
  }

 private:
  bool bad_ = false;
  size_t bad_offset_ = 0;
};

bool IsDefined(uint8_t opcode) {
  return std::any_of(std::begin(kOpcodeNames), std::end(kOpcodeNames), [&](const auto& entry) {
    return static_cast<uint8_t>(entry.value) == opcode;
  });
}

template <class E, size_t N>
const char* NameOf(E value, const EnumName<E> (&names)[N]) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "UNDEFINED";
}

}  // namespace

void Seal(ControlBlock& entry) { SealEntry(entry); }
void Seal(Message& entry) { SealEntry(entry); }
void Seal(Response& entry) { SealEntry(entry); }

Status Check(const ControlBlock& entry, uint64_t* bad_offset) {
  const Status envelope = CheckEnvelope(entry);
  if (envelope != Status::OK) return envelope;
  if (!IsDefined(entry.opcode)) return Status::BAD_OPCODE;
  ReservedFields reserved;
  reserved.MustBeZero(entry.flags & ~kDefinedFlags, offsetof(ControlBlock, flags));
  reserved.MustBeZero(entry.reserved0, offsetof(ControlBlock, reserved0));
  reserved.MustBeZero(entry.reserved1, offsetof(ControlBlock, reserved1));
  return reserved.Result(bad_offset);
}

Status Check(const Message& entry, uint64_t* bad_offset) {
  const Status envelope = CheckEnvelope(entry);
  if (envelope != Status::OK) return envelope;
  if (!IsDefined(entry.opcode)) return Status::BAD_OPCODE;
  ReservedFields reserved;
  reserved.MustBeZero(entry.reserved0, offsetof(Message, reserved0));
  reserved.MustBeZero(entry.flags & ~kDefinedFlags, offsetof(Message, flags));
  reserved.MustBeZero(entry.reserved1, offsetof(Message, reserved1));
  reserved.MustBeZero(entry.reserved2, offsetof(Message, reserved2));
  return reserved.Result(bad_offset);
}

Status Check(const Response& entry) { return CheckEnvelope(entry); }

const char* StatusName(Status status) { return NameOf(status, kStatusNames); }
const char* OpcodeName(Opcode opcode) { return NameOf(opcode, kOpcodeNames); }

}  // namespace spyre
