// SPDX-License-Identifier: Apache-2.0
#include "model/common/sparse_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace spyre::model {

SparseMemory::SparseMemory(uint64_t size_bytes) : size_(size_bytes) {
  // NORESERVE: the kernel gives pages on first touch and commits to nothing up front.
  void* const range = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    throw BadInput(
        "memory of the card: cannot reserve {} MiB of address space ({}); raise 'ulimit -v' or "
        "lower card.memory.capacity_gib",
        size_ >> 20, std::strerror(errno));
  }
  base_ = static_cast<uint8_t*>(range);
}

SparseMemory::~SparseMemory() { munmap(base_, size_); }

void SparseMemory::Clear(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kPage = 4096;  // or the kernel takes a larger one apart
  uint8_t* const begin = At(address);
  uint8_t* const end = begin + bytes;
  const auto up = [](uint8_t* at) {
    return at + (kPage - reinterpret_cast<uintptr_t>(at) % kPage) % kPage;
  };
  uint8_t* const first = std::min(up(begin), end);
  std::memset(begin, 0, static_cast<size_t>(first - begin));
  uint8_t* const last = end - reinterpret_cast<uintptr_t>(end) % kPage;
  if (last <= first) {
    std::memset(first, 0, static_cast<size_t>(end - first));
    return;
  }
  madvise(first, static_cast<size_t>(last - first), MADV_DONTNEED);
  std::memset(last, 0, static_cast<size_t>(end - last));
}

void SparseMemory::Clear() { madvise(base_, size_, MADV_DONTNEED); }

}  // namespace spyre::model
