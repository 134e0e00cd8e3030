// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected 0x82F63B78.
#include "model/contract/crc32c.h"

#include <array>
#include <cstring>

#include "model/contract/control_block.h"

#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
#include <immintrin.h>
#endif

namespace spyre {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrc32cPolynomial : 0u);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
__attribute__((target("sse4.2"))) uint32_t Crc32cSse(const void* data, size_t size, uint32_t crc) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t state = ~crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    state = _mm_crc32_u64(state, word);
  }
  auto tail = static_cast<uint32_t>(state);
  for (; size > 0; --size, ++bytes) tail = _mm_crc32_u8(tail, *bytes);
  return ~tail;
}
#endif

}  // namespace

uint32_t Crc32cTable(const void* data, size_t size, uint32_t crc) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) crc = kTable[(crc ^ bytes[i]) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return Crc32cSse(data, size, crc);
#endif
  return Crc32cTable(data, size, crc);
}

}  // namespace spyre
