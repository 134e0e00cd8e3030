// SPDX-License-Identifier: Apache-2.0
/* Boots for ever. */
#include "broken.h"

void run(void) {
  REGISTER(SPYRE_REG_MC_STATE) = SPYRE_FIRMWARE_STATE_BOOT;
  say("boot: waiting for nothing");
  for (;;) __asm__ volatile("wfi");
}
