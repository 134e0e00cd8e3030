// SPDX-License-Identifier: Apache-2.0
/* Becomes ready and then meets an instruction that does not exist. */
#include "broken.h"

__attribute__((naked, aligned(4))) static void trap(void) {
  uint32_t mepc, mcause, mtval;
  __asm__ volatile("csrr %0, mepc\n csrr %1, mcause\n csrr %2, mtval"
                   : "=r"(mepc), "=r"(mcause), "=r"(mtval));
  REGISTER(SPYRE_REG_MC_PANIC_PC) = mepc;
  REGISTER(SPYRE_REG_MC_PANIC_VALUE) = mtval;
  REGISTER(SPYRE_REG_MC_PANIC) = mcause;
  for (;;) __asm__ volatile("wfi");
}

__attribute__((noinline, used)) static void stumble(void) { __asm__ volatile(".word 0xffffffff"); }

void run(void) {
  __asm__ volatile("csrw mtvec, %0" : : "r"(trap));
  say("boot: ready to fall");
  REGISTER(SPYRE_REG_MC_STATE) = SPYRE_FIRMWARE_STATE_READY;
  stumble();
}
