#include "model/memory/sparse_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "model/contract/error.h"

namespace spyre::model {

SparseMemory::SparseMemory(uint64_t size_bytes) : size_(size_bytes) {
  // NORESERVE: the kernel gives pages on first touch and commits to nothing up front.
  void* range = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    throw Error(
        ErrorKind::kInternal,
        fmt::format(
            "device memory: cannot reserve {} GiB of address space ({}); raise 'ulimit -v' or "
            "lower card.memory.capacity_gib",
            size_ >> 30, std::strerror(errno)));
  }
  base_ = static_cast<uint8_t*>(range);
}

SparseMemory::~SparseMemory() { munmap(base_, size_); }

}  // namespace spyre::model
