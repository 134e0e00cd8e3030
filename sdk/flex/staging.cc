// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/staging.h"

#include <sys/mman.h>

#include <new>

#include "base/huge_pages.h"

namespace spyre::sdk {

std::shared_ptr<uint8_t[]> StagingPool::Take(uint64_t bytes) {
  uint64_t size = 4096;
  while (size < bytes) size *= 2;
  uint8_t* memory = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<uint8_t*>& free = free_[size];
    if (!free.empty()) {
      memory = free.back();
      free.pop_back();
      free_bytes_ -= size;
    }
  }
  if (memory == nullptr) {
    // NORESERVE: half of it may never be touched.
    void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    memory = static_cast<uint8_t*>(pages);
    AdviseHugePages(memory, size);
  }
  return {memory, [this, size](uint8_t* returned) { Give(returned, size); }};
}

void StagingPool::Give(uint8_t* memory, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_bytes_ + bytes > kKeptBytes) {
    munmap(memory, bytes);
    return;
  }
  free_[bytes].push_back(memory);
  free_bytes_ += bytes;
}

}  // namespace spyre::sdk
