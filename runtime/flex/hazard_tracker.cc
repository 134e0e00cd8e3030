// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/hazard_tracker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/ranges.h"

namespace spyre::flex {
namespace {

// A VF's region r starts at (r + 1) << 48, so that no physical address is meant by both.
constexpr int kRegionShift = 48;
// The history is swept of what the host knows to be complete when it has doubled, not before.
constexpr size_t kSweepSegments = 64;

void Add(std::vector<AccessRanges::Range>& ranges, uint64_t begin, uint64_t end) {
  if (!ranges.empty() && begin <= ranges.back().end) {
    ranges.back().end = std::max(ranges.back().end, end);
  } else {
    ranges.push_back({begin, end});
  }
}

// Collects what is found by pair and kind, in ascending order of address. Operations are copied
// once, when everything is found.
class Found {
 public:
  void Add(HazardKind kind, const HazardOperation& earlier, uint64_t begin, uint64_t end) {
    const auto same = FindIf(pairs_, [&](const Pair& pair) {
      return pair.kind == kind && pair.earlier->stream == earlier.stream &&
             pair.earlier->correlation == earlier.correlation;
    });
    if (same == pairs_.end()) {
      pairs_.push_back({kind, &earlier, begin, end, end - begin});
      return;
    }
    if (same->end == begin) same->end = end;
    same->shared_bytes += end - begin;
  }
  std::vector<Hazard> With(const HazardOperation& later) {
    const auto rank = [](const Pair& pair) {
      return std::tuple(pair.earlier->stream, pair.earlier->correlation, pair.kind);
    };
    std::sort(pairs_.begin(), pairs_.end(),
              [&](const Pair& a, const Pair& b) { return rank(a) < rank(b); });
    std::vector<Hazard> hazards;
    hazards.reserve(pairs_.size());
    for (const Pair& pair : pairs_) {
      hazards.push_back({pair.kind, *pair.earlier, later, HandleOf(pair.begin),
                         pair.end - pair.begin, pair.shared_bytes});
    }
    return hazards;
  }

 private:
  struct Pair {
    HazardKind kind;
    const HazardOperation* earlier;
    uint64_t begin, end;    // the first bytes in a row
    uint64_t shared_bytes;  // in all places
  };
  std::vector<Pair> pairs_;
};

}  // namespace

uint64_t AddressOf(const DeviceHandle& handle) {
  if (IsPhysical(handle)) return RawOffset(handle);
  const uint64_t region = std::get<VFDeviceHandle>(handle).region_id;
  return ((region + 1) << kRegionShift) + RawOffset(handle);
}

DeviceHandle HandleOf(uint64_t address) {
  const uint64_t region = address >> kRegionShift;
  if (region == 0) return PFDeviceHandle{address};
  return VFDeviceHandle{static_cast<uint32_t>(region - 1), address - (region << kRegionShift)};
}

AccessRanges::AccessRanges(const std::vector<Access>& accesses) {
  std::vector<std::tuple<uint64_t, uint64_t, bool>> sorted;
  for (const Access& access : accesses) {
    const uint64_t begin = AddressOf(access.handle);
    if (access.size > 0) sorted.emplace_back(begin, begin + access.size, access.write);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [begin, end, write] : sorted) flex::Add(write ? writes : reads, begin, end);
}

std::vector<Hazard> HazardTracker::FindPlaced(const Stream& stream,
                                              const HazardOperation& operation,
                                              const AccessRanges& ranges) const {
  Found found;
  const auto search = [&](const AccessRanges::Range& range, bool writes) {
    history_.Query(range.begin, range.end, [&](uint64_t begin, uint64_t end, const auto& entry) {
      const HazardOperation& earlier = *entry.operation;
      if (!writes && !entry.write) return;
      if (earlier.stream == operation.stream) return;
      if (stream.before.Covers(earlier.stream, earlier.last_correlation)) return;
      found.Add(!writes       ? HazardKind::kReadAfterWrite
                : entry.write ? HazardKind::kWriteAfterWrite
                              : HazardKind::kWriteAfterRead,
                earlier, begin, end);
    });
  };
  for (const auto& range : ranges.reads) search(range, false);
  for (const auto& range : ranges.writes) search(range, true);
  return found.With(operation);
}

void HazardTracker::Hear(Stream& stream) const {
  if (stream.heard == tells_) return;
  stream.before.Join(told_);
  stream.heard = tells_;
}

std::vector<Hazard> HazardTracker::Find(const HazardOperation& operation,
                                        const AccessRanges& ranges) {
  Stream& stream = streams_.at(operation.stream);
  if (!stream.deferred.empty()) return {};
  Hear(stream);
  return FindPlaced(stream, operation, ranges);
}

void HazardTracker::Place(Stream& stream, const std::shared_ptr<HazardOperation>& operation,
                          const AccessRanges& ranges) {
  // The stream's own operations are ordered before it.
  stream.before.Advance(operation->stream, operation->last_correlation);
  for (const auto& range : ranges.reads) {
    history_.Insert(range.begin, range.end, {operation, false}, stream.before);
  }
  for (const auto& range : ranges.writes) {
    history_.Insert(range.begin, range.end, {operation, true}, stream.before);
  }
}

void HazardTracker::Add(const HazardOperation& operation, const AccessRanges& ranges) {
  Stream& stream = streams_.at(operation.stream);
  stream.last = std::make_shared<HazardOperation>(operation);
  if (!stream.deferred.empty()) {
    stream.deferred.push_back({Deferred::Kind::kOperation, stream.last, ranges, nullptr, told_});
    return;
  }
  Hear(stream);
  Place(stream, stream.last, ranges);
}

void HazardTracker::Extend(uint32_t stream_index, uint64_t correlation) {
  Stream& stream = streams_.at(stream_index);
  if (stream.last == nullptr) return;
  stream.last->last_correlation = correlation;
  if (stream.deferred.empty()) stream.before.Advance(stream_index, correlation);
}

std::vector<Hazard> HazardTracker::Mark(uint32_t stream_index, const Point& point) {
  Stream& stream = streams_.at(stream_index);
  if (!stream.deferred.empty()) {
    stream.deferred.push_back({Deferred::Kind::kMark, nullptr, {}, point, told_});
    return {};
  }
  Hear(stream);
  point->before = stream.before;
  return Release();
}

void HazardTracker::Wait(uint32_t stream_index, const Point& point) {
  Stream& stream = streams_.at(stream_index);
  if (stream.deferred.empty() && point->before) {
    stream.before.Join(*point->before);
    return;
  }
  stream.deferred.push_back({Deferred::Kind::kWait, nullptr, {}, point, told_});
  waiting_.Insert(stream_index);
}

std::vector<Hazard> HazardTracker::MarkIfSafe(uint32_t stream, const Point& point) {
  bool awaited = false;
  for (const uint32_t index : waiting_) {
    awaited = awaited || streams_[index].deferred.front().point == point;
  }
  if (!awaited) return Mark(stream, point);
  HazardTracker saved = *this;
  std::vector<Hazard> hazards = Mark(stream, point);
  if (hazards.empty()) return hazards;
  *this = std::move(saved);
  point->before.reset();
  for (const uint32_t index : waiting_) {
    for (const Deferred& deferred : streams_[index].deferred) {
      if (deferred.kind == Deferred::Kind::kMark) deferred.point->before.reset();
    }
  }
  return hazards;
}

std::vector<Hazard> HazardTracker::Release() {
  std::vector<Hazard> hazards;
  for (bool moved = true; moved;) {
    moved = false;
    const StreamSet waiting = waiting_;
    for (const uint32_t index : waiting) {
      Stream& stream = streams_[index];
      while (!stream.deferred.empty()) {
        Deferred& next = stream.deferred.front();
        if (next.kind == Deferred::Kind::kWait && !next.point->before) break;
        moved = true;
        if (next.kind == Deferred::Kind::kWait) {
          stream.before.Join(*next.point->before);
        } else {
          stream.before.Join(next.told);
        }
        if (next.kind == Deferred::Kind::kMark) next.point->before = stream.before;
        if (next.kind == Deferred::Kind::kOperation) {
          std::vector<Hazard> found = FindPlaced(stream, *next.operation, next.ranges);
          std::move(found.begin(), found.end(), std::back_inserter(hazards));
          Place(stream, next.operation, next.ranges);
        }
        stream.deferred.pop_front();
      }
      if (stream.deferred.empty()) waiting_.Erase(index);
    }
  }
  return hazards;
}

void HazardTracker::Tell(const StreamClock& before) {
  told_.Join(before);
  ++tells_;
  if (history_.segments() < 2 * kept_segments_ + kSweepSegments) return;
  history_.Forget([this](const HazardOperation& operation) {
    return told_.Covers(operation.stream, operation.last_correlation);
  });
  kept_segments_ = history_.segments();
}

void HazardTracker::Told(const HazardPoint& point) {
  if (point.before) Tell(*point.before);
}

void HazardTracker::Told(uint32_t stream) { Tell(streams_.at(stream).before); }

void HazardTracker::Told(uint32_t stream, uint64_t correlation) {
  StreamClock clock;
  clock.Advance(stream, correlation);
  Tell(clock);
}

}  // namespace spyre::flex
