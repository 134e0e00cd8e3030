// SPDX-License-Identifier: Apache-2.0
// Event: a point in a stream, which other streams and the host can wait for, and whose device time
// can be read. As a CUDA event, but one-shot: it is recorded once, and a failure before that point
// is passed on to whoever waits.
//
//   flex::Event loaded(context, "weights loaded");
//   copies.CopyToDevice(weights, memory, size);
//   copies.Record(loaded);
//   kernels.Wait(loaded);             // the card holds the stream; the host is not involved
//   kernels.Launch(program);
//
// Record becomes EVENT_SIGNAL and Wait EVENT_WAIT on the card. The wait enters the card's ring
// after the signal has, so nothing in the ring can wait for something behind it; until then, and if
// the event is not recorded yet, it holds its stream on the host. A wait for an event that the host
// knows to be complete is dropped.
//
// Failure: when the stream fails before the event, the event has failed. A stream that waits for it
// gets a sticky error that names the event, the stream that should have recorded it and that
// stream's first error; Synchronize throws the same as Error(kDeviceFault).
//
// Deadlock: Synchronize, of an event, a stream or the context, throws Error(kDeviceFault) when
// nothing outstanding can move. It names each stream that is blocked, the event, and whether that
// was never recorded or is recorded behind another wait (and then the cycle, if it is one). Nothing
// has failed by that: the streams stay blocked and usable, and go on when the event is recorded.
//
// An Event is a handle: copies are the same event. Made by the application; the context must
// outlive its use. Threads: any; every call takes the runtime's lock. Errors: Error(kBadInput), by
// FlexStream's Record and Wait too, for an event of another context, a second Record, an event
// that was destroyed, and one that was made before the context was reset (which failed by that).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/flex/event_state.h"

namespace spyre::flex {

class RuntimeContext;

class Event {
 public:
  // `name` is for messages, reports and traces; empty: "event <n>", counted in the context.
  explicit Event(RuntimeContext& context, std::string name = {});
  Event(const Event&) = default;  // and so moving copies: no handle is ever empty
  Event& operator=(const Event&) = default;

  const std::string& name() const { return state_->name; }
  RuntimeContext& context() const { return *context_; }
  EventStatus status() const;

  // True: complete or failed, Synchronize would not wait. Never waits; costs one poll interval of
  // host time if not.
  bool Query() const;
  // Waits until the card has passed the event. Must not be called in a callback.
  void Synchronize() const;
  // Device time in ps at which the card passed it. BadInput if it is not complete.
  uint64_t TimePs() const;

  // Record, Wait, Query, Synchronize and TimePs of any handle to it are refused from now on. What
  // is enqueued stays: a record will happen, and a wait will end by it.
  void Destroy();

 private:
  friend class FlexStream;
  friend int64_t ElapsedPs(const Event& from, const Event& to);
  void CheckUsable(const std::string& what) const;  // caller holds the lock
  void TellTracker() const;  // of hazards: the application learns what state it is in
  void CheckContext(const RuntimeContext& context, const std::string& what) const;

  RuntimeContext* context_;
  std::shared_ptr<EventState> state_;
};

// Device time from one event to another in ps; negative if `to` came first. BadInput if one is not
// complete, or if they are of different contexts.
int64_t ElapsedPs(const Event& from, const Event& to);

}  // namespace spyre::flex
