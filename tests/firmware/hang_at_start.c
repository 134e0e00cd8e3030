// SPDX-License-Identifier: Apache-2.0
/* Arms its watchdog and hangs before it is ready. */
#include "broken.h"

void run(void) {
  REGISTER(SPYRE_REG_MC_WATCHDOG) = 50;
  say("boot: about to hang");
  for (;;) __asm__ volatile("");
}
