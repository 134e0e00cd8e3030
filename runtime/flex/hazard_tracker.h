// SPDX-License-Identifier: Apache-2.0
// HazardTracker: which operations of different streams touch the same bytes, one of them writing,
// with nothing that orders the two. It knows streams, places in them and accesses; it knows no
// scheduler, no card and no time, so the same calls find the same hazards however fast anything is.
//
// One operation is ordered before another by
//   - their stream, if it is the same;
//   - an event that is recorded after the one and waited for before the other, and chains of these;
//   - the host, if it was told that the one has completed before it enqueued the other.
// That an operation has completed without the host having been told orders nothing: another time it
// may not have.
//
// A wait for an event that is not recorded yet is allowed. What follows it in its stream is kept
// aside, and looked at when the event is recorded: the order of the program is not known earlier.
//
// Of the accesses to one byte, those count that no later one stands for (access_history.h): a write
// after two writes of another stream makes a hazard with the second of them.
//
// Owner and caller: HazardGuard, under the runtime's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/flex/access_history.h"
#include "runtime/flex/hazard.h"
#include "runtime/flex/stream_clock.h"

namespace spyre::flex {

// A place in a stream, which other streams and the host can wait for.
struct HazardPoint {
  std::optional<StreamClock> before;  // what is ordered before it; none: not known yet
};

// The bytes an operation touches: ascending, disjoint and not adjacent, for reads and for writes.
struct AccessRanges {
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> reads, writes;

  AccessRanges() = default;
  explicit AccessRanges(const std::vector<Access>& accesses);  // empty ones are left out
};
// One number for each byte of a context's device memory, and back.
uint64_t AddressOf(const DeviceHandle& handle);
DeviceHandle HandleOf(uint64_t address);

class HazardTracker {
 public:
  using Point = std::shared_ptr<HazardPoint>;

  // The hazards that `operation` would make if it were enqueued now, by stream and place of the
  // earlier one. None if its stream waits for an event that is not recorded yet.
  std::vector<Hazard> Find(const HazardOperation& operation, const AccessRanges& ranges);
  // It is enqueued; its correlations are known.
  void Add(const HazardOperation& operation, const AccessRanges& ranges);
  // One more step of the operation that was added to the stream last: it touches nothing else, but
  // only with it is the operation complete.
  void Extend(uint32_t stream, uint64_t correlation);

  // `point` is the place in the stream behind everything added so far. If other streams wait for
  // it, what follows there is looked at: the hazards found.
  std::vector<Hazard> Mark(uint32_t stream, const Point& point);
  // The same, but if there are hazards, nothing has changed.
  std::vector<Hazard> MarkIfSafe(uint32_t stream, const Point& point);
  // What is added to the stream from now on is behind `point`.
  void Wait(uint32_t stream, const Point& point);

  // The operation is ordered before whatever is added to the stream next.
  bool IsBefore(const HazardOperation& operation, uint32_t stream) const {
    return streams_.at(stream).before.Covers(operation.stream, operation.last_correlation) ||
           told_.Covers(operation.stream, operation.last_correlation);
  }

  // The host knows that everything before has completed, or everything in the stream so far, or in
  // the stream up to an operation.
  void Told(const HazardPoint& point);
  void Told(uint32_t stream);
  void Told(uint32_t stream, uint64_t correlation);

  // Accesses to [begin, end) of operations for which `done` says so are forgotten.
  void Forget(uint64_t begin, uint64_t end, const AccessHistory::Done& done) {
    history_.Forget(begin, end, done);
  }

 private:
  // What was enqueued behind a wait for a point that is not marked yet.
  struct Deferred {
    enum class Kind { kOperation, kMark, kWait };
    Kind kind{};
    std::shared_ptr<HazardOperation> operation;
    AccessRanges ranges;
    Point point;
    StreamClock told;  // when it was enqueued
  };
  struct Stream {
    StreamClock before;  // ordered before its next operation
    uint64_t heard = 0;  // of tells_
    std::shared_ptr<HazardOperation> last;
    std::deque<Deferred> deferred;  // the first, if any, is a wait
  };

  // What the host was told is before the stream's next operation. Joining clocks is a good part of
  // what an operation costs, and the host is told seldom.
  void Hear(Stream& stream) const;
  void Place(Stream& stream, const std::shared_ptr<HazardOperation>& operation,
             const AccessRanges& ranges);
  std::vector<Hazard> FindPlaced(const Stream& stream, const HazardOperation& operation,
                                 const AccessRanges& ranges) const;
  std::vector<Hazard> Release();
  void Tell(const StreamClock& before);

  std::array<Stream, kStreams> streams_;
  StreamSet waiting_;  // streams with something deferred
  StreamClock told_;
  uint64_t tells_ = 0;
  AccessHistory history_;
  size_t kept_segments_ = 0;  // after the last sweep
};

}  // namespace spyre::flex
