// SPDX-License-Identifier: Apache-2.0
/* What must hold before requests are served: memory keeps what is written, the CRC is right, the
 * card's facts make sense. */
#include <stddef.h>

#include "firmware/bus.h"
#include "firmware/state.h"

static bool keeps(volatile uint32_t *words, uint32_t step, uint32_t flip, uint32_t *found) {
  for (uint32_t i = 0; i < FW_SCRATCH_WORDS; ++i) words[i] = i * step ^ flip;
  for (uint32_t i = 0; i < FW_SCRATCH_WORDS; ++i) {
    *found = words[i];
    if (*found != (i * step ^ flip)) return false;
  }
  return true;
}

/* Each word holds its number in every byte, then the complement, then a bit walks through one. */
static bool sram_keeps(struct fw *fw, uint32_t *found) {
  if (!keeps(fw->scratch, 0x01010101, 0, found) || !keeps(fw->scratch, 0x01010101, ~0u, found))
    return false;
  for (uint32_t bit = 1; bit != 0; bit <<= 1) {
    fw->scratch[0] = bit;
    *found = fw->scratch[0];
    if (*found != bit) return false;
  }
  return true;
}

/* The CRC unit, over the bytes 0, 1, 2, ... 123. */
static bool crc_right(struct fw *fw, uint32_t *found) {
  for (uint32_t i = 0; i < SPYRE_ENTRY_BYTES / 4 - 1; ++i)
    fw_write(fw, SPYRE_REG_MC_BLOCK_OUT + 4 * i, 0x03020100 + i * 0x04040404);
  *found = fw_read(fw, SPYRE_REG_MC_BLOCK_CRC);
  return *found == 0xB3AD0DAE;
}

static bool card_sane(struct fw *fw, uint32_t *found) {
  *found = fw->vfs;
  if (fw->vfs >= SPYRE_MAX_FUNCTIONS) return false;
  *found = fw->cores;
  if (fw->cores == 0 || fw->cores > FW_MAX_CORES) return false;
  *found = (uint32_t)fw->memory_bytes;
  return fw->memory_bytes != 0 && fw->memory_bytes % SPYRE_ENTRY_BYTES == 0 &&
         fw->memory_bytes <= UINT64_MAX - (1ull << SPYRE_SEGMENT_BITS);
}

enum fw_self_test_step fw_self_test(struct fw *fw, uint32_t *found) {
  if (!sram_keeps(fw, found)) return FW_TEST_SRAM;
  if (!crc_right(fw, found)) return FW_TEST_CRC;
  if (!card_sane(fw, found)) return FW_TEST_CARD;
  return FW_TEST_PASSED;
}

enum fw_self_test_step fw_test_and_report(struct fw *fw) {
  static const char *const names[] = {"ok", "SRAM", "CRC", "facts of the card"};
  uint32_t found = 0;
  const enum fw_self_test_step step = fw_self_test(fw, &found);
  fw_log(fw, "self-test: ");
  fw_log(fw, names[step]);
  if (step != FW_TEST_PASSED) {
    fw_log(fw, " failed, found ");
    fw_log_number(fw, found);
    /* Whatever asks is answered, but no function is served. */
    fw->vfs = 0;
    fw_ras_add(fw, FW_RAS(SELF_TEST_FAILED, FATAL, RESET_CARD), 0, false, step, found);
    fw_write(fw, SPYRE_REG_MC_STATE, SPYRE_FIRMWARE_STATE_FAILED);
  }
  fw_log(fw, "\n");
  return step;
}
