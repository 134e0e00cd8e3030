// SPDX-License-Identifier: Apache-2.0
// The submission and response rings of one function.
//
// Owner and caller: Device, and through it the runtime's Scheduler; calls are serialised by them.
// Submitting never waits, except Submit. Ring memory is host memory, so looking at the response
// ring costs no bus access; the doorbells do. Entries get their sequence number, the INTERRUPT flag
// (if the device uses interrupts), and their CRC here.
//
// Memory order: entries are visible to the card before the doorbell; a response is read from its
// phase on, and read again for DeviceOptions::torn_wait_ns while its CRC does not match, because
// its two cache lines may arrive apart.
//
// Errors: Error(kDeviceFault) when a response is corrupt or out of order, when the card has stopped
// the queue, or when no response comes in time; the text ends with the transport's diagnosis.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>

#include "driver/function_registers.h"
#include "driver/host_buffer.h"
#include "driver/options.h"
#include "driver/transport.h"

namespace spyre::driver {

// PF functions take control blocks, VFs messages.
using Entry = std::variant<ControlBlock, Message>;

struct QueueStatistics {
  uint64_t submitted = 0;
  uint64_t completed = 0;
  uint64_t submission_doorbells = 0;
  uint64_t response_doorbells = 0;
  uint64_t full = 0;               // times there was no room for an entry
  uint64_t interrupts = 0;         // waits that an interrupt ended
  uint64_t missed_interrupts = 0;  // waits that ended with a response although no interrupt came
  uint64_t torn_responses = 0;     // read again, because their second half had not arrived
  uint64_t polls = 0;              // looks at the response ring that found nothing
};

class QueuePair {
 public:
  // Programs the ring registers and enables the queue. in_order: the card completes in the order of
  // submission, but for operations that a wait for an event holds.
  QueuePair(Transport& transport, FunctionId function, const DeviceOptions& options, bool in_order);
  ~QueuePair();  // disables the queue; never throws
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // For one more entry. Responses tell how far the card has read, so this costs no bus access.
  bool HasRoom();
  // Stores one entry; the card sees it at the next RingDoorbell. False: the ring is full. `entry`
  // gets its sequence number, flags and CRC. BadInput if the entry is of the other mode.
  bool TrySubmit(Entry& entry);
  // As TrySubmit, but waits for room; responses that arrive meanwhile are kept for Poll.
  void Submit(Entry& entry);
  void RingDoorbell();  // writes a register once for all entries stored since the last call, if any

  std::optional<Response> Poll();  // the next response, if the card has written one
  Response Wait();                 // the next response; BadInput if nothing is outstanding

  size_t outstanding() const {
    return outstanding_.size();
  }  // submitted, response not yet consumed
  const QueueStatistics& statistics() const { return statistics_; }

 private:
  struct Pending {
    uint64_t sequence;
    bool waits;  // for an event
    bool done;
  };

  std::optional<Response> TakeFromRing();
  Response ReadSlot(uint64_t index) const;
  bool HasResponse() const;  // in the ring, not taken
  WaitResult WaitForInterrupt(uint64_t timeout_ps);
  void CheckOrder(const Response& response);
  void PublishHead();
  void WaitForRing();  // returns when the ring may have changed
  void Charge(double ns);
  // The same, as a slice of the trace.
  void ChargeFor(trace::NameId name, double ns, uint64_t correlation);
  [[noreturn]] void Fail(const std::string& what);

  Transport& transport_;
  FunctionId function_;
  FunctionRegisters registers_;
  DeviceOptions options_;
  bool in_order_;
  HostBuffer submission_;
  HostBuffer response_;
  uint64_t tail_ = 0;            // entries stored, free running
  uint64_t rung_tail_ = 0;       // of which the card was told
  uint64_t known_head_ = 0;      // entries that the card has read, as responses tell
  uint64_t response_head_ = 0;   // responses taken, free running
  uint64_t published_head_ = 0;  // of which the card was told
  uint64_t next_sequence_ = 1;   // the card counts from 1 after enabling
  uint64_t waited_ps_ = 0;       // in WaitForRing since the last response
  std::deque<Pending> outstanding_;
  std::deque<Response> kept_;  // taken by Submit, not yet given to Poll
  QueueStatistics statistics_;
  trace::TrackId track_ = 0;
  trace::NameId doorbell_name_ = 0;
  trace::NameId wait_name_ = 0, submit_name_ = 0, response_name_ = 0;
};

}  // namespace spyre::driver
