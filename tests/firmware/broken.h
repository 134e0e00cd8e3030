// SPDX-License-Identifier: Apache-2.0
/* What the firmwares that fail on purpose share: a start, the registers, the log. */
#ifndef SPYRE_TESTS_BROKEN_H_
#define SPYRE_TESTS_BROKEN_H_

#include <contract/spyre_registers.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

__attribute__((naked, used, section(".text.start"))) void _start(void) {
  __asm__ volatile("lui sp, 0x80020\n j run");
}

static inline void say(const char *text) {
  while (*text != 0) REGISTER(SPYRE_REG_MC_LOG) = (uint8_t)*text++;
  REGISTER(SPYRE_REG_MC_LOG) = '\n';
}

#endif
