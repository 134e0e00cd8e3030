// SPDX-License-Identifier: Apache-2.0
/* Meets an instruction that does not exist before it is ready. */
#include "broken.h"

__attribute__((naked, aligned(4))) static void trap(void) {
  uint32_t mcause;
  __asm__ volatile("csrr %0, mcause" : "=r"(mcause));
  REGISTER(SPYRE_REG_MC_PANIC) = mcause;
  for (;;) __asm__ volatile("wfi");
}

void run(void) {
  __asm__ volatile("csrw mtvec, %0" : : "r"(trap));
  say("boot: about to fall");
  __asm__ volatile(".word 0xffffffff");
}
