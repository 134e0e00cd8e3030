// SPDX-License-Identifier: Apache-2.0
// The Scheduler: takes control blocks from all streams and serialises them onto the device's ring
// (the runtime RFC). It knows streams, operations, events and responses; it knows no tensors.
//
// Owner: RuntimeContext. Threads: every call is made under the runtime's lock. Callbacks are called
// by the thread that sees what they wait for, one at a time, with the lock given up; meanwhile
// other threads may enqueue, and those that wait for the card wait for the callback. QueueOperation
// never waits: what finds no room in the ring stays in the stream's queue until a response makes
// room. Errors of the device become sticky errors of the streams they hit; only Progress of a
// healthy scheduler waits for the card. Order: operations of one stream enter the ring, and
// complete, in order; streams are interleaved by the policy.
//
// On the host itself, when they are at the head of their stream's queue: host callbacks, waits for
// events that are complete already, and waits for events that have failed (after everything before
// them has completed, so that the stream's first error is its first).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "driver/device.h"
#include "runtime/flex/control_block_request.h"
#include "runtime/flex/event_state.h"
#include "runtime/flex/operation_table.h"
#include "runtime/flex/runtime_mutex.h"
#include "runtime/flex/scheduling_policy.h"
#include "runtime/flex/stream_set.h"

namespace spyre::flex {

// The first error of a stream. It stays until the device is reset.
struct StreamError {
  std::string message;
  CompletedOperation operation;  // the operation that failed
  bool told = false;             // a call on the stream has thrown it
};

struct OperationCounts {
  uint64_t queued = 0;        // accepted by QueueOperation
  uint64_t completed = 0;     // with status OK
  uint64_t failed = 0;        // with another status
  uint64_t not_executed = 0;  // dropped, because the stream or the device was in error
  uint64_t on_host = 0;  // of the completed: callbacks, and waits for what was complete already
};

class Scheduler {
 public:
  // card: of several in one simulation. mutex: the runtime's lock. keep_completed: keep every
  // CompletedOperation for the report. Host callbacks and waits that the host has dropped are not
  // among them.
  Scheduler(driver::Device& device, RuntimeMutex& mutex, std::unique_ptr<SchedulingPolicy> policy,
            bool keep_completed, unsigned card = 0);

  // Accepts an operation, starts it if the ring has room, and returns its correlation. Throws
  // DeviceFault, and does not take the request, if the stream is in error.
  uint64_t QueueOperation(uint32_t stream_index, ControlBlockRequest&& request);

  // Between these, operations are collected; the last EndBatch rings one doorbell for all.
  void BeginBatch() { ++batch_depth_; }
  void EndBatch();

  bool Idle(uint32_t stream_index) const;  // nothing queued or running
  bool Idle() const { return queued_ == 0 && running_.empty() && calls_ == 0; }
  // An operation would be taken: neither the stream nor the device is in error.
  bool Accepts(uint32_t stream_index) const { return !streams_.at(stream_index).error && !lost_; }
  // The operation of that correlation, and all before it in the stream, has left it, and what is
  // called after them has been called.
  bool HasPassed(uint32_t stream_index, uint64_t correlation) const;
  uint64_t last_correlation() const { return next_correlation_ - 1; }
  // All operations up to this one have left their streams.
  uint64_t PassedCorrelation() const;
  // Handles at least one response, waiting for it, or what is due on the host. No-op when nothing
  // is outstanding, unless the caller waits for an event. Throws DeviceFault when nothing can move,
  // with who waits for what; this changes no state.
  void Progress(const EventState* awaited = nullptr);
  void Poll();  // handles what is there, without waiting
  // Throws BadInput in a callback: only the card's responses end a wait, and they are handled by
  // whoever calls the callback.
  void CheckMayWait(const std::string& what) const;
  bool InCallback() const;  // called by this thread
  void WaitForCallback();   // that another thread is in
  RuntimeMutex& mutex() { return mutex_; }
  void LetCalls();  // calls what was held back (RuntimeMutex::HoldCalls)

  const StreamError* ErrorOf(uint32_t stream_index) const;
  // Throws the stream's error if it has one, or once what a reset has dropped of it.
  void ThrowError(uint32_t stream_index);
  // What a reset has dropped of it without anyone having been told; it no longer belongs to the
  // stream.
  std::optional<std::string> TakeDropped(uint32_t stream_index);
  OperationCounts Counts() const { return counts_; }
  OperationCounts Counts(uint32_t stream_index) const;
  const std::vector<CompletedOperation>& completed() const { return completed_; }
  // Called for each operation of the card that ends, in that order, under the runtime's lock; it
  // must not call the runtime. Null: nobody.
  using Observer = std::function<void(const CompletedOperation&)>;
  void Observe(Observer observer) { observer_ = std::move(observer); }
  void ClearCompleted() { completed_.clear(); }
  uint64_t epoch() const { return epoch_; }  // counts the resets

  // After a device reset: everything not completed is dropped with status ABORTED, errors are
  // cleared. Those that no call has thrown yet are thrown once by the stream's next ThrowError.
  void Abort(const std::string& why);

 private:
  struct Stream {
    std::deque<PendingOperation*> queue;
    std::deque<PendingOperation*> running;  // in the ring, oldest first
    std::deque<uint64_t> calls;  // correlations of completed operations whose `then` is due
    std::optional<StreamError> error;
    std::optional<std::string> dropped;  // by a reset, not told yet
    OperationCounts counts;
    uint64_t records = 0;  // EVENT_SIGNALs that have entered the ring
  };

  // scheduler.cc: into the ring, and back.
  uint32_t NextStream();  // one must be ready
  void Drain();
  void Advance(const EventState* awaited);
  void Start(uint32_t index);  // the ring must have room
  void Handle(const Response& response);
  void Call(const std::function<void()>& function, const PendingOperation& operation);
  void CallThen(PendingOperation* operation);
  void CallDue();
  bool MayCall() const { return progressing_ || !mutex_.holds_calls(); }
  void Unmap(const PendingOperation& operation);
  void Drop(PendingOperation* operation);
  void DropQueue(uint32_t index);
  void Release(PendingOperation* operation);
  static void Fail(Stream& stream, std::string message, CompletedOperation operation);
  void LoseDevice(const std::string& message);
  void DropAll(const std::string& why);

  // scheduler_events.cc: what the head of a queue waits for. Those that return bool: true if the
  // head has left the queue.
  void Settle(uint32_t index);
  void SetReady(uint32_t index);
  void Report(CompletedOperation operation);
  bool RunCallback(uint32_t index);
  bool SettleWait(uint32_t index);
  void LeaveHead(uint32_t index, bool completed);
  void ChangeEvent(EventState& event, EventStatus status);
  void FailEvent(EventState& event, uint32_t index);
  void FailWait(const PendingOperation& operation);
  const EventState* BlockedBy(uint32_t index) const;  // nullptr: not blocked
  std::string DescribeDeadlock(const EventState* awaited) const;

  driver::Device& device_;
  RuntimeMutex& mutex_;
  std::unique_ptr<SchedulingPolicy> policy_;
  bool keep_completed_;
  Observer observer_;
  bool in_callback_ = false;
  std::thread::id caller_;             // in_callback_: who called it
  bool progressing_ = false;           // somebody waits: calls are not held back
  size_t calls_ = 0;                   // `then`s that are due
  std::deque<PendingOperation*> due_;  // of these, the ones held back
  uint64_t callback_limit_ = 0;        // callbacks enqueued after this Drain began come in the next
  StreamSet later_;                    // streams that have one of those at their head
  int batch_depth_ = 0;
  size_t queued_ = 0;  // operations in the streams' queues
  uint64_t next_arrival_ = 0;
  uint64_t next_correlation_;
  uint64_t epoch_ = 0;
  uint64_t host_moves_ = 0;               // operations that left a queue without the card
  std::optional<uint32_t> last_started_;  // stream of the operation that entered the ring last
  std::array<Stream, kStreams> streams_;
  ReadyStreams ready_;
  StreamSet unsettled_;  // the head of the queue, or what it waits for, has changed
  OperationPool pool_;
  RunningOperations running_;
  struct Use {
    uint32_t stream = 0;
    uint64_t sequence = UINT64_MAX;  // none yet
  };
  std::unordered_map<uint64_t, Use> exclusive_uses_;  // by key: what entered the ring last
  std::optional<std::string> lost_;                   // why the device can no longer be used
  OperationCounts counts_;
  std::vector<CompletedOperation> completed_;
};

}  // namespace spyre::flex
