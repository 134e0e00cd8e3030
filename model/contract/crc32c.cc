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
// The instruction has a latency of three cycles: a block is three runs of five words, side by side.
// So the checksum of a queue entry, 124 bytes, is one block and a word of 32 bits.
constexpr size_t kRunBytes = 40;
constexpr size_t kBlockBytes = 3 * kRunBytes;

// x^power modulo the polynomial; bit 31 is the coefficient of x^0, as in a checksum.
constexpr uint32_t PowerOfX(size_t power) {
  uint32_t value = 0x80000000;
  for (; power > 0; --power) value = value >> 1 ^ ((value & 1) != 0 ? kCrc32cPolynomial : 0u);
  return value;
}
// A checksum times this, without carries, and then the instruction on the product: the checksum
// as it is `bytes` zeros later. The product is one power of x too high, and the instruction
// multiplies by x^32.
constexpr uint32_t Later(size_t bytes) { return PowerOfX(8 * bytes - 33); }

template <class Word>
Word At(const unsigned char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

__attribute__((target("sse4.2,pclmul"))) uint32_t Crc32cSse(const void* data, size_t size,
                                                            uint32_t crc) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t state = ~crc;
  const __m128i later = _mm_set_epi64x(Later(kRunBytes), Later(2 * kRunBytes));
  for (; size >= kBlockBytes; size -= kBlockBytes, bytes += kBlockBytes) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t at = 0; at < kRunBytes; at += 8) {
      state = _mm_crc32_u64(state, At<uint64_t>(bytes + at));
      second = _mm_crc32_u64(second, At<uint64_t>(bytes + kRunBytes + at));
      third = _mm_crc32_u64(third, At<uint64_t>(bytes + 2 * kRunBytes + at));
    }
    const __m128i runs = _mm_set_epi64x(static_cast<int64_t>(second), static_cast<int64_t>(state));
    const __m128i products = _mm_xor_si128(_mm_clmulepi64_si128(runs, later, 0x00),
                                           _mm_clmulepi64_si128(runs, later, 0x11));
    state = third ^ _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(products)));
  }
  for (; size >= 8; size -= 8, bytes += 8) state = _mm_crc32_u64(state, At<uint64_t>(bytes));
  auto tail = static_cast<uint32_t>(state);
  for (; size >= 4; size -= 4, bytes += 4) tail = _mm_crc32_u32(tail, At<uint32_t>(bytes));
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
  static const bool has_instructions =
      __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
  if (has_instructions) return Crc32cSse(data, size, crc);
#endif
  return Crc32cTable(data, size, crc);
}

}  // namespace spyre
