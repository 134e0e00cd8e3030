// SPDX-License-Identifier: Apache-2.0
#include "traces/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/ranges.h"
#include "traces/intervals.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

// A card has some twenty groups of units. Of more than these, each that is compared with a control
// block takes time and can be a line of the output.
constexpr size_t kManyGroups = 100;
constexpr uint64_t kMaxComparisons = 5'000'000;

bool IsStream(const Track& track) {
  return WithoutPart(track.process) == "card" && StartsWith(track.name, "stream ");
}

bool IsEventWait(const Trace& trace, const Record& record) {
  return record.category == kControl && trace.names[record.name] == "EVENT_WAIT";
}

// Calls and waits of software: no unit of the card.
bool IsHost(const GroupSummary& group) { return StartsWith(WithoutPart(group.name), "host/"); }

// "core 03" -> "core *".
std::string WithoutNumber(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size()) return name;
  return name.substr(0, end + 1) + "*";
}

// The records of every track that end behind from_ps, if that is not 0, ordered by start, longer
// first; the order of recording breaks ties.
std::vector<std::vector<const Record*>> ByTrack(const Trace& trace, uint64_t from_ps) {
  std::vector<std::vector<const Record*>> tracks(trace.tracks.size());
  for (const Record& record : trace.records) {
    if (from_ps == 0 || record.end_ps > from_ps) tracks[record.track].push_back(&record);
  }
  for (auto& records : tracks) {
    std::stable_sort(records.begin(), records.end(), [](const Record* a, const Record* b) {
      return a->start_ps != b->start_ps ? a->start_ps < b->start_ps : a->end_ps > b->end_ps;
    });
  }
  return tracks;
}

IntervalSet BusyTime(const std::vector<const Record*>& records, uint64_t from_ps) {
  std::vector<Interval> slices;
  slices.reserve(records.size());
  for (const Record* record : records) {
    slices.push_back({std::max(record->start_ps, from_ps), record->end_ps});
  }
  return IntervalSet(std::move(slices));
}

// The share of a slice's bytes that it moved behind from_ps, at a constant rate.
uint64_t BytesFrom(const Record& record, uint64_t from_ps) {
  if (record.start_ps >= from_ps) return record.bytes;
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(record.bytes) * (record.end_ps - from_ps) /
                               (record.end_ps - record.start_ps));
}

// Unit, its group, and the busy sets that only the computation needs.
struct Units {
  std::vector<UnitSummary> units;
  std::vector<IntervalSet> busy;  // as units
  std::vector<GroupSummary> groups;
  std::vector<Occupancy> occupancy;  // as groups
};

Units SummarizeUnits(const Trace& trace, const std::vector<std::vector<const Record*>>& by_track,
                     uint64_t from_ps) {
  Units out;
  std::map<std::string, size_t> group_index;
  for (TrackId id = 0; id < trace.tracks.size(); ++id) {
    const Track& track = trace.tracks[id];
    std::vector<const Record*> slices;
    std::copy_if(by_track[id].begin(), by_track[id].end(), std::back_inserter(slices),
                 [](const Record* record) { return record->category != kWait; });
    if (IsStream(track) || slices.empty()) continue;
    UnitSummary unit;
    unit.name = track.process + "/" + track.name;
    unit.slices = slices.size();
    unit.first_ps = std::max(slices.front()->start_ps, from_ps);
    for (const Record* record : slices) {
      unit.bytes += BytesFrom(*record, from_ps);
      unit.last_ps = std::max(unit.last_ps, record->end_ps);
    }
    out.busy.push_back(BusyTime(slices, from_ps));
    unit.busy_ps = out.busy.back().length_ps();

    const std::string group_name = WithoutNumber(track.process) + "/" + WithoutNumber(track.name);
    const auto [it, is_new] = group_index.emplace(group_name, out.groups.size());
    if (is_new) {
      out.groups.emplace_back().name = group_name;
      out.groups.back().busy_min_ps = unit.busy_ps;
      out.groups.back().first_ps = unit.first_ps;
    }
    GroupSummary& group = out.groups[it->second];
    group.units.push_back(out.units.size());
    group.slices += unit.slices;
    group.bytes += unit.bytes;
    group.busy_sum_ps += unit.busy_ps;
    group.busy_min_ps = std::min(group.busy_min_ps, unit.busy_ps);
    group.busy_max_ps = std::max(group.busy_max_ps, unit.busy_ps);
    group.first_ps = std::min(group.first_ps, unit.first_ps);
    group.last_ps = std::max(group.last_ps, unit.last_ps);
    out.units.push_back(std::move(unit));
  }
  for (GroupSummary& group : out.groups) {
    if (group.units.size() == 1) group.name = out.units[group.units[0]].name;
    std::vector<Interval> any;
    for (const size_t unit : group.units) {
      const auto& intervals = out.busy[unit].intervals();
      any.insert(any.end(), intervals.begin(), intervals.end());
    }
    group.busy_any_ps = IntervalSet(std::move(any)).length_ps();
  }
  StableSort(out.groups, [](const GroupSummary& a, const GroupSummary& b) {
    return a.BusyMeanPs() > b.BusyMeanPs();
  });
  for (const GroupSummary& group : out.groups) {
    std::vector<const IntervalSet*> sets;
    for (const size_t unit : group.units) sets.push_back(&out.busy[unit]);
    out.occupancy.emplace_back(sets);
  }
  return out;
}

// When the host handed over each EVENT_WAIT, by flow: it cannot have waited before.
std::map<uint64_t, uint64_t> HandedOver(const Trace& trace) {
  std::map<uint64_t, uint64_t> at_ps;
  for (const Record& record : trace.records) {
    if (IsEventWait(trace, record)) at_ps[record.flow] = 0;
  }
  if (at_ps.empty()) return at_ps;
  for (const Record& record : trace.records) {
    if (record.category != kHost || record.flow == 0) continue;
    const auto wait = at_ps.find(record.flow);
    if (wait != at_ps.end() && trace.names[record.name] == "submit") wait->second = record.end_ps;
  }
  return at_ps;
}

StreamSummary SummarizeStream(const Trace& trace, const Track& track,
                              const std::vector<const Record*>& records, uint64_t from_ps,
                              const std::map<uint64_t, uint64_t>& handed_over) {
  StreamSummary stream;
  // Each of several cards has streams of its own.
  stream.name = track.process == "card" ? track.name : track.process + "/" + track.name;
  uint64_t last_end = 0;
  for (const Record* record : records) {
    if (record->category == kStep) {
      stream.steps.push_back({trace.names[record->name], record->start_ps, record->end_ps, 0,
                              record->flow, record->bytes});
    }
    if (record->category != kControl) continue;
    const bool is_first = stream.operations.empty();
    uint64_t start_ps = record->start_ps;
    // The card records the moment at which it is over; its stream has stood still since the
    // operation before it, or since it was handed over.
    if (const auto wait = handed_over.find(record->flow);
        wait != handed_over.end() && IsEventWait(trace, *record) && wait->second > 0) {
      start_ps = std::min(start_ps, std::max(last_end, wait->second));
    }
    const uint64_t gap = !is_first && start_ps > last_end ? start_ps - last_end : 0;
    last_end = std::max(last_end, record->end_ps);
    stream.gap_total_ps += gap;
    stream.gap_largest_ps = std::max(stream.gap_largest_ps, gap);
    stream.operations.push_back(
        {trace.names[record->name], start_ps, record->end_ps, gap, record->flow, record->bytes});
  }
  stream.busy_ps = BusyTime(records, from_ps).length_ps();
  return stream;
}

// By name, in order of first appearance; `list`: operations or steps.
std::vector<OperationSummary> SummarizeByName(const std::vector<StreamSummary>& streams,
                                              std::vector<StreamOperation> StreamSummary::*list,
                                              const Units& units, uint64_t from_ps) {
  std::map<std::string, size_t> index;
  std::vector<OperationSummary> operations;
  std::vector<std::vector<Interval>> times;
  for (const StreamSummary& stream : streams) {
    for (const StreamOperation& op : stream.*list) {
      const auto [it, is_new] = index.emplace(op.name, operations.size());
      const uint64_t duration = op.end_ps - op.start_ps;
      if (is_new) {
        operations.emplace_back().name = op.name;
        operations.back().is_kernel = StartsWith(op.name, "COMPUTE");
        operations.back().min_ps = duration;
        times.emplace_back();
      }
      OperationSummary& summary = operations[it->second];
      ++summary.count;
      summary.total_ps += duration;
      summary.min_ps = std::min(summary.min_ps, duration);
      summary.max_ps = std::max(summary.max_ps, duration);
      summary.bytes += op.bytes;
      times[it->second].push_back({std::max(op.start_ps, from_ps), op.end_ps});
    }
  }
  uint64_t count = 0;
  for (const StreamSummary& stream : streams) count += (stream.*list).size();
  const size_t groups = units.groups.size();
  if (groups > kManyGroups && count > kMaxComparisons / groups) {
    throw Error(
        fmt::format("{} control blocks or steps with {} groups of units are too many to say "
                    "which units were busy meanwhile; at most {} pairs",
                    count, groups, kMaxComparisons));
  }
  for (size_t i = 0; i < operations.size(); ++i) {
    const IntervalSet during(std::move(times[i]));
    for (size_t g = 0; g < groups; ++g) {
      const GroupSummary& group = units.groups[g];
      if (IsHost(group)) continue;
      const uint64_t busy = units.occupancy[g].OverlapPs(during);
      if (busy == 0) continue;
      const double whole =
          static_cast<double>(during.length_ps()) * static_cast<double>(group.units.size());
      operations[i].units.push_back({group.name, static_cast<double>(busy) / whole});
    }
    StableSort(operations[i].units, [](const GroupShare& a, const GroupShare& b) {
      return a.utilization > b.utilization;
    });
  }
  return operations;
}

std::vector<OperationSummary> SummarizeOperations(const std::vector<StreamSummary>& streams,
                                                  const Units& units, uint64_t from_ps) {
  auto operations = SummarizeByName(streams, &StreamSummary::operations, units, from_ps);
  StableSort(operations, [](const OperationSummary& a, const OperationSummary& b) {
    return a.is_kernel != b.is_kernel ? a.is_kernel : a.total_ps > b.total_ps;
  });
  return operations;
}

}  // namespace

Summary Summarize(const Trace& trace, uint64_t from_ps) {
  Summary summary;
  summary.metadata = trace.metadata;
  summary.results = ParseRunResults(trace.results);
  summary.records = trace.records.size();
  summary.dropped = trace.dropped;
  summary.digest = trace.digest;
  summary.is_interrupted = trace.is_interrupted;
  summary.end_ps = trace.whole_from_ps;
  for (const Record& record : trace.records) {
    summary.end_ps = std::max(summary.end_ps, record.end_ps);
  }
  summary.begin_ps = from_ps = std::min(std::max(from_ps, trace.whole_from_ps), summary.end_ps);

  const auto by_track = ByTrack(trace, from_ps);
  const std::map<uint64_t, uint64_t> handed_over = HandedOver(trace);
  for (TrackId id = 0; id < trace.tracks.size(); ++id) {
    if (!IsStream(trace.tracks[id]) || by_track[id].empty()) continue;
    summary.streams.push_back(
        SummarizeStream(trace, trace.tracks[id], by_track[id], from_ps, handed_over));
  }
  Units units = SummarizeUnits(trace, by_track, from_ps);
  summary.operations = SummarizeOperations(summary.streams, units, from_ps);
  summary.steps = SummarizeByName(summary.streams, &StreamSummary::steps, units, from_ps);
  summary.units = std::move(units.units);
  summary.groups = std::move(units.groups);
  return summary;
}

double Ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

double GigabytesPerSecond(uint64_t bytes, uint64_t time_ps) {
  return Ratio(static_cast<double>(bytes), static_cast<double>(time_ps)) * 1e3;
}

}  // namespace spyre::trace
