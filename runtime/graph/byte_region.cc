// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/byte_region.h"

#include <algorithm>

namespace spyre::runtime {

Box BoxOf(const Region& region) {
  Box box;
  box.rank = region.rank;
  for (uint32_t d = 0; d < region.rank; ++d) {
    box.range[d] = {region.offset[d], region.offset[d] + region.extent[d]};
  }
  return box;
}

ByteRegion::ByteRegion(const Box& box, const TensorPlace& place) {
  begin_ = place.address;
  run_bytes_ = place.element_bytes;
  std::array<Loop, kMaxRank> inner_first{};
  uint64_t stride = place.element_bytes;
  uint64_t last = 0;  // offset of the last run from the first
  for (uint32_t d = box.rank; d-- > 0;) {
    const auto extent = static_cast<uint64_t>(box.range[d].end - box.range[d].begin);
    begin_ += static_cast<uint64_t>(box.range[d].begin) * stride;
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

bool Overlaps(const ByteRegion& a, const ByteRegion& b) {
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

Box BoxAround(uint64_t begin, uint64_t end, const TensorPlace& place) {
  uint64_t stride = 1;
  for (const int64_t size : place.shape) stride *= static_cast<uint64_t>(size);
  const uint64_t first_byte = std::max(begin, place.address) - place.address;
  const uint64_t elements_end = stride * place.element_bytes;
  const uint64_t last_byte = std::min(end - place.address, elements_end) - 1;
  uint64_t first = first_byte / place.element_bytes;
  uint64_t last = last_byte / place.element_bytes;
  Box box;
  for (const int64_t size : place.shape) {
    stride /= static_cast<uint64_t>(size);
    // Behind the first dimension in which they differ, the elements between them take all.
    box.range[box.rank++] = {static_cast<int64_t>(first / stride),
                             static_cast<int64_t>(last / stride) + 1};
    if (first / stride == last / stride) {
      first %= stride;
      last %= stride;
    } else {
      first = 0;
      last = stride - 1;
    }
  }
  return box;
}

}  // namespace spyre::runtime
