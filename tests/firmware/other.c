// SPDX-License-Identifier: Apache-2.0
/* A firmware that comes up: it says another version and serves nobody. */
#include "broken.h"

void run(void) {
  say("boot: another firmware");
  REGISTER(SPYRE_REG_MC_VERSION) = 9u << 16 | 5u;
  REGISTER(SPYRE_REG_MC_STATE) = SPYRE_FIRMWARE_STATE_READY;
  for (;;) __asm__ volatile("wfi");
}
