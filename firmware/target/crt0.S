/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up and traps. Interrupts stay off (mstatus.MIE): a pending one only ends wfi. */
#include <contract/spyre_registers.h>

  .section .text.start, "ax"
  .globl _start
  .type _start, @function
_start:
  la t0, fw_trap
  csrw mtvec, t0
  la t0, __stack_top
  mv sp, t0
  la t0, __bss_start
  la t1, __bss_end
1:
  bgeu t0, t1, 2f
  sw zero, 0(t0)
  addi t0, t0, 4
  j 1b
2:
  call main
3:
  j 3b
  .size _start, . - _start

/* The firmware expects no trap: the card gets pc, value and cause, and stops the controller. The
 * stack stays as it was, for a debugger. */
  .section .text.fw_trap, "ax"
  .balign 4
  .globl fw_trap
  .type fw_trap, @function
fw_trap:
  csrr t0, mepc
  li t1, SPYRE_REG_MC_PANIC_PC
  sw t0, 0(t1)
  csrr t0, mtval
  li t1, SPYRE_REG_MC_PANIC_VALUE
  sw t0, 0(t1)
  csrr t0, mcause
  li t1, SPYRE_REG_MC_PANIC
  sw t0, 0(t1)
1:
  wfi
  j 1b
  .size fw_trap, . - fw_trap
