// SPDX-License-Identifier: Apache-2.0
// A shared resource: one user at a time, others wait. The building block of the timed paths (links
// of the ring and of PCIe, ports). It belongs to a clock and is taken for whole cycles, and keeps
// those for which it is taken, so that a request for now finds the gap before one that was made for
// later; no process, no event of its own. Kernel thread only. Statistics and slices are in
// picoseconds of simulated time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "model/common/clock.h"
#include "traces/recording/recorder.h"

namespace spyre::model {

// Why a unit lost time, where the unit itself can tell. docs/report-time.md says what each one
// counts.
enum class Loss : uint8_t {
  kRowMiss,      // memory channel: precharge and activate before the data
  kTurnaround,   // memory channel: the bus changes between read and write
  kRefresh,      // memory channel: banks are being refreshed
  kBankGroup,    // memory channel: requests for one bank group only come at half rate
  kEccCheck,     // memory channel: check bytes of in-line ECC pass the bus (part of its busy time)
  kTokenWait,    // unit of a core: a token that it waits for has not been given
  kBarrierWait,  // ring unit: others have not arrived
  kPartnerWait,  // load unit: another member of a multicast has not asked for its burst
  kWeightLoad,   // PT: a weight block takes longer to load than the rows before it to stream
  kFillDrain,    // PT: the array fills and drains
  kQueue,        // link or port: at least one request waits for those before it
  // Load unit: what its bursts took from being asked for to their data in LX, waits included. Of
  // all bursts together: they overlap, so it may exceed the time.
  kLoadPartners,  // until the last member of a multicast asked
  kLoadMemory,    // in memory
  kLoadRing,      // to memory and back
  kLoadLx,        // through the LX port
};
inline constexpr size_t kLosses = 15;

// What a resource did, for reports.
struct UnitStatistics {
  std::string name;
  uint64_t busy_ps = 0;
  uint64_t bytes = 0;
  uint64_t requests = 0;
  uint64_t waited_ps = 0;  // summed time that requests waited for earlier ones
  std::array<uint64_t, kLosses> lost_ps{};

  uint64_t& lost(Loss cause) { return lost_ps[static_cast<size_t>(cause)]; }
  uint64_t lost(Loss cause) const { return lost_ps[static_cast<size_t>(cause)]; }
  // What has been added since `before`, an earlier reading of the same unit.
  UnitStatistics Since(const UnitStatistics& before) const {
    UnitStatistics part{name,
                        busy_ps - before.busy_ps,
                        bytes - before.bytes,
                        requests - before.requests,
                        waited_ps - before.waited_ps,
                        lost_ps};
    for (size_t i = 0; i < kLosses; ++i) part.lost_ps[i] -= before.lost_ps[i];
    return part;
  }
  // Adds another reading of the same unit.
  void Add(const UnitStatistics& more) {
    busy_ps += more.busy_ps;
    bytes += more.bytes;
    requests += more.requests;
    waited_ps += more.waited_ps;
    for (size_t i = 0; i < kLosses; ++i) lost_ps[i] += more.lost_ps[i];
  }
};

// Where a resource's slices go in the trace; a null recorder records nothing.
struct TraceSink {
  trace::Recorder* recorder = nullptr;
  trace::Category category = trace::kControl;
  trace::TrackId track = 0;
  trace::NameId name = 0;

  static TraceSink To(trace::Recorder* recorder, trace::Category category,
                      const std::string& process, const std::string& track,
                      const std::string& slice) {
    if (recorder == nullptr || !recorder->Wants(category)) return {};
    return {recorder, category, recorder->AddTrack(process, track), recorder->Intern(slice)};
  }
};

class alignas(64) Resource {
 public:
  // clock: its users', who all count in its cycles, so that users that follow each other do not
  // drift. contended: false gives the same durations without waiting (functional fidelity).
  Resource(std::string name, const Clock& clock, bool contended = true)
      : contended_(contended), clock_(clock), name_(std::move(name)) {}

  void TraceTo(trace::Recorder* recorder, trace::Category category, const std::string& process,
               const std::string& track, const std::string& slice) {
    if (recorder == nullptr || !recorder->Wants(category)) return;
    sink_ = {recorder, category, recorder->AddTrack(process, track), recorder->Intern(slice)};
    traced_ = true;
  }

  // Takes the resource for `cycles` cycles from the first cycle on, not before `earliest_cycle`, at
  // which it is free that long; returns that cycle. Who passes many resources of one clock stays in
  // its cycles.
  uint64_t ReserveCycles(uint64_t earliest_cycle, uint64_t cycles, uint64_t bytes = 0,
                         uint64_t flow = 0) {
    uint64_t start = earliest_cycle;
    if (start >= last_end_) {
      if (contended_) TakeLast(start, start + cycles);
    } else {
      start = TakeBetween(earliest_cycle, cycles);
      if (start > earliest_cycle) CountWait(earliest_cycle, start);
    }
    busy_cycles_ += cycles;
    bytes_ += bytes;
    ++requests_;
    if (traced_) Trace(start, start + cycles, bytes, flow);
    return start;
  }
  // The same from the first edge at or after a time; returns the end.
  uint64_t Reserve(uint64_t earliest_ps, uint64_t cycles, uint64_t bytes = 0, uint64_t flow = 0) {
    return clock_.Edge(ReserveCycles(clock_.CycleAt(earliest_ps), cycles, bytes, flow) + cycles);
  }

  // As of Clock, which the users change at the same time. Reservations keep their cycles.
  void SetPace(uint64_t ps, uint64_t percent) {
    busy_ps_ += clock_.Span(std::exchange(busy_cycles_, 0));
    waited_ps_ += clock_.Span(std::exchange(waited_cycles_, 0));
    queue_ps_ += clock_.Span(std::exchange(queue_cycles_, 0));
    clock_.SetPace(ps, percent);
  }

  // The cycle in which the last reservation ends.
  uint64_t free_cycle() const { return last_end_; }
  // Cycles are added up first and rounded to picoseconds once.
  UnitStatistics statistics() const {
    UnitStatistics all{name_,     busy_ps_ + clock_.Span(busy_cycles_),     bytes_,
                       requests_, waited_ps_ + clock_.Span(waited_cycles_), {}};
    all.lost(Loss::kQueue) = queue_ps_ + clock_.Span(queue_cycles_);
    return all;
  }

 private:
  struct Span {
    uint64_t start;
    uint64_t end;
  };
  // Reservations beyond these are remembered only by when the oldest of them ended.
  static constexpr size_t kSpans = 16;

  // In the queue, requests that wait side by side count once, as they nearly come in order.
  void CountWait(uint64_t from, uint64_t until) {
    waited_cycles_ += until - from;
    from = std::max(from, queue_until_);
    if (until <= from) return;
    queue_cycles_ += until - from;
    queue_until_ = until;
  }
  // These two are not inlined, so that the usual case stays short where it is.
  __attribute__((noinline)) void Trace(uint64_t start, uint64_t end, uint64_t bytes,
                                       uint64_t flow) {
    sink_.recorder->Slice(sink_.category, sink_.track, sink_.name, clock_.Edge(start),
                          clock_.Edge(end), flow, bytes);
  }

  // Most requests come when those before them are through.
  void TakeLast(uint64_t start, uint64_t end) {
    if (start == last_end_ && end_ > begin_) {
      spans_[end_ - 1].end = end;
    } else {
      if (end_ == spans_.size()) MakeRoom();
      spans_[end_++] = {start, end};
    }
    last_end_ = end;
  }
  // For a start before last_end_: the first gap that is long enough.
  __attribute__((noinline)) uint64_t TakeBetween(uint64_t earliest, uint64_t cycles) {
    ForgetOld();
    uint64_t start = std::max(earliest, floor_);
    size_t at = end_;
    // Those that end before are out of the way. Usually that is all, or all but a few.
    while (at > begin_ && spans_[at - 1].end > start) --at;
    for (; at < end_ && start + cycles > spans_[at].start; ++at) start = spans_[at].end;
    const uint64_t end = start + cycles;
    const bool joins_before = at > begin_ && spans_[at - 1].end == start;
    const bool joins_after = at < end_ && spans_[at].start == end;
    if (joins_before && joins_after) {
      spans_[at - 1].end = spans_[at].end;
      std::move(spans_.begin() + at + 1, spans_.begin() + end_, spans_.begin() + at);
      --end_;
    } else if (joins_before) {
      spans_[at - 1].end = end;
    } else if (joins_after) {
      spans_[at].start = start;
    } else {
      Insert(at, {start, end});
    }
    last_end_ = std::max(last_end_, end);
    return start;
  }
  void Insert(size_t at, const Span& span) {
    if (end_ == spans_.size()) {
      at -= begin_;
      MakeRoom();
    }
    for (size_t i = end_; i > at; --i) spans_[i] = spans_[i - 1];
    spans_[at] = span;
    ++end_;
  }
  // Whoever adds spans leaves this to whoever looks at them.
  void ForgetOld() {
    if (size_t{end_} - begin_ <= kSpans) return;
    begin_ = static_cast<uint16_t>(end_ - kSpans);
    floor_ = spans_[begin_ - 1].end;
  }
  void MakeRoom() {
    ForgetOld();
    std::move(spans_.begin() + begin_, spans_.begin() + end_, spans_.begin());
    end_ = static_cast<uint16_t>(end_ - begin_);
    begin_ = 0;
  }

  // What each reservation looks at comes first, in one line of the host's cache. In cycles.
  uint64_t floor_ = 0;     // nothing is given before this
  uint64_t last_end_ = 0;  // stays 0 without contention
  uint64_t busy_cycles_ = 0, waited_cycles_ = 0;
  uint64_t bytes_ = 0, requests_ = 0;
  uint64_t queue_until_ = 0;
  // Of spans_, those that are taken, in order, not touching; with room to grow at its end.
  uint16_t begin_ = 0, end_ = 0;
  bool contended_;
  bool traced_ = false;
  std::array<Span, 4 * kSpans> spans_{};
  uint64_t queue_cycles_ = 0;
  uint64_t busy_ps_ = 0, waited_ps_ = 0, queue_ps_ = 0;  // before the last change of pace
  Clock clock_;
  TraceSink sink_;
  std::string name_;
};

}  // namespace spyre::model
