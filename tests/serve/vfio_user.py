# SPDX-License-Identifier: Apache-2.0
"""A vfio-user client written from the specification (QEMU, docs/interop/vfio-user.rst).

It shares no code and no header with the server: every layout is spelled out here.
"""

import array
import errno
import json
import mmap
import os
import select
import socket
import struct

VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, GET_REGION_INFO, GET_REGION_IO_FDS = 1, 2, 3, 4, 5, 6
GET_IRQ_INFO, SET_IRQS, REGION_READ, REGION_WRITE, DMA_READ, DMA_WRITE = 7, 8, 9, 10, 11, 12
RESET, REGION_WRITE_MULTI, FEATURE = 13, 15, 16

REPLY, NO_REPLY, ERROR = 0x1, 0x10, 0x20
CONFIG = 7  # region; BARs are 0 to 5
TIME = 9
MSI = 1  # interrupt index

HEADER = struct.Struct("<HHIII")


class Refused(Exception):
    """The server has answered with an error."""

    def __init__(self, number):
        super().__init__(errno.errorcode.get(number, str(number)))
        self.errno = number


class Lost(Exception):
    """The server has closed the connection."""


class Client:
    """One connection. Memory that is mapped without a file is reached by the server's messages."""

    def __init__(self, path, capabilities=None, version=(0, 1), hello=True):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(120)
        self.sock.connect(path)
        self.next_id = 0
        self.memory = {}  # address: bytearray, of windows without a file
        self.asked = []  # what the server has asked for: (command, address, count)
        self.refuse_dma = False
        self.silent = False  # does not answer what the server asks for, until answer_all
        self.owed = []
        self.capabilities = {}
        if hello:
            try:
                self.hello(capabilities, version)
            except BaseException:
                self.sock.close()
                raise

    def hello(self, capabilities=None, version=(0, 1)):
        payload = struct.pack("<HH", *version)
        if capabilities is not None:
            payload += json.dumps({"capabilities": capabilities}).encode() + b"\0"
        reply = self.call(VERSION, payload)
        self.version = struct.unpack_from("<HH", reply)
        if len(reply) > 4:
            assert reply[-1] == 0, "capabilities end in a NUL"
            self.capabilities = json.loads(reply[4:-1].decode())["capabilities"]

    def close(self):
        self.sock.close()

    # ---- messages

    def send(self, command, payload=b"", flags=0, fds=(), size=None):
        self.next_id = (self.next_id + 1) & 0xFFFF
        size = HEADER.size + len(payload) if size is None else size
        message = HEADER.pack(self.next_id, command, size, flags, 0) + payload
        ancillary = []
        if fds:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        try:
            sent = self.sock.sendmsg([message], ancillary)
            if sent < len(message):
                self.sock.sendall(message[sent:])
        except ConnectionError as error:
            raise Lost(str(error)) from error
        return self.next_id

    def read_exactly(self, count):
        data = b""
        while len(data) < count:
            try:
                part = self.sock.recv(count - len(data))
            except ConnectionError as error:
                raise Lost(str(error)) from error
            if not part:
                raise Lost("the server has closed the connection")
            data += part
        return data

    def receive(self):
        """The next reply; commands of the server are answered on the way."""
        while True:
            head = self.read_exactly(HEADER.size)
            number, command, size, flags, error = HEADER.unpack(head)
            payload = self.read_exactly(size - HEADER.size)
            if flags & 0xF == REPLY:
                return number, command, flags, error, payload
            self.answer(number, command, payload)

    def answer(self, number, command, payload):
        address, count = struct.unpack_from("<QQ", payload)
        self.asked.append((command, address, count))
        if self.silent:
            self.owed.append((number, command, payload))
            return
        reply, flags, error = payload[:16], REPLY, 0
        window = next(((base, data) for base, data in self.memory.items()
                       if base <= address and address + count <= base + len(data)), None)
        if window is None or self.refuse_dma:
            reply, flags, error = b"", REPLY | ERROR, errno.EFAULT
        elif command == DMA_READ:
            base, data = window
            reply += bytes(data[address - base:address - base + count])
        elif command == DMA_WRITE:
            base, data = window
            assert len(payload) == 16 + count
            data[address - base:address - base + count] = payload[16:]
            reply = struct.pack("<QI", address, count)  # the specification: a count of 4 bytes
        self.sock.sendall(HEADER.pack(number, command, HEADER.size + len(reply), flags, error) +
                          reply)

    def answer_all(self):
        """Of what it has been silent about, and from now on."""
        self.silent = False
        owed, self.owed = self.owed, []
        for number, command, payload in owed:
            self.answer(number, command, payload)

    def call(self, command, payload=b"", fds=()):
        number = self.send(command, payload, fds=fds)
        got, command_back, flags, error, reply = self.receive()
        assert (got, command_back) == (number, command), "a reply repeats id and command"
        if flags & ERROR:
            assert reply == b"", "an error reply is a header alone"
            raise Refused(error)
        return reply

    # ---- the device

    def info(self, argsz=16):
        return struct.unpack("<IIII", self.call(GET_INFO, struct.pack("<IIII", argsz, 0, 0, 0)))

    def region_info(self, index, argsz=32):
        request = struct.pack("<IIIIQQ", argsz, 0, index, 0, 0, 0)
        reply = self.call(GET_REGION_INFO, request)
        return struct.unpack_from("<IIIIQQ", reply), reply[32:]

    def irq_info(self, index):
        reply = self.call(GET_IRQ_INFO, struct.pack("<IIII", 16, 0, index, 0))
        return struct.unpack("<IIII", reply)

    def set_irqs(self, flags, index, start, count, data=b"", fds=()):
        request = struct.pack("<IIIII", 20 + len(data), flags, index, start, count) + data
        self.call(SET_IRQS, request, fds)

    def read(self, region, offset, count):
        reply = self.call(REGION_READ, struct.pack("<QII", offset, region, count))
        assert reply[:16] == struct.pack("<QII", offset, region, count)
        assert len(reply) == 16 + count
        return reply[16:]

    def write(self, region, offset, data):
        reply = self.call(REGION_WRITE, struct.pack("<QII", offset, region, len(data)) + data)
        assert reply == struct.pack("<QII", offset, region, len(data))

    def dma_map(self, address, size, fd=None, offset=0, flags=3):
        request = struct.pack("<IIQQQ", 32, flags, offset, address, size)
        assert self.call(DMA_MAP, request, () if fd is None else (fd,)) == b""

    def dma_unmap(self, address, size, flags=0):
        """Returns how many bytes were mapped in the range."""
        reply = self.call(DMA_UNMAP, struct.pack("<IIQQ", 24, flags, address, size))
        assert reply[:16] == struct.pack("<IIQ", 24, flags, address) and len(reply) == 24
        return struct.unpack("<Q", reply[16:])[0]

    def reset(self):
        assert self.call(RESET) == b""

    def read32(self, region, offset):
        return struct.unpack("<I", self.read(region, offset, 4))[0]

    def write32(self, region, offset, value):
        self.write(region, offset, struct.pack("<I", value))

    # ---- the card's clock, for clients with spyre_time

    def now(self):
        return struct.unpack("<Q", self.read(TIME, 0, 8))[0]

    def advance(self, ps):
        self.write(TIME, 8, struct.pack("<Q", ps))

    def wait(self, vector, deadline_ps):
        self.write(TIME, 16, struct.pack("<QII", deadline_ps, vector, 0))
        return self.read32(TIME, 32)  # 0 interrupt, 1 deadline, 2 stalled


class SharedMemory:
    """Memory in a file without a name, for dma_map with a descriptor."""

    def __init__(self, size):
        self.fd = os.memfd_create("vfio-user-test")
        os.ftruncate(self.fd, size)
        self.data = mmap.mmap(self.fd, size)

    def close(self):
        self.data.close()
        os.close(self.fd)


def wait_eventfd(fd, seconds=120):
    """Whether the event has come."""
    if not select.select([fd], [], [], seconds)[0]:
        return False
    os.read(fd, 8)
    return True
