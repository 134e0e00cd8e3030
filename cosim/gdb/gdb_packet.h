// SPDX-License-Identifier: Apache-2.0
// Framing of GDB's remote serial protocol: $payload#checksum, acknowledgements, interrupts. No
// sockets here: bytes in, events out. Must not be used by several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace spyre::cosim {

constexpr size_t kGdbPacketBytes = 4096;  // longest payload in either direction, as sent

class GdbPacketReader {
 public:
  enum class Event {
    kNone,
    kPacket,     // payload() is complete
    kBroken,     // a packet whose checksum is wrong
    kResend,     // the other side asks for the last packet again
    kInterrupt,  // Ctrl-C
  };
  // Takes one byte of the stream.
  Event Push(uint8_t byte);
  // Of the last kPacket, with escapes undone. What goes beyond kGdbPacketBytes is cut off, which no
  // command survives: its length no longer fits.
  const std::string& payload() const { return payload_; }

 private:
  enum class State { kIdle, kPayload, kEscape, kChecksumHigh, kChecksumLow };
  void Add(uint8_t byte);

  State state_ = State::kIdle;
  std::string payload_;
  uint8_t sum_ = 0;
  int checksum_ = 0;  // as sent; negative: not hexadecimal
};

// $payload#checksum with what must be escaped escaped.
std::string GdbPacket(const std::string& payload);

// The value of a hexadecimal digit, or -1.
int HexDigit(uint8_t character);

}  // namespace spyre::cosim
