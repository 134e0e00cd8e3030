// SPDX-License-Identifier: Apache-2.0
// The registers of the management controller as the firmware sees them, with nothing behind: what
// it writes is kept, requests are put in by hand. Every access that the contract does not allow (no
// such register, written though RO, read though WO) and every request that is answered twice or
// without being asked is counted in violations().
#pragma once

#include <contract/registers.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "model/contract/control_block.h"

namespace spyre::firmware {

constexpr uint64_t kGiB = 1ull << 30;
constexpr uint32_t kAllRequests = regs::MC_PENDING_RESET_MASK | regs::MC_PENDING_MESSAGE_MASK |
                                  regs::MC_PENDING_ADMIN_MASK | regs::MC_PENDING_MAILBOX_MASK |
                                  regs::MC_PENDING_ERROR_MASK;

struct Card {
  uint32_t vfs = 2;
  uint32_t cores = 32;
  uint64_t memory_bytes = 127 * kGiB;
};
struct Range {
  uint64_t base = 0;
  uint64_t length = 0;
  bool operator==(const Range& other) const { return base == other.base && length == other.length; }
};
struct Share {  // of the engines
  uint32_t limit_us = 0;
  uint32_t weight = 0;
  bool stopped = false;
  bool operator==(const Share& other) const {
    return limit_us == other.limit_us && weight == other.weight && stopped == other.stopped;
  }
};
struct MessageAnswer {
  Status status = Status::OK;
  uint64_t fault = 0;
  bool has_block = false;
  ControlBlock block;
};
struct Request {
  AdminCommand command = AdminCommand::ASSIGN;
  uint32_t vf = 1;
  uint32_t region = 0;
  Range range;
};
struct Letter {
  MailboxStatus status = MailboxStatus::DONE;
  std::array<uint32_t, 4> results{};
};

class FakeCard {
 public:
  explicit FakeCard(const Card& card) : card_(card) {}
  virtual ~FakeCard() = default;
  FakeCard(const FakeCard&) = delete;
  FakeCard& operator=(const FakeCard&) = delete;

  // Runs the firmware from its start, or until it has served all that waits.
  virtual void Boot() = 0;
  virtual void Service() = 0;

  // Puts a request in without serving it.
  void Post(uint32_t function, const Message& message) {
    At(regs::MC_MESSAGE_FUNCTION) = function;
    std::memcpy(&At(regs::MC_MESSAGE_IN), &message, sizeof(message));
    block_words_ = 0;
    pending_ |= regs::MC_PENDING_MESSAGE_MASK;
  }
  void Post(const Request& request) {
    At(regs::MC_REQUEST_COMMAND) = static_cast<uint32_t>(request.command);
    At(regs::MC_REQUEST_VF) = request.vf;
    At(regs::MC_REQUEST_REGION) = request.region;
    SetPair(regs::MC_REQUEST_BASE_LO, request.range.base);
    SetPair(regs::MC_REQUEST_LENGTH_LO, request.range.length);
    pending_ |= regs::MC_PENDING_ADMIN_MASK;
  }
  void PostReset(uint32_t function) {
    At(regs::MC_RESET_FUNCTION) = function;
    pending_ |= regs::MC_PENDING_RESET_MASK;
  }
  void PostError(RasCode code, RasSeverity severity, uint32_t function, uint32_t detail0,
                 uint32_t detail1) {
    At(regs::MC_ERROR_WHAT) = static_cast<uint32_t>(code) << 16 | static_cast<uint32_t>(severity)
                                                                      << 8;
    At(regs::MC_ERROR_FUNCTION) = function;
    At(regs::MC_ERROR_DETAIL0) = detail0;
    At(regs::MC_ERROR_DETAIL1) = detail1;
    SetPair(regs::MC_ERROR_TIME_LO, time_ps_);
    pending_ |= regs::MC_PENDING_ERROR_MASK;
  }
  void PostLetter(uint32_t command, uint32_t arg0 = 0, uint32_t arg1 = 0) {
    At(regs::MC_LETTER_COMMAND) = command;
    At(regs::MC_LETTER_ARG0) = arg0;
    At(regs::MC_LETTER_ARG1) = arg1;
    pending_ |= regs::MC_PENDING_MAILBOX_MASK;
  }

  // Puts a request in, has it served and returns the answer.
  MessageAnswer Send(uint32_t function, const Message& message) {
    Post(function, message);
    Service();
    return Answer();
  }
  AdminStatus Ask(const Request& request) {
    Post(request);
    Service();
    return static_cast<AdminStatus>(At(regs::MC_REQUEST_DONE));
  }
  AdminStatus Ask(AdminCommand command, uint32_t vf, uint32_t region = 0, Range range = {}) {
    return Ask(Request{command, vf, region, range});
  }
  void Reset(uint32_t function) {
    PostReset(function);
    Service();
  }
  Letter Mail(MailboxCommand command, uint32_t arg0 = 0, uint32_t arg1 = 0) {
    PostLetter(static_cast<uint32_t>(command), arg0, arg1);
    Service();
    Letter letter{static_cast<MailboxStatus>(At(regs::MC_LETTER_DONE)), {}};
    for (uint32_t i = 0; i < 4; ++i) letter.results[i] = At(regs::MC_LETTER_RESULT0 + 4 * i);
    return letter;
  }
  uint64_t CounterOf(Counter counter) {
    return Value(Mail(MailboxCommand::GET_COUNTER, static_cast<uint32_t>(counter)));
  }
  uint64_t CounterOf(Counter counter, uint32_t function) {
    return Value(
        Mail(MailboxCommand::GET_FUNCTION_COUNTER, static_cast<uint32_t>(counter), function));
  }

  // To the last message.
  MessageAnswer Answer() const {
    MessageAnswer answer{static_cast<Status>(At(regs::MC_MESSAGE_STATUS)),
                         Pair(regs::MC_MESSAGE_FAULT_LO),
                         block_words_ == ~0u,
                         {}};
    if (answer.has_block) {
      std::memcpy(static_cast<void*>(&answer.block), &registers_[Index(regs::MC_BLOCK_OUT)],
                  sizeof(ControlBlock));
    }
    return answer;
  }

  void SetTime(uint64_t ps) { time_ps_ = ps; }

  FirmwareState state() const { return static_cast<FirmwareState>(At(regs::MC_STATE)); }
  uint32_t Register(uint32_t address) const { return At(address); }
  const std::string& log() const { return log_; }
  const Range& region(uint32_t function, uint32_t index) const { return regions_[function][index]; }
  uint32_t cores(uint32_t function) const { return cores_[function]; }
  const Share& share(uint32_t function) const { return shares_[function]; }
  uint32_t pending() const { return pending_; }
  uint64_t answers() const { return answers_; }
  uint64_t violations() const { return violations_; }
  // Base and length of what was cleared, in order.
  const std::vector<std::pair<uint64_t, uint64_t>>& scrubbed() const { return scrubbed_; }
  // Commands that changed the MMU or the cores of a function.
  uint64_t protection_commands() const { return protection_commands_; }
  // Bits of MC_PENDING in the order in which they were answered.
  const std::vector<uint32_t>& order() const { return order_; }
  const std::vector<uint32_t>& watchdog() const { return watchdog_; }

  // What the firmware does.
  uint32_t Read(uint32_t address) {
    switch (address) {
      case regs::MC_VFS:
        return card_.vfs;
      case regs::MC_CORES:
        return card_.cores;
      case regs::MC_MEMORY_LO:
        return static_cast<uint32_t>(card_.memory_bytes);
      case regs::MC_MEMORY_HI:
        return static_cast<uint32_t>(card_.memory_bytes >> 32);
      case regs::MC_PENDING:
        return pending_;
      case regs::MC_TIME_LO:
        latched_time_ps_ = time_ps_;
        return static_cast<uint32_t>(latched_time_ps_);
      case regs::MC_TIME_HI:
        return static_cast<uint32_t>(latched_time_ps_ >> 32);
      case regs::MC_MESSAGE_CRC:
        return Crc32c(&At(regs::MC_MESSAGE_IN), offsetof(Message, crc));
      case regs::MC_BLOCK_CRC:
        return Crc32c(&At(regs::MC_BLOCK_OUT), offsetof(ControlBlock, crc));
      default:
        break;
    }
    const bool request =
        (address >= regs::MC_MESSAGE_FUNCTION && address < regs::MC_REGION_FUNCTION) ||
        address >= regs::MC_ERROR_WHAT;
    if (!IsRegister(address) || !request || InEntry(address, regs::MC_BLOCK_OUT)) {
      ++violations_;
      return 0;
    }
    return At(address);
  }

  void Write(uint32_t address, uint32_t value) {
    if (!IsRegister(address)) {
      ++violations_;
      return;
    }
    At(address) = value;
    if (InEntry(address, regs::MC_BLOCK_OUT)) {
      block_words_ |= 1u << ((address - regs::MC_BLOCK_OUT) / 4);
      return;
    }
    switch (address) {
      case regs::MC_STATE:
      case regs::MC_VERSION:
      case regs::MC_CAPABILITIES:
      case regs::MC_HEARTBEAT:
      case regs::MC_MESSAGE_STATUS:
      case regs::MC_MESSAGE_FAULT_LO:
      case regs::MC_MESSAGE_FAULT_HI:
      case regs::MC_LETTER_RESULT0:
      case regs::MC_LETTER_RESULT1:
      case regs::MC_LETTER_RESULT2:
      case regs::MC_LETTER_RESULT3:
      case regs::MC_REGION_FUNCTION:
      case regs::MC_REGION_INDEX:
      case regs::MC_REGION_BASE_LO:
      case regs::MC_REGION_BASE_HI:
      case regs::MC_REGION_LENGTH_LO:
      case regs::MC_REGION_LENGTH_HI:
      case regs::MC_SCRUB_BASE_LO:
      case regs::MC_SCRUB_BASE_HI:
      case regs::MC_SCRUB_LENGTH_LO:
      case regs::MC_SCRUB_LENGTH_HI:
      case regs::MC_CORE_MASK:
      case regs::MC_TIME_LIMIT:
      case regs::MC_WEIGHT:
      case regs::MC_STOPPED:
      case regs::MC_PANIC_PC:
      case regs::MC_PANIC_VALUE:
      case regs::MC_PANIC:
        return;
      case regs::MC_WATCHDOG:
        watchdog_.push_back(value);
        if (watchdog_.size() > 64) watchdog_.erase(watchdog_.begin(), watchdog_.begin() + 32);
        return;
      case regs::MC_LOG:
        log_ += static_cast<char>(value);
        return;
      case regs::MC_MESSAGE_DONE:
        return Finish(regs::MC_PENDING_MESSAGE_MASK);
      case regs::MC_REQUEST_DONE:
        return Finish(regs::MC_PENDING_ADMIN_MASK);
      case regs::MC_RESET_DONE:
        return Finish(regs::MC_PENDING_RESET_MASK);
      case regs::MC_LETTER_DONE:
        return Finish(regs::MC_PENDING_MAILBOX_MASK);
      case regs::MC_ERROR_DONE:
        return Finish(regs::MC_PENDING_ERROR_MASK);
      case regs::MC_REGION_SET:
        return SetRegion();
      case regs::MC_SCRUB:
        scrubbed_.emplace_back(Pair(regs::MC_SCRUB_BASE_LO), Pair(regs::MC_SCRUB_LENGTH_LO));
        return;
      case regs::MC_SHARE_SET:
        if (At(regs::MC_REGION_FUNCTION) < kMaxFunctions) {
          shares_[At(regs::MC_REGION_FUNCTION)] = {At(regs::MC_TIME_LIMIT), At(regs::MC_WEIGHT),
                                                   At(regs::MC_STOPPED) != 0};
          return;
        }
        break;
      case regs::MC_CORE_MASK_SET:
        ++protection_commands_;
        if (At(regs::MC_REGION_FUNCTION) < kMaxFunctions) {
          cores_[At(regs::MC_REGION_FUNCTION)] = At(regs::MC_CORE_MASK);
          return;
        }
        break;
      default:
        break;
    }
    ++violations_;
  }

 private:
  static constexpr uint32_t kBlocks = 7;
  static constexpr uint32_t kBlockWords = 1024;
  static uint64_t Value(const Letter& letter) {
    return static_cast<uint64_t>(letter.results[1]) << 32 | letter.results[0];
  }
  static size_t Index(uint32_t address) { return (address - regs::MC_STATE) / 4; }
  uint32_t& At(uint32_t address) { return registers_[Index(address)]; }
  uint32_t At(uint32_t address) const { return registers_[Index(address)]; }
  uint64_t Pair(uint32_t address) const {
    return static_cast<uint64_t>(At(address + 4)) << 32 | At(address);
  }
  void SetPair(uint32_t address, uint64_t value) {
    At(address) = static_cast<uint32_t>(value);
    At(address + 4) = static_cast<uint32_t>(value >> 32);
  }
  static bool InEntry(uint32_t address, uint32_t entry) {
    return address >= entry && address < entry + kEntryBytes;
  }
  static bool IsRegister(uint32_t address) {
    return address >= regs::MC_STATE && address % 4 == 0 && Index(address) < kBlocks * kBlockWords;
  }

  void Finish(uint32_t bit) {
    if ((pending_ & bit) == 0) ++violations_;
    pending_ &= ~bit;
    ++answers_;
    if (order_.size() < 64) order_.push_back(bit);
  }
  void SetRegion() {
    ++protection_commands_;
    const uint32_t function = At(regs::MC_REGION_FUNCTION);
    const uint32_t index = At(regs::MC_REGION_INDEX);
    if (function == 0 || function > card_.vfs || index >= kFunctionRegions) {
      ++violations_;
      return;
    }
    regions_[function][index] = {Pair(regs::MC_REGION_BASE_LO), Pair(regs::MC_REGION_LENGTH_LO)};
  }

  const Card card_;
  std::array<uint32_t, kBlocks * kBlockWords> registers_{};
  std::array<std::array<Range, kFunctionRegions>, kMaxFunctions> regions_{};
  std::array<uint32_t, kMaxFunctions> cores_{};
  std::array<Share, kMaxFunctions> shares_{};
  uint64_t time_ps_ = 0, latched_time_ps_ = 0;
  uint32_t pending_ = 0;
  uint32_t block_words_ = 0;  // bit i: word i of the block was written
  uint64_t answers_ = 0;
  uint64_t violations_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> scrubbed_;
  uint64_t protection_commands_ = 0;
  std::string log_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> watchdog_;
};

}  // namespace spyre::firmware
