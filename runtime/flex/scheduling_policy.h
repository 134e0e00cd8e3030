// SPDX-License-Identifier: Apache-2.0
// Which stream goes next when several have an operation that could enter the card's ring. Small
// classes chosen by name; the Scheduler asks, under the runtime's lock. Deterministic.
//
// | name            | picks                                                                      |
// |-----------------|----------------------------------------------------------------------------|
// | fifo            | the operation that arrived first, over all streams                         |
// | round_robin     | one operation of each stream in turn, all streams alike                    |
// | priority        | streams 33 to 64 before all others, in turn among those of one priority    |
// | drain_one_first | the same stream until it has nothing ready, then the next one              |
// | fair            | the stream that has used the least device time so far, by its responses    |
//
// Starvation: under fifo no operation is overtaken by one that arrived later, and under round_robin
// a ready stream waits for at most one operation of each other stream. The other three favour some
// streams, though not without end. priority: after `starvation_limit` picks of high priority while
// a normal stream is ready, one normal stream goes. drain_one_first: after so many picks of one
// stream while another is ready, the next one goes. fair: a stream that was passed over so many
// times for each other ready stream goes. So of n ready streams each gets at least every
// (starvation_limit + 1) * (n - 1)th pick.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/flex/stream_set.h"

namespace spyre::flex {

// One in seventeen: in a ring of 256 entries that only favourites fill, each pass still holds
// fifteen operations of the others, while the favourites lose 6 % of the picks.
inline constexpr uint32_t kDefaultStarvationLimit = 16;

// The streams whose oldest operation could enter the ring now.
class ReadyStreams {
 public:
  void Insert(uint32_t stream, uint64_t arrival) {
    set_.Insert(stream);
    arrival_[stream] = arrival;
  }
  void Erase(uint32_t stream) { set_.Erase(stream); }
  void Clear() { set_.Clear(); }

  const StreamSet& set() const { return set_; }
  bool empty() const { return set_.empty(); }
  // Arrival number of the operation at the head of a ready stream.
  uint64_t arrival(uint32_t stream) const { return arrival_[stream]; }

 private:
  StreamSet set_;
  std::array<uint64_t, kStreams> arrival_{};
};

class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;
  virtual const char* name() const = 0;
  // `ready` is not empty. Returns one of them, whose oldest operation enters the ring. Operations
  // joined to the one before follow it without being asked for.
  virtual uint32_t Pick(const ReadyStreams& ready) = 0;
  // What happens to a stream: it is ready after it was not; an operation of it entered the ring; an
  // operation of it was answered, after device_ps of work.
  virtual void OnReady(uint32_t /*stream*/) {}
  virtual void OnEntered(uint32_t /*stream*/) {}
  virtual void OnAnswered(uint32_t /*stream*/, uint64_t /*device_ps*/) {}
  // The card was reset: what was in the ring is gone.
  virtual void OnReset() {}
};

// Throws BadInput for another name, listing the names, and for a limit of 0.
std::unique_ptr<SchedulingPolicy> MakeSchedulingPolicy(
    std::string_view name, uint32_t starvation_limit = kDefaultStarvationLimit);
std::vector<std::string> SchedulingPolicyNames();

}  // namespace spyre::flex
