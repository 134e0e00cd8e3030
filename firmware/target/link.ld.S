/* SPDX-License-Identifier: Apache-2.0 */
/* Linker script, run through the preprocessor: image and data from the start of the SRAM, the stack
 * at its end. */
#include <contract/spyre_registers.h>

ENTRY(_start)

__stack_bytes = 2048;

MEMORY {
  sram (rwx) : ORIGIN = SPYRE_CONTROLLER_SRAM_BASE, LENGTH = SPYRE_CONTROLLER_SRAM_BYTES
}

PHDRS {
  code PT_LOAD FLAGS(5); /* read, execute */
  data PT_LOAD FLAGS(6); /* read, write */
}

SECTIONS {
  .text : {
    *(.text.start)
    *(.text .text.*)
  } > sram :code
  .rodata : { *(.rodata .rodata.* .srodata .srodata.*) } > sram :code
  .data : ALIGN(4) { *(.data .data.* .sdata .sdata.*) } > sram :data
  __image_bytes = ABSOLUTE(. - ORIGIN(sram));
  .bss (NOLOAD) : ALIGN(8) {
    __bss_start = .;
    *(.bss .bss.* .sbss .sbss.* COMMON)
    . = ALIGN(4);
    __bss_end = .;
  } > sram :data
  __stack_top = ORIGIN(sram) + LENGTH(sram);
  /DISCARD/ : { *(.comment) *(.eh_frame) }
}

ASSERT(__image_bytes < SPYRE_FIRMWARE_IMAGE_BYTES, "the firmware image is larger than FIRMWARE_IMAGE_BYTES")
ASSERT(__bss_end <= __stack_top - __stack_bytes, "the firmware's data reaches into its stack")
