// SPDX-License-Identifier: Apache-2.0
// The slices of a run as the report page reads them (page/src/run.ts). Callers: WriteReport.
//
// Slices stand by track, in the page's order of tracks, then by start, then the longer first, and
// are cut into blocks of kPageBlockSlices. A block is eight columns; each is its length in bytes
// (u32, little-endian) and one number a slice, in 7-bit groups, the lowest first, with bit 7 set
// in all but the last:
//
//   start   ps behind the start of the slice before, of the first one of a track or block behind 0
//   length  ps
//   kind    index into PageSlices::kinds
//   flow    as the difference to the slice before, folded: 0, -1, 1, -2, 2, ...
//   bytes
//   detail  of waits the page's number of the track that ended it, of steps the iteration; else 0
//   lane    from 0; slices that are under way at the same time have different ones, waits 0
//   count   of slices that this one stands for: 1, or more if neighbours were merged
//
// Pure functions of a Trace, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "traces/trace_file.h"

namespace spyre::trace {

inline constexpr size_t kPageBlockSlices = 1 << 16;
// Drawn beside each other; what overlaps further shares the last lane.
inline constexpr uint32_t kPageLanes = 8;

struct PageTrack {
  TrackId id = 0;  // of the trace
  uint32_t lanes = 1;
  uint64_t slices = 0;
};

struct PageSlices {
  std::vector<PageTrack> tracks;                   // in reading order
  std::vector<std::pair<NameId, uint32_t>> kinds;  // name and category
  std::vector<const Record*> records;              // of the window; owned by the trace, or merged
  std::vector<uint32_t> counts;                    // slices that each stands for; empty: one each
  std::vector<Record> merged;                      // what `records` points to, if merged
  std::vector<uint32_t> lanes;                     // as records
  uint64_t merged_below_ps = 0;                    // 0: every record is a slice of its own
};

// begin_ps: 0, or records that ended by then are left out. max_slices: of more, neighbours that
// are shorter than a time that grows until they fit are one slice, with the name of the first.
PageSlices SlicesForPage(const Trace& trace, uint64_t begin_ps, size_t max_slices);

// Block by block. `flow` and `kind` of merged slices are those of their first.
std::vector<std::string> EncodeSlices(const Trace& trace, const PageSlices& slices);

}  // namespace spyre::trace
