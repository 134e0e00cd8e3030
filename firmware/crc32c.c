#include "firmware/crc32c.h"

#include <contract/spyre_registers.h>

void fw_crc32c_init(struct fw_crc32c *crc) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1u) * SPYRE_CRC32C_POLYNOMIAL;
    crc->table[0][byte] = value;
  }
  for (unsigned k = 1; k < 4; ++k) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const uint32_t value = crc->table[k - 1][byte];
      crc->table[k][byte] = value >> 8 ^ crc->table[0][value & 0xFF];
    }
  }
}

uint32_t fw_crc32c(const struct fw_crc32c *crc, const uint32_t *words, size_t count) {
  uint32_t state = ~0u;
  for (size_t i = 0; i < count; ++i) {
    state ^= words[i];
    state = crc->table[3][state & 0xFF] ^ crc->table[2][state >> 8 & 0xFF] ^
            crc->table[1][state >> 16 & 0xFF] ^ crc->table[0][state >> 24];
  }
  return ~state;
}
