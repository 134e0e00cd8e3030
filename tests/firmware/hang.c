// SPDX-License-Identifier: Apache-2.0
/* Arms its watchdog, becomes ready and hangs. */
#include "broken.h"

__attribute__((noinline, used)) static void hang(void) {
  for (;;) __asm__ volatile("");
}

void run(void) {
  REGISTER(SPYRE_REG_MC_WATCHDOG) = 50;
  say("boot: about to hang");
  REGISTER(SPYRE_REG_MC_STATE) = SPYRE_FIRMWARE_STATE_READY;
  hang();
}
