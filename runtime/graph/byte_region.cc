#include "runtime/graph/byte_region.h"

#include <algorithm>

namespace spyre::runtime {

ByteRegion::ByteRegion(const Region& region, const TensorPlace& place) {
  begin_ = place.address;
  run_bytes_ = place.element_bytes;
  std::array<Loop, kMaxRank> inner_first{};
  uint64_t stride = place.element_bytes;
  uint64_t last = 0;  // offset of the last run from the first
  for (uint32_t d = region.rank; d-- > 0;) {
    const auto extent = static_cast<uint64_t>(region.extent[d]);
    begin_ += static_cast<uint64_t>(region.offset[d]) * stride;
    if (loops_ == 0 && run_bytes_ == stride) {
      run_bytes_ *= extent;  // all dimensions within are whole
    } else if (extent > 1) {
      inner_first[loops_++] = {extent, stride};
      last += (extent - 1) * stride;
    }
    stride *= static_cast<uint64_t>(place.shape[d]);
  }
  end_ = begin_ + last + run_bytes_;
  std::reverse_copy(inner_first.begin(), inner_first.begin() + loops_, loop_.begin());
}

std::optional<ByteRun> ByteRegion::RunAfter(uint64_t address) const {
  if (address < begin_) return ByteRun{begin_, begin_ + run_bytes_};
  if (address >= end_) return std::nullopt;
  std::array<uint64_t, kMaxRank> at{};
  uint64_t rest = address - begin_;
  uint32_t depth = 0;
  for (; depth < loops_; ++depth) {
    at[depth] = rest / loop_[depth].stride_bytes;
    if (at[depth] >= loop_[depth].count) break;
    rest -= at[depth] * loop_[depth].stride_bytes;
  }
  if (depth < loops_ || rest >= run_bytes_) {
    // Behind the last run of this loop: the next turn of a loop outside it. There is one, for
    // `address` is before the end.
    for (uint32_t d = depth; d < loops_; ++d) at[d] = 0;
    while (depth > 0 && ++at[depth - 1] == loop_[depth - 1].count) at[--depth] = 0;
    if (depth == 0) return std::nullopt;
  }
  uint64_t begin = begin_;
  for (uint32_t d = 0; d < loops_; ++d) begin += at[d] * loop_[d].stride_bytes;
  return ByteRun{begin, begin + run_bytes_};
}

bool Overlap(const ByteRegion& a, const ByteRegion& b) {
  std::optional<ByteRun> of_a = a.RunAfter(b.begin());
  while (of_a) {
    const std::optional<ByteRun> of_b = b.RunAfter(of_a->begin);
    if (!of_b) return false;
    if (of_b->begin < of_a->end) return true;
    of_a = a.RunAfter(of_b->begin);
    if (of_a && of_a->begin < of_b->end) return true;
  }
  return false;
}

bool BoxesOverlap(const Region& a, const Region& b) {
  for (uint32_t d = 0; d < a.rank; ++d) {
    if (a.offset[d] >= b.offset[d] + b.extent[d] || b.offset[d] >= a.offset[d] + a.extent[d]) {
      return false;
    }
  }
  return true;
}

bool BoxCovers(const Region& outer, const Region& inner) {
  for (uint32_t d = 0; d < outer.rank; ++d) {
    if (inner.offset[d] < outer.offset[d] ||
        inner.offset[d] + inner.extent[d] > outer.offset[d] + outer.extent[d]) {
      return false;
    }
  }
  return true;
}

}  // namespace spyre::runtime
