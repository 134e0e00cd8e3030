# SPDX-License-Identifier: Apache-2.0
"""A driver for one function of the card, from docs/registers.md, over a vfio-user client."""

import os
import struct

import vfio_user

# Configuration space
COMMAND, EXPRESS, MSI = 0x04, 0x70, 0x50
# Registers
MAGIC, FUNCTION, CAPABILITIES, STATUS, CONTROL, SCRATCH = 0x0, 0x8, 0xC, 0x14, 0x18, 0x20
SQ_BASE, SQ_ENTRIES, SQ_TAIL, SQ_HEAD = 0x1000, 0x1008, 0x100C, 0x1010
RQ_BASE, RQ_ENTRIES, RQ_HEAD, RQ_TAIL, QUEUE_CONTROL = 0x1014, 0x101C, 0x1020, 0x1024, 0x1028
INT_STATUS, INT_ENABLE = 0x2000, 0x2004
MAP_BASE, MAP_LENGTH, MAP_PERMISSION, MAP_COMMAND, MAP_STATUS = (
    0x4000, 0x4008, 0x4010, 0x4014, 0x4018)

NOP, DMA_IN, DMA_OUT, DMA_FILL, COMPUTE, FENCE = 0, 1, 2, 3, 4, 5
INTERRUPT = 1  # flag of an operation

RING = 16
RESPONSES_AT = 4096  # from the start of the rings' memory
RINGS_BYTES = 8192


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def status_of(response):
    return struct.unpack_from("<H", response, 4)[0]


class Driver:
    """Rings at `rings` in the IO address space; `memory` holds them there, at offset 0; if it is given, it
    is mapped already."""

    def __init__(self, client, function=0, rings=0x10000, shared=True, idle=None,
                 memory=None):
        self.client = client
        self.function = function
        self.rings = rings
        self.idle = idle or (lambda: None)  # what a poll does between two looks
        if memory is not None:
            self.memory = memory
        elif shared:
            self.file = vfio_user.SharedMemory(RINGS_BYTES)
            self.memory = self.file.data
            client.dma_map(rings, RINGS_BYTES, self.file.fd)
        else:
            self.memory = bytearray(RINGS_BYTES)
            client.memory[rings] = self.memory
            client.dma_map(rings, RINGS_BYTES)
        client.write(vfio_user.CONFIG, COMMAND, struct.pack("<H", 0x6))  # memory, bus master
        self.wait_ready()
        self.tail = 0
        self.taken = 0
        self.start()

    def reg(self, offset):
        return self.client.read32(0, offset)

    def set(self, offset, value):
        self.client.write32(0, offset, value)

    def set64(self, offset, value):
        self.set(offset, value & 0xFFFFFFFF)
        self.set(offset + 4, value >> 32)

    def wait_ready(self):
        for _ in range(1_000_000):
            if self.reg(STATUS) & 1:
                return
            self.idle()
        raise AssertionError("the function does not become ready")

    def start(self):
        self.set(QUEUE_CONTROL, 0)
        self.set(CONTROL, 1)
        self.reg(STATUS)
        self.memory[0:RINGS_BYTES] = bytes(RINGS_BYTES)
        self.tail = self.taken = 0
        self.set64(SQ_BASE, self.rings)
        self.set(SQ_ENTRIES, RING)
        self.set64(RQ_BASE, self.rings + RESPONSES_AT)
        self.set(RQ_ENTRIES, RING)
        self.set(INT_ENABLE, 7)
        self.set(QUEUE_CONTROL, 1)

    def enable_msi(self, vectors=8, data=0x4020, address=0xFEE00000):
        """An eventfd for each vector; returns them."""
        events = [os.eventfd(0) for _ in range(vectors)]
        self.client.set_irqs(0x4 | 0x20, vfio_user.MSI, 0, vectors, fds=events)
        config = vfio_user.CONFIG
        self.client.write32(config, MSI + 4, address & 0xFFFFFFFF)
        self.client.write32(config, MSI + 8, address >> 32)
        self.client.write(config, MSI + 12, struct.pack("<H", data))
        enabled = {1: 0, 2: 1, 4: 2, 8: 3}[vectors]
        self.client.write(config, MSI + 2, struct.pack("<H", 1 | enabled << 4))
        return events

    # ---- operations

    def submit(self, opcode, host=0, device=0, size=0, flags=0, program_base=0, program_bytes=0,
               value=0, region=0):
        sequence = self.tail + 1
        if self.function == 0:
            entry = struct.pack("<HBBHHIIQQQQQQQQQ", 0x4243, 1, opcode, 0, flags, 0, 0, sequence,
                                host, device, size, program_base, program_bytes, 0, value, 0)
        else:
            entry = struct.pack("<HBBHHIIQQQQQQIIQQ", 0x4D56, 1, opcode, 0, flags, 0, region,
                                sequence, host, device, size, program_base, program_bytes, region,
                                0, value, 0)
        entry = entry.ljust(124, b"\0")
        entry += struct.pack("<I", crc32c(entry))
        slot = self.tail % RING * 128
        self.memory[slot:slot + 128] = entry
        self.tail += 1
        return sequence

    def ring(self):
        self.set(SQ_TAIL, self.tail)

    def poll(self):
        """The next response: (sequence, status, bytes of the response); None if there is none."""
        at = RESPONSES_AT + self.taken % RING * 128
        entry = bytes(self.memory[at:at + 128])
        phase = 1 if self.taken // RING % 2 == 0 else 0
        if entry[0:2] != b"RB" or entry[12] & 1 != phase:
            return None
        if struct.unpack_from("<I", entry, 124)[0] != crc32c(entry[:124]):
            return None  # its second half is still on its way
        self.taken += 1
        self.set(RQ_HEAD, self.taken)
        return struct.unpack_from("<Q", entry, 16)[0], entry

    def wait(self, polls=200_000):
        for _ in range(polls):
            response = self.poll()
            if response is not None:
                return response
            self.idle()
            self.reg(STATUS)
        raise AssertionError("no response")

    def run(self, opcode, **arguments):
        """Submits, rings, waits; returns the status."""
        sequence = self.submit(opcode, **arguments)
        self.ring()
        got, entry = self.wait()
        assert got == sequence
        return status_of(entry)

    def map_range(self, base, length, permission=7):
        """Of the physical function: what its operations may touch."""
        self.set64(MAP_BASE, base)
        self.set64(MAP_LENGTH, length)
        self.set(MAP_PERMISSION, permission)
        self.set(MAP_COMMAND, 1)
        assert self.reg(MAP_STATUS) == 0
