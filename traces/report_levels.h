// SPDX-License-Identifier: Apache-2.0
// What the report page draws while a pixel is longer than a slice: how busy every track was in each
// of many equal parts of the window. The page makes coarser levels from this one, and shows it
// before the slices themselves are unpacked. Callers: WriteReport. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/report_slices.h"

namespace spyre::trace {

inline constexpr size_t kLevelBins = 4096;  // more than pixels across the widest screens
// Tracks with fewer slices are drawn from these at once.
inline constexpr uint64_t kLevelSlices = 512;

struct PageLevels {
  uint64_t from_ps = 0;
  uint64_t to_ps = 0;
  std::vector<size_t> tracks;  // indices into PageSlices::tracks, those that have a level
  // For each of them kLevelBins bytes of busy time, as many of waiting time (0: none, 255: all of
  // the bin, at least 1 if there was any), and as many times a kind (u16, little-endian): that of
  // most of the bin's time, found by a running vote; 0xFFFF: none.
  std::string bytes;
};

// The window is cut to [from_ps, to_ps): what lies outside is in no bin.
PageLevels MakeLevels(const PageSlices& page, uint64_t from_ps, uint64_t to_ps);

}  // namespace spyre::trace
