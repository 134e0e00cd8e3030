// Device memory contents: one reserved address range, of which the host provides only the pages
// that are touched. Untouched bytes read as zero. Kernel thread only.
#pragma once

#include <cstdint>

namespace spyre::model {

class SparseMemory {
 public:
  explicit SparseMemory(
      uint64_t size_bytes);  // throws Error(kInternal) if the range cannot be reserved
  ~SparseMemory();
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  uint64_t size() const { return size_; }
  // The bytes at `address`; valid up to size(). Callers check bounds.
  uint8_t* At(uint64_t address) { return base_ + address; }
  const uint8_t* At(uint64_t address) const { return base_ + address; }
  bool Contains(uint64_t address, uint64_t bytes) const {
    return address <= size_ && bytes <= size_ - address;
  }

 private:
  uint64_t size_;
  uint8_t* base_;
};

}  // namespace spyre::model
