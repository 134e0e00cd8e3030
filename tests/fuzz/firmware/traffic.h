// SPDX-License-Identifier: Apache-2.0
// Random traffic for the firmware: messages that are right, nearly right and noise, requests and
// questions of the PF, resets. The same seed gives the same traffic.
#pragma once

#include <contract/registers.h>

#include <random>
#include <vector>

#include "tests/unit/firmware/fake_card.h"

namespace spyre::firmware {

struct Event {
  enum Kind { kMessage, kRequest, kLetter, kReset };
  Kind kind = kMessage;
  uint32_t function = 0;  // of a message or reset
  Message message;
  Request request;
  uint32_t letter[3] = {};  // command and its arguments
};

class Traffic {
 public:
  // Functions are up to `vfs`, sometimes more; places are up to memory_bytes, sometimes more.
  Traffic(uint64_t seed, const Card& card) : engine_(seed), card_(card) {}

  Event Next() {
    Event event;
    if (OneIn(8)) {
      event.kind = Event::kRequest;
      event.request = NextRequest();
    } else if (OneIn(64)) {
      event.kind = OneIn(2) ? Event::kLetter : Event::kReset;
      event.function = static_cast<uint32_t>(OneIn(8) ? Word() : Below(card_.vfs + 1));
      event.letter[0] = static_cast<uint32_t>(OneIn(8) ? Word() : Below(9));
      for (const int i : {1, 2})
        event.letter[i] = static_cast<uint32_t>(OneIn(8) ? Word() : Below(70));
    } else {
      event.function = static_cast<uint32_t>(1 + Below(card_.vfs));
      event.message = NextMessage();
    }
    return event;
  }

 private:
  uint64_t Word() { return engine_(); }
  uint64_t Below(uint64_t limit) { return Word() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // Near a power of two, near the top, or anything.
  uint64_t Nasty() {
    switch (Below(3)) {
      case 0:
        return (1ull << Below(64)) + Below(3) - 1;
      case 1:
        return ~0ull - Below(1024);
      default:
        return Word();
    }
  }
  uint64_t Sticks(uint64_t limit) { return Below(limit / kEntryBytes) * kEntryBytes; }

  Request NextRequest() {
    Request request;
    request.command = AdminCommand::ASSIGN;
    if (OneIn(2)) request.command = static_cast<AdminCommand>(OneIn(8) ? Word() : 1 + Below(11));
    if (OneIn(4)) request.command = AdminCommand::ENABLE;
    request.vf = static_cast<uint32_t>(OneIn(32) ? Nasty() : 1 + Below(card_.vfs));
    request.region = static_cast<uint32_t>(OneIn(32) ? Nasty() : Below(kFunctionRegions));
    const uint64_t gibs = card_.memory_bytes / kGiB;
    request.range.base = OneIn(16)  ? Nasty()
                         : OneIn(4) ? Sticks(card_.memory_bytes)
                                    : Below(gibs) * kGiB;
    request.range.length = OneIn(16) ? Nasty() : OneIn(4) ? Sticks(16 * kGiB) : kGiB;
    // With small quotas that last, most of the traffic would be refused.
    if (request.command == AdminCommand::SET_REGION_QUOTA ||
        request.command == AdminCommand::SET_TRANSFER_QUOTA)
      request.range.length = OneIn(2) ? 0 : Sticks(2 * kGiB);
    return request;
  }

  Message NextMessage() {
    Message message;
    message.opcode = static_cast<uint8_t>(Below(9));
    message.flags = static_cast<uint16_t>(Below(16));
    message.stream = static_cast<uint32_t>(Word());
    message.sequence = Word();
    message.host_address = Word();
    message.device_region = static_cast<uint32_t>(Below(kFunctionRegions));
    message.program_region = static_cast<uint32_t>(Below(kFunctionRegions));
    message.device_offset = Sticks(kGiB);
    message.program_offset = Sticks(kGiB);
    message.size_bytes = Below(1 << 20);
    message.program_bytes = Below(1 << 20);
    message.value = Word();
    message.correlation = Word();
    if (OneIn(4)) Mutate(&message);
    Seal(message);
    if (OneIn(16)) Damage(&message);
    return message;
  }
  // One field goes wrong; the CRC will be right.
  void Mutate(Message* message) {
    switch (Below(9)) {
      case 0:
        message->opcode = static_cast<uint8_t>(Word());
        break;
      case 1:
        message->flags = static_cast<uint16_t>(Nasty());
        break;
      case 2:
        message->device_region = message->program_region = static_cast<uint32_t>(Nasty());
        break;
      case 3:
        message->device_offset = message->program_offset = Nasty();
        break;
      case 4:
        message->device_offset = message->program_offset = Nasty() & ~127ull;
        break;
      case 5:
        message->size_bytes = message->program_bytes = Nasty();
        break;
      case 6:
        message->reserved0 = static_cast<uint16_t>(Nasty());
        break;
      case 7:
        message->reserved1 = static_cast<uint32_t>(Nasty());
        break;
      default:
        message->reserved2[Below(9)] = static_cast<uint32_t>(Nasty());
        break;
    }
  }
  // Bits flip in memory, or all of it is noise.
  void Damage(Message* message) {
    auto* words = reinterpret_cast<uint8_t*>(message);
    if (OneIn(4)) {
      for (size_t i = 0; i < sizeof(Message); ++i) words[i] = static_cast<uint8_t>(Word());
    } else {
      const uint64_t flips = 1 + Below(3);
      for (uint64_t i = 0; i < flips; ++i)
        words[Below(sizeof(Message))] ^= static_cast<uint8_t>(1 << Below(8));
    }
  }

  std::mt19937_64 engine_;
  const Card card_;
};

}  // namespace spyre::firmware
