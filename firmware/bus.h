// SPDX-License-Identifier: Apache-2.0
/* Access to the card's registers, 32 bits at a time. */
#ifndef SPYRE_FIRMWARE_BUS_H_
#define SPYRE_FIRMWARE_BUS_H_

#include <stdint.h>

#include "firmware/state.h"

#ifdef SPYRE_FIRMWARE_TARGET
static inline uint32_t fw_read(const struct fw *fw, uint32_t address) {
  (void)fw;
  return *(volatile const uint32_t *)address;
}
static inline void fw_write(const struct fw *fw, uint32_t address, uint32_t value) {
  (void)fw;
  *(volatile uint32_t *)address = value;
}
#else
static inline uint32_t fw_read(const struct fw *fw, uint32_t address) {
  return fw->bus.read(fw->bus.context, address);
}
static inline void fw_write(const struct fw *fw, uint32_t address, uint32_t value) {
  fw->bus.write(fw->bus.context, address, value);
}
#endif

/* A _LO register and the _HI register behind it. */
static inline uint64_t fw_read_pair(const struct fw *fw, uint32_t address) {
  const uint32_t low = fw_read(fw, address);
  return (uint64_t)fw_read(fw, address + 4) << 32 | low;
}
static inline void fw_write_pair(const struct fw *fw, uint32_t address, uint64_t value) {
  fw_write(fw, address, (uint32_t)value);
  fw_write(fw, address + 4, (uint32_t)(value >> 32));
}

#endif /* SPYRE_FIRMWARE_BUS_H_ */
