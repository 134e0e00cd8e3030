// SPDX-License-Identifier: Apache-2.0
// CRC-32C without special instructions: what Crc32c (control_block.h) uses on a CPU without SSE4.2,
// and what its tests compare the fast path with. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spyre {

// As Crc32c, from a table.
uint32_t Crc32cTable(const void* data, size_t size, uint32_t crc = 0);

}  // namespace spyre
