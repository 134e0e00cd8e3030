// SPDX-License-Identifier: Apache-2.0
// Contents of device memory or of an LX: one reserved address range, of which the host provides
// only the pages that are touched. Untouched bytes read as zero. Any thread, one at a time.
#pragma once

#include <cstdint>

namespace spyre::model {

class SparseMemory {
 public:
  // kSmall: the host gives pages one by one. kHuge: 2 MiB at a time where it can, for memory that
  // is small and in use all over, until it has been cleared so often that it cannot be.
  enum class Pages { kSmall, kHuge };
  // Throws Error(kBadInput) if the range cannot be reserved.
  explicit SparseMemory(uint64_t size_bytes, Pages pages = Pages::kSmall);
  ~SparseMemory();
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  uint64_t size() const { return size_; }
  // The bytes at `address`; valid up to size(). Callers check bounds.
  uint8_t* At(uint64_t address) { return base_ + address; }
  const uint8_t* At(uint64_t address) const { return base_ + address; }
  void Clear();                                  // all bytes zero; pages go back to the host
  void Clear(uint64_t address, uint64_t bytes);  // these; callers check bounds
  bool Contains(uint64_t address, uint64_t bytes) const {
    return address <= size_ && bytes <= size_ - address;
  }

 private:
  uint64_t size_;
  uint8_t* base_;
  void* range_;  // holds them, with room to begin at a multiple of the page size
  uint64_t range_bytes_;
  int clears_until_small_ = 0;  // 0: pages are small
};

}  // namespace spyre::model
