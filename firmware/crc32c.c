#include "firmware/crc32c.h"

#include <contract/spyre_registers.h>

void fw_crc32c_init(struct fw_crc32c *crc) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ ((0u - (value & 1u)) & SPYRE_CRC32C_POLYNOMIAL);
    crc->table[0][byte] = value;
  }
  for (unsigned k = 1; k < 4; ++k) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const uint32_t value = crc->table[k - 1][byte];
      crc->table[k][byte] = value >> 8 ^ crc->table[0][value & 0xFF];
    }
  }
}

/* The entry at a byte offset, of which only the bits of an index count: one instruction less than
 * an index for each of the four, and this loop is most of the time of a message. */
static inline uint32_t at(const uint32_t *table, uint32_t offset) {
  return *(const uint32_t *)((const unsigned char *)table + (offset & 0x3FC));
}

uint32_t fw_crc32c(const struct fw_crc32c *crc, const uint32_t *words, size_t count) {
  uint32_t state = ~0u;
  for (const uint32_t *end = words + count; words != end; ++words) {
    state ^= *words;
    state = at(crc->table[3], state << 2) ^ at(crc->table[2], state >> 6) ^
            at(crc->table[1], state >> 14) ^ at(crc->table[0], state >> 22);
  }
  return ~state;
}
