// The bytes of a region: runs of equal length in nested loops, in ascending order of address.
//
// Values and pure functions. Nothing enumerates bytes; finding a common byte of two regions takes
// as many steps as runs of one interleave with runs of the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/graph/task_region.h"

namespace spyre::runtime {

struct ByteRun {
  uint64_t begin, end;  // end: the first byte after it
};

class ByteRegion {
 public:
  ByteRegion() = default;
  // `region` must be inside `place` (CheckInside).
  ByteRegion(const Region& region, const TensorPlace& place);

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

bool Overlap(const ByteRegion& a, const ByteRegion& b);

// The same for regions of one tensor, by their boxes.
bool BoxesOverlap(const Region& a, const Region& b);
bool BoxCovers(const Region& outer, const Region& inner);

}  // namespace spyre::runtime
