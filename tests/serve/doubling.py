# SPDX-License-Identifier: Apache-2.0
"""A launch from beginning to end: two sticks go to the card, a program doubles them, they come back."""

import os
import struct
import subprocess

import served_card
import spyre

BYTES = 12288  # of host memory
SOURCE, TARGET, PROGRAM = 0x10000, 0x20000, 0x40000  # in device memory
AT_PROGRAM, AT_RESULT = 4096, 8192  # in host memory; the operand is at 0

# One core: x + x, in SEN169_FP16.
TEXT = """.program double
.cores 0x1
.lx 512
.table 2
.section load 0x1
  tab r1, 0
  li r2, 256
  li r3, 1
  load r0, r1, r2, r3, r2, r2, r3, r0, r0, r0 signal=t1
.section vector 0x1
  li r1, 256
  li r2, 1
  li r3, 2
  li r4, 128
  vbinary.add r1, r0, r0, r3, r2, r0, r0, r0, r4, r4, r4 wait=t1 signal=t2
.section store 0x1
  tab r1, 1
  li r2, 256
  li r3, 1
  li r4, 256
  store r4, r1, r2, r3, r2, r2, r3, r0, r0 wait=t2
"""

# 1.0 and 1.5, and twice that: exponent bias 31, 9 bits of fraction.
OPERAND = struct.pack("<128H", *([31 << 9] * 64 + [31 << 9 | 256] * 64))
RESULT = struct.pack("<128H", *([32 << 9] * 64 + [32 << 9 | 256] * 64))


def assemble(test):
    """The program, with its table of addresses behind header and sections filled in."""
    text, binary = test.write("double.s", TEXT), os.path.join(test.directory, "double.bin")
    subprocess.run([served_card.program(), "asm", text, "-o", binary], check=True,
                   stdout=subprocess.DEVNULL)
    with open(binary, "rb") as file:
        image = bytearray(file.read())
    sections = struct.unpack_from("<I", image, 24)[0]
    table = (128 + 16 * sections + 127) // 128 * 128
    struct.pack_into("<QQ", image, table, SOURCE, TARGET)
    return bytes(image).ljust((len(image) + 127) // 128 * 128, b"\0")


def launch(test, driver, memory, base):
    """On the physical function, which may reach device memory from 0; `memory` is mapped at base."""
    image = assemble(test)
    memory.data[0:256] = OPERAND
    memory.data[AT_PROGRAM:AT_PROGRAM + len(image)] = image
    for opcode, arguments in (
            (spyre.DMA_IN, {"host": base, "device": SOURCE, "size": 256}),
            (spyre.DMA_IN, {"host": base + AT_PROGRAM, "device": PROGRAM, "size": len(image)}),
            (spyre.COMPUTE, {"program_base": PROGRAM, "program_bytes": len(image)}),
            (spyre.DMA_OUT, {"host": base + AT_RESULT, "device": TARGET, "size": 256})):
        test.assertEqual(driver.run(opcode, **arguments), 0)
    test.assertEqual(memory.data[AT_RESULT:AT_RESULT + 256], RESULT)
