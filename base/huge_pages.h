// SPDX-License-Identifier: Apache-2.0
// Advice to the kernel for memory that is about to be written all over: a page at a time, the
// faults cost more than what is written. Any thread. No errors: a kernel without huge pages gives
// small ones, as it does of what is no whole huge page.
#pragma once

#include <cstdint>

namespace spyre {

inline constexpr uint64_t kHugePageBytes = 2 << 20;

// The huge pages that lie in [memory, memory + bytes) as a whole come at one fault each.
void AdviseHugePages(void* memory, uint64_t bytes);

}  // namespace spyre
