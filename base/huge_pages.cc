// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.h"

#include <sys/mman.h>

namespace spyre {

void AdviseHugePages(void* memory, uint64_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  const uint64_t before = (kHugePageBytes - at % kHugePageBytes) % kHugePageBytes;
  if (bytes < before + kHugePageBytes) return;
  const uint64_t whole = (bytes - before) / kHugePageBytes * kHugePageBytes;
  madvise(static_cast<uint8_t*>(memory) + before, whole, MADV_HUGEPAGE);
}

}  // namespace spyre
