// SPDX-License-Identifier: Apache-2.0
#include "cosim/gdb/gdb_packet.h"

#include <fmt/format.h>

namespace spyre::cosim {
namespace {

constexpr uint8_t kEscape = '}';
constexpr uint8_t kEscapeMask = 0x20;
constexpr uint8_t kCtrlC = 0x03;

}  // namespace

int HexDigit(uint8_t character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

void GdbPacketReader::Add(uint8_t byte) {
  if (payload_.size() < kGdbPacketBytes) payload_.push_back(static_cast<char>(byte));
}

GdbPacketReader::Event GdbPacketReader::Push(uint8_t byte) {
  if (byte == '$') {  // also in the middle of a packet, whose end was lost
    state_ = State::kPayload;
    payload_.clear();
    sum_ = 0;
    return Event::kNone;
  }
  switch (state_) {
    case State::kIdle:
      if (byte == kCtrlC) return Event::kInterrupt;
      if (byte == '-') return Event::kResend;
      return Event::kNone;  // '+', and noise
    case State::kPayload:
      if (byte == '#') {
        state_ = State::kChecksumHigh;
        return Event::kNone;
      }
      sum_ = static_cast<uint8_t>(sum_ + byte);
      if (byte == kEscape)
        state_ = State::kEscape;
      else
        Add(byte);
      return Event::kNone;
    case State::kEscape:
      state_ = State::kPayload;
      sum_ = static_cast<uint8_t>(sum_ + byte);
      Add(byte ^ kEscapeMask);
      return Event::kNone;
    case State::kChecksumHigh:
      checksum_ = HexDigit(byte) * 16;
      state_ = State::kChecksumLow;
      return Event::kNone;
    case State::kChecksumLow:
      state_ = State::kIdle;
      const int low = HexDigit(byte);
      return low >= 0 && checksum_ + low == sum_ ? Event::kPacket : Event::kBroken;
  }
  return Event::kNone;
}

std::string GdbPacket(const std::string& payload) {
  std::string body;
  for (const char c : payload) {
    if (c == '$' || c == '#' || c == '*' || c == static_cast<char>(kEscape)) {
      body.push_back(static_cast<char>(kEscape));
      body.push_back(static_cast<char>(c ^ kEscapeMask));
    } else {
      body.push_back(c);
    }
  }
  uint8_t sum = 0;
  for (const char c : body) sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(c));
  return fmt::format("${}#{:02x}", body, sum);
}

}  // namespace spyre::cosim
