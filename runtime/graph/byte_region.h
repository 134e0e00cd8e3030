// SPDX-License-Identifier: Apache-2.0
// Regions as boxes of one tensor and as bytes of memory: runs of equal length in nested loops, in
// ascending order of address.
//
// Values and pure functions. Nothing enumerates bytes; finding a common byte of two regions takes
// as many steps as runs of one interleave with runs of the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/graph/task_region.h"

namespace spyre::runtime {

// [begin, end) in each of `rank` dimensions, outermost first; those from `rank` on are not set.
struct Box {
  struct Range {
    int64_t begin, end;
  };
  uint32_t rank = 0;
  std::array<Range, kMaxRank> range;
};
inline Box BoxOf(const Region2d& region) {
  Box box;
  box.rank = 2;
  box.range[0] = {region.row_offset, region.row_offset + region.rows};
  box.range[1] = {region.col_offset, region.col_offset + region.cols};
  return box;
}
Box BoxOf(const Region& region);

inline bool RangesOverlap(const Box::Range& a, const Box::Range& b) {
  return a.begin < b.end && b.begin < a.end;
}
// Both of one rank.
inline bool BoxCovers(const Box& outer, const Box& inner) {
  for (uint32_t d = 0; d < outer.rank; ++d) {
    if (inner.range[d].begin < outer.range[d].begin || inner.range[d].end > outer.range[d].end) {
      return false;
    }
  }
  return true;
}

struct ByteRun {
  uint64_t begin, end;  // end: the first byte after it
};

class ByteRegion {
 public:
  ByteRegion() = default;
  // `box` must be inside `place` (CheckInside).
  ByteRegion(const Box& box, const TensorPlace& place);

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  bool one_run() const { return loops_ == 0; }
  // The first run that ends after `address`.
  std::optional<ByteRun> RunAfter(uint64_t address) const;

 private:
  struct Loop {
    uint64_t count, stride_bytes;
  };
  std::array<Loop, kMaxRank> loop_{};  // outermost first
  uint32_t loops_ = 0;
  uint64_t begin_ = 0, end_ = 0, run_bytes_ = 0;
};

bool Overlaps(const ByteRegion& a, const ByteRegion& b);

// A box of `place` with all its elements that have a byte in [begin, end), which must be one of
// its bytes at least. All dimensions inside the first one of which it takes several.
Box BoxAround(uint64_t begin, uint64_t end, const TensorPlace& place);

}  // namespace spyre::runtime
