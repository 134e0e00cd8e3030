// SPDX-License-Identifier: Apache-2.0
// What an event is, as the Scheduler keeps it. Shared by the application's handles (event.h) and
// the operations that record it or wait for it.
//
// Every access is made under the lock of the context it belongs to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/flex/stream_set.h"

namespace spyre::flex {

enum class EventStatus {
  kUnrecorded,  // no stream was told to record it
  kQueued,      // its record is in the stream's queue on the host
  kInRing,      // its EVENT_SIGNAL is in the card's ring
  kComplete,    // the card has answered it
  kFailed,      // its stream failed first, or the context was reset
};
const char* EventStatusName(EventStatus status);  // "unrecorded", "queued", "in ring", ...

struct HazardPoint;

struct EventState {
  std::string name;
  uint64_t epoch = 0;  // of the Scheduler that it was made in: a reset ends it
  EventStatus status = EventStatus::kUnrecorded;
  bool destroyed = false;
  bool captured = false;               // recorded in a capture (capture.h), and of use only there
  uint32_t stream = 0;                 // that records it; valid unless kUnrecorded
  uint64_t counter = 0;                // the number of the record in that stream, from kInRing on
  uint64_t finished_ps = 0;            // device time, kComplete
  std::string error;                   // kFailed: why
  StreamSet waiters;                   // streams whose next operation waits for it
  std::shared_ptr<HazardPoint> point;  // for the hazard tracker; empty without it
};

}  // namespace spyre::flex
