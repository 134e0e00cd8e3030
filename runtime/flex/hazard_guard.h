// SPDX-License-Identifier: Apache-2.0
// HazardGuard: stands before the Scheduler when hazards are tracked. Every operation of every
// stream goes through it; it asks the tracker, and does what the mode says: refuses the operation,
// lists the pair, or has the operation wait for an event.
//
// Owner: RuntimeContext, only if RuntimeOptions::hazards is not "off". Threads: every call is made
// under the runtime's lock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/flex/control_block_request.h"
#include "runtime/flex/hazard.h"
#include "runtime/flex/hazard_tracker.h"
#include "runtime/flex/scheduler.h"

namespace spyre::flex {

class HazardGuard {
 public:
  HazardGuard(HazardMode mode, Scheduler& scheduler);

  // As Scheduler::QueueOperation, of a request with `touches` if it is work. Throws BadInput too,
  // and nothing is enqueued, for a hazard in mode error; in mode event for a wait for an event that
  // is not recorded yet, and for a hazard of an operation that has to follow the one before it.
  uint64_t QueueOperation(uint32_t stream, ControlBlockRequest request);

  // What the host was told: the stream has nothing outstanding, or nothing up to an operation; the
  // status of the event.
  void ToldIdle(uint32_t stream) { tracker_.Told(stream); }
  void ToldPassed(uint32_t stream, uint64_t correlation) { tracker_.Told(stream, correlation); }
  void ToldAbout(const EventState& event) {
    if (event.status == EventStatus::kComplete && event.point) tracker_.Told(*event.point);
  }
  // The memory is free: who uses it next has nothing to do with what has completed in it.
  void Forget(const DeviceHandle& handle, uint64_t size);
  void Reset();  // nothing is outstanding

  const HazardReport& report() const { return report_; }

 private:
  class Batch;
  // The last event that a stream has recorded, the application's or one of here.
  struct LastRecord {
    std::shared_ptr<EventState> event;
    uint64_t correlation = 0;
  };

  uint64_t QueueWork(uint32_t stream, ControlBlockRequest request);
  uint64_t QueueRecord(uint32_t stream, ControlBlockRequest request);
  uint64_t QueueWait(uint32_t stream, ControlBlockRequest request);
  uint64_t QueueCallback(uint32_t stream, ControlBlockRequest request);
  // Called before the later operation is enqueued.
  void Act(const std::vector<Hazard>& hazards, uint32_t stream, bool joined);
  bool IsRunning(const HazardOperation& operation) const;
  void WaitFor(const HazardOperation& earlier, uint32_t stream);
  void List(std::vector<Hazard> hazards, uint64_t later_correlation);
  std::function<void()> ThenTell(HazardTracker::Point point, std::function<void()> function);

  HazardMode mode_;
  Scheduler& scheduler_;
  HazardTracker tracker_;
  std::array<LastRecord, kStreams> last_record_;
  StreamSet in_launch_;  // streams whose last operation began a launch, or was joined to one
  HazardReport report_;
};

}  // namespace spyre::flex
