// SPDX-License-Identifier: Apache-2.0
// One contiguous space of bytes, from which blocks are carved first fit, and into which they
// coalesce when freed. Offsets and lengths in bytes, multiples of 128.
//
// Owner and caller: SpyreAllocator, under the runtime's lock. Pure bookkeeping: touches no device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace spyre::flex {

class BlockSpace {
 public:
  BlockSpace(uint64_t base, uint64_t length);

  // The lowest block of `size` bytes, or nothing. `size` must be a positive multiple of 128.
  std::optional<uint64_t> Take(uint64_t size);
  // The block that starts at `offset` is no longer used, but not free either; its size, or nothing
  // if no block starts there.
  std::optional<uint64_t> Retire(uint64_t offset);
  void Give(uint64_t offset, uint64_t size);  // a retired block is free
  // The block that contains `offset`: start and size.
  std::optional<std::pair<uint64_t, uint64_t>> Find(uint64_t offset) const;

  uint64_t base() const { return base_; }
  uint64_t length() const { return length_; }
  uint64_t used() const { return used_; }
  uint64_t retired() const { return retired_; }
  uint64_t LargestFree() const;
  const std::map<uint64_t, uint64_t>& blocks() const { return blocks_; }  // start -> size

 private:
  uint64_t base_;
  uint64_t length_;
  uint64_t used_ = 0;
  uint64_t retired_ = 0;
  std::map<uint64_t, uint64_t> free_;    // start -> size; never two adjacent
  std::map<uint64_t, uint64_t> blocks_;  // start -> size
};

}  // namespace spyre::flex
