// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/block_space.h"

#include <algorithm>
#include <iterator>

namespace spyre::flex {

BlockSpace::BlockSpace(uint64_t base, uint64_t length) : base_(base), length_(length) {
  if (length > 0) free_.emplace(base, length);
}

std::optional<uint64_t> BlockSpace::Take(uint64_t size) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [start, available] = *it;
    if (available < size) continue;
    free_.erase(it);
    if (available > size) free_.emplace(start + size, available - size);
    blocks_.emplace(start, size);
    used_ += size;
    return start;
  }
  return std::nullopt;
}

std::optional<uint64_t> BlockSpace::Retire(uint64_t offset) {
  const auto block = blocks_.find(offset);
  if (block == blocks_.end()) return std::nullopt;
  const uint64_t size = block->second;
  blocks_.erase(block);
  used_ -= size;
  retired_ += size;
  return size;
}

void BlockSpace::Give(uint64_t offset, uint64_t size) {
  retired_ -= size;
  uint64_t start = offset;
  uint64_t length = size;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      start = previous->first;
      length += previous->second;
      free_.erase(previous);
    }
  }
  free_.emplace(start, length);
}

std::optional<std::pair<uint64_t, uint64_t>> BlockSpace::Find(uint64_t offset) const {
  auto it = blocks_.upper_bound(offset);
  if (it == blocks_.begin()) return std::nullopt;
  --it;
  if (offset - it->first >= it->second) return std::nullopt;
  return *it;
}

uint64_t BlockSpace::LargestFree() const {
  uint64_t largest = 0;
  for (const auto& [start, size] : free_) largest = std::max(largest, size);
  return largest;
}

}  // namespace spyre::flex
