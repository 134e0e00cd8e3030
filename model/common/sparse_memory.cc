// SPDX-License-Identifier: Apache-2.0
#include "model/common/sparse_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/huge_pages.h"
#include "model/contract/memory_map.h"

namespace spyre::model {
namespace {

// Huge pages save faults and cost memory that is never touched. A simulation of many cards, whose
// LXs are mostly empty, would need more of it than of anything else: the first two cards have them.
constexpr uint64_t kMostHugeBytes = 160 << 20;

// A card that is reset again and again, as by tests of it, computes little in between: to fill huge
// pages with zeros each time would take most of its time.
constexpr int kMostHugeClears = 3;

bool MayBeHuge(uint64_t bytes) {
  static std::atomic<uint64_t> given{0};
  return given.fetch_add(bytes) + bytes <= kMostHugeBytes;
}

}  // namespace

SparseMemory::SparseMemory(uint64_t size_bytes, Pages pages)
    : size_(size_bytes),
      range_bytes_(pages == Pages::kHuge ? AlignUp(size_bytes, kHugePageBytes) + kHugePageBytes
                                         : size_bytes) {
  // NORESERVE: the kernel gives pages on first touch and commits to nothing up front.
  range_ = mmap(nullptr, range_bytes_, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range_ == MAP_FAILED) {
    throw BadInput(
        "memory of the card: cannot reserve {} MiB of address space ({}); raise 'ulimit -v' or "
        "lower card.memory.capacity_gib",
        range_bytes_ >> 20, std::strerror(errno));
  }
  base_ = static_cast<uint8_t*>(range_);
  if (pages == Pages::kHuge) {
    const auto start = reinterpret_cast<uintptr_t>(range_);
    base_ += AlignUp(start, kHugePageBytes) - start;
    const uint64_t whole = AlignUp(size_, kHugePageBytes);
    if (MayBeHuge(whole)) {
      AdviseHugePages(base_, whole);
      clears_until_small_ = kMostHugeClears + 1;
    }
  }
}

SparseMemory::~SparseMemory() { munmap(range_, range_bytes_); }

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

void SparseMemory::Clear() {
  madvise(range_, range_bytes_, MADV_DONTNEED);
  if (clears_until_small_ > 0 && --clears_until_small_ == 0)
    madvise(range_, range_bytes_, MADV_NOHUGEPAGE);
}

}  // namespace spyre::model
