// SPDX-License-Identifier: Apache-2.0
#include "traces/lanes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <string_view>
#include <utility>

#include "base/ranges.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

// Lanes on which slices may lie inside each other. Beyond these a slice gets a lane of its own
// while it lasts, which needs no search.
constexpr uint32_t kNestingLanes = 8;

class TrackLanes {
 public:
  uint32_t Place(const Record& record) {
    for (uint32_t lane = 0; lane < kNestingLanes; ++lane) {
      auto& open = open_[lane];
      while (!open.empty() && open.back() <= record.start_ps) open.pop_back();
      if (!open.empty() && open.back() < record.end_ps) continue;
      if (record.end_ps > record.start_ps) open.push_back(record.end_ps);
      return Used(lane);
    }
    if (free_at_.empty() || free_at_.top().first > record.start_ps) {
      free_at_.emplace(record.end_ps, count_);
      return Used(count_);
    }
    const uint32_t lane = free_at_.top().second;
    free_at_.pop();
    free_at_.emplace(record.end_ps, lane);
    return lane;
  }
  uint32_t count() const { return count_; }

 private:
  using FreeLane = std::pair<uint64_t, uint32_t>;  // time, lane

  uint32_t Used(uint32_t lane) {
    count_ = std::max(count_, lane + 1);
    return lane;
  }

  std::array<std::vector<uint64_t>, kNestingLanes> open_;  // ends, innermost last
  std::priority_queue<FreeLane, std::vector<FreeLane>, std::greater<>> free_at_;
  uint32_t count_ = 1;
};

}  // namespace

std::vector<ProcessTracks> Processes(const Trace& trace) {
  constexpr std::array<std::string_view, 5> kFirst = {"host", "card", "pcie", "memory", "ring"};
  std::map<std::pair<size_t, std::string>, std::vector<TrackId>> by_rank;
  for (TrackId id = 0; id < trace.tracks.size(); ++id) {
    const std::string& process = trace.tracks[id].process;
    const auto rank =
        std::find(kFirst.begin(), kFirst.end(), WithoutPart(process)) - kFirst.begin();
    by_rank[{static_cast<size_t>(rank), process}].push_back(id);
  }
  std::vector<ProcessTracks> processes;
  processes.reserve(by_rank.size());
  for (auto& [key, tracks] : by_rank) processes.push_back({key.second, std::move(tracks)});
  return processes;
}

Lanes AssignLanes(const Trace& trace) {
  Lanes lanes;
  lanes.lane.resize(trace.records.size());
  lanes.count.assign(trace.tracks.size(), 1);
  lanes.order.resize(trace.records.size());
  std::iota(lanes.order.begin(), lanes.order.end(), 0U);
  StableSort(lanes.order, [&](uint32_t left, uint32_t right) {
    const Record& a = trace.records[left];
    const Record& b = trace.records[right];
    if (a.track != b.track) return a.track < b.track;
    return a.start_ps != b.start_ps ? a.start_ps < b.start_ps : a.end_ps > b.end_ps;
  });
  for (size_t i = 0; i < lanes.order.size();) {
    const TrackId track = trace.records[lanes.order[i]].track;
    TrackLanes track_lanes;
    for (; i < lanes.order.size() && trace.records[lanes.order[i]].track == track; ++i) {
      lanes.lane[lanes.order[i]] = track_lanes.Place(trace.records[lanes.order[i]]);
    }
    lanes.count[track] = track_lanes.count();
  }
  return lanes;
}

std::vector<Event> Events(const Trace& trace, const Lanes& lanes) {
  std::vector<Event> events;
  events.reserve(trace.records.size() * 2);
  std::vector<std::vector<uint32_t>> open;  // by lane of the current track, innermost last
  const auto end_until = [&](std::vector<uint32_t>& stack, uint64_t time_ps) {
    for (; !stack.empty() && trace.records[stack.back()].end_ps <= time_ps; stack.pop_back()) {
      events.push_back({trace.records[stack.back()].end_ps, stack.back(), Event::kEnd});
    }
  };
  for (size_t i = 0; i < lanes.order.size(); ++i) {
    const uint32_t index = lanes.order[i];
    const Record& record = trace.records[index];
    open.resize(lanes.count[record.track]);
    auto& stack = open[lanes.lane[index]];
    end_until(stack, record.start_ps);
    if (record.start_ps == record.end_ps) {
      events.push_back({record.start_ps, index, Event::kInstant});
    } else {
      events.push_back({record.start_ps, index, Event::kBegin});
      stack.push_back(index);
    }
    const bool is_last_of_track =
        i + 1 == lanes.order.size() || trace.records[lanes.order[i + 1]].track != record.track;
    if (!is_last_of_track) continue;
    for (auto& rest : open) end_until(rest, UINT64_MAX);
    open.clear();
  }
  // Stable: what happens on one lane at one time stays in its order.
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time_ps < b.time_ps; });
  return events;
}

}  // namespace spyre::trace
