// SPDX-License-Identifier: Apache-2.0
// The rings of one function, driven by hand and not by the driver, so that a test can put any bytes
// into them. One user; the transport and the queue end together. The function's memory and
// bus-master bits must be on.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.h"
#include "bringup/ladder/board.h"
#include "driver/function_registers.h"
#include "driver/host_buffer.h"
#include "model/contract/control_block.h"

namespace spyre::bringup {

class RawQueue {
 public:
  static constexpr size_t kEntryBytes = 128;

  RawQueue(driver::Transport& transport, driver::FunctionId function,
           uint32_t submission_entries = 16, uint32_t response_entries = 16)
      : transport_(transport),
        registers_(driver::Bar0{&transport, function}),
        submission_(transport, function, submission_entries * kEntryBytes),
        response_(transport, function, response_entries * kEntryBytes) {
    ++queues_;
    Start();
  }
  ~RawQueue() {
    --queues_;
    try {
      registers_.WriteQueueControl(0);
    } catch (const Error&) {
      // The card is gone, and its queues with it.
    }
  }
  RawQueue(const RawQueue&) = delete;
  RawQueue& operator=(const RawQueue&) = delete;

  // Resets the function's queue and starts it with empty rings.
  void Start() {
    registers_.WriteQueueControl(0);
    registers_.WriteControl(1);
    registers_.ReadStatus();  // its completion comes behind every response still on its way
    tail_ = consumed_ = rung_ = 0;
    std::memset(submission_.data(), 0, submission_.size());
    std::memset(response_.data(), 0, response_.size());
    registers_.WriteSqBase(submission_.io_address());
    registers_.WriteSqEntries(submission_entries());
    registers_.WriteRqBase(response_.io_address());
    registers_.WriteRqEntries(response_entries());
    registers_.WriteQueueControl(1);
  }

  // A sealed operation with the sequence number that is due. Entry: ControlBlock or Message.
  template <typename Entry>
  Entry Make(Opcode opcode, uint32_t stream = 0) const {
    Entry entry{};
    entry.opcode = static_cast<uint8_t>(opcode);
    entry.stream = stream;
    entry.sequence = static_cast<uint64_t>(tail_) + 1;
    Seal(entry);
    return entry;
  }
  // Stores the entry as it is.
  template <typename Entry>
  void PutRaw(const Entry& entry) {
    static_assert(sizeof(Entry) == kEntryBytes);
    const size_t slot = tail_++ % submission_entries();
    std::memcpy(submission_.data() + slot * kEntryBytes, &entry, kEntryBytes);
  }
  // Stores the entry with the sequence number that is due, sealed.
  template <typename Entry>
  void Put(Entry entry) {
    entry.sequence = static_cast<uint64_t>(tail_) + 1;
    Seal(entry);
    PutRaw(entry);
  }
  void Ring() {
    if (rung_ == consumed_) first_ = static_cast<uint64_t>(rung_) + 1;
    rung_ = tail_;
    registers_.WriteSqTail(tail_);
  }

  // Responses that have arrived since the last call, in ring order; tells the card that they are
  // taken.
  std::vector<Response> Take() {
    std::vector<Response> taken;
    for (;;) {
      Response next = ReadSlot(consumed_ % response_entries());
      const uint32_t phase = consumed_ / response_entries() % 2 == 0 ? 1 : 0;
      if (next.magic == 0 || next.phase != phase) break;
      // The two halves of a response may arrive apart.
      int looks = 0;
      for (; looks < kTornLooks && Check(next) != Status::OK; ++looks) {
        transport_.Advance(kTornLookPs);
        next = ReadSlot(consumed_ % response_entries());
      }
      EXPECT_EQ(Check(next), Status::OK) << "response " << consumed_ << " is sealed";
      NoteMargins(next, looks > 0);
      taken.push_back(next);
      ++consumed_;
    }
    if (!taken.empty()) registers_.WriteRqHead(consumed_);
    return taken;
  }
  // Lets the card work for `ps`, then takes what has arrived: status by sequence number.
  std::map<uint64_t, Status> Settle(uint64_t ps = 200'000'000) {
    // Looks often at first, which is when responses come: halves of one show only then.
    std::vector<Response> taken;
    for (int look = 0; look < kEarlyLooks && taken.empty(); ++look) {
      transport_.Advance(kEarlyLookPs);
      taken = Take();
    }
    transport_.Advance(ps);
    for (const Response& response : Take()) taken.push_back(response);
    std::map<uint64_t, Status> result;
    for (const Response& response : taken)
      result[response.sequence] = static_cast<Status>(response.status);
    return result;
  }

  driver::FunctionRegisters& registers() { return registers_; }
  uint32_t submitted() const { return tail_; }
  uint32_t answered() const { return consumed_; }
  // false: a test has written other values to the registers of the response ring.
  bool HasItsResponseRing() {
    return registers_.ReadRqBase() == response_.io_address() &&
           registers_.ReadRqEntries() == response_entries();
  }
  uint32_t submission_entries() const {
    return static_cast<uint32_t>(submission_.size() / kEntryBytes);
  }
  uint32_t response_entries() const {
    return static_cast<uint32_t>(response_.size() / kEntryBytes);
  }

 private:
  static constexpr uint64_t kLongFetchPs = 5'000'000;
  static constexpr int kEarlyLooks = 40, kTornLooks = 100;
  static constexpr uint64_t kEarlyLookPs = 200'000;
  static constexpr uint64_t kTornLookPs = 10'000'000;

  // Where time passes by itself, the host may look in the middle of a write.
  void NoteMargins(const Response& response, bool was_torn) const {
    std::vector<std::string>& margins = CurrentNotes().margins;
    if (was_torn && !TheBoard().backend().time_passes)
      margins.push_back(fmt::format("response {} came in two halves", response.sequence));
    // Of a card that has nothing else to do.
    if (response.sequence == first_ && queues_ == 1 &&
        response.fetched_ps > response.queued_ps + kLongFetchPs) {
      margins.push_back(
          fmt::format("the card had the entry {:.1f} us after its doorbell",
                      static_cast<double>(response.fetched_ps - response.queued_ps) * 1e-6));
    }
  }
  Response ReadSlot(size_t slot) const {
    static_assert(sizeof(Response) == kEntryBytes);
    Response response;
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(&response, response_.data() + slot * kEntryBytes, kEntryBytes);
    return response;
  }

  driver::Transport& transport_;
  driver::FunctionRegisters registers_;
  driver::HostBuffer submission_, response_;
  uint32_t tail_ = 0;
  uint32_t consumed_ = 0;
  uint32_t rung_ = 0;             // entries of which the card knows
  inline static int queues_ = 0;  // that there are
  uint64_t first_ = 0;  // sequence of the first one that the card got when it had no other
};

}  // namespace spyre::bringup
