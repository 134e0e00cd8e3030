// SPDX-License-Identifier: Apache-2.0
/* Fails its self-test. */
#include "broken.h"

void run(void) {
  say("self-test: memory at 0x80001000 is 0, expected 1");
  REGISTER(SPYRE_REG_MC_STATE) = SPYRE_FIRMWARE_STATE_FAILED;
  for (;;) __asm__ volatile("wfi");
}
