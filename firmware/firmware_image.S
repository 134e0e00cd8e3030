/* SPDX-License-Identifier: Apache-2.0 */
/* SPYRE_FIRMWARE_ELF: path of the ELF file. */
  .section .rodata
  .balign 16
  .globl spyre_firmware_image_begin
spyre_firmware_image_begin:
  .incbin SPYRE_FIRMWARE_ELF
  .globl spyre_firmware_image_end
spyre_firmware_image_end:
  .section .note.GNU-stack, "", @progbits
