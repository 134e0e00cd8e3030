// SPDX-License-Identifier: Apache-2.0
// Contents of device memory or of an LX: one reserved address range, of which the host provides
// only the pages that are touched. Untouched bytes read as zero. Any thread, one at a time.
// The pages are small also in an LX: to fill 32 of 2 MiB with zeros takes a seventh of a small
// run's time, and a run that fills them saves nothing by it.
#pragma once

#include <cstdint>

namespace spyre::model {

class SparseMemory {
 public:
  // Throws Error(kBadInput) if the range cannot be reserved.
  explicit SparseMemory(uint64_t size_bytes);
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
};

}  // namespace spyre::model
