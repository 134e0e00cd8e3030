// SPDX-License-Identifier: Apache-2.0
// Preparation that every viewer format needs: processes in reading order, and slices laid out on
// lanes where they nest. Viewers draw a track as a stack: a slice must lie inside the one that is
// open, or start after its end. Slices that overlap otherwise (a memory channel with several
// requests under way) go to further lanes of their track.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/trace_file.h"

namespace spyre::trace {

struct ProcessTracks {
  std::string name;
  std::vector<TrackId> tracks;
};
// Host, card, pcie, memory and ring first, then the others (cores) by name.
std::vector<ProcessTracks> Processes(const Trace& trace);

struct Lanes {
  std::vector<uint32_t> lane;   // by record: its lane within its track, from 0
  std::vector<uint32_t> count;  // by track: lanes that it needs, at least 1
  std::vector<uint32_t> order;  // record indices by track, then start, then longer first
};
// O(n log n), whatever the overlaps.
Lanes AssignLanes(const Trace& trace);

// Begins and ends of all records in time order; on each lane they nest like brackets.
struct Event {
  enum Kind : uint32_t { kBegin, kEnd, kInstant };
  uint64_t time_ps;
  uint32_t record;  // index into Trace::records
  Kind kind;
};
std::vector<Event> Events(const Trace& trace, const Lanes& lanes);

}  // namespace spyre::trace
