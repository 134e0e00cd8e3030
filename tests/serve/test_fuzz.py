# SPDX-License-Identifier: Apache-2.0
"""Random and mutated messages: the server answers or closes that connection, and nothing else."""

import os
import random
import socket
import struct
import unittest

import served_card
import spyre
import vfio_user

HEAD = vfio_user.HEADER
INTERESTING = (0, 1, 2, 4, 7, 8, 9, 16, 31, 32, 255, 4095, 4096, 65536, 1 << 20, (1 << 20) + 1,
               1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - 1, (1 << 64) - 4096)


class Fuzz(served_card.ServedCard):
    SEED = int(os.environ.get("SPYRE_FUZZ_SEED", "0"))
    ROUNDS = 400

    def setUp(self):
        super().setUp()
        self.rng = random.Random(self.SEED)
        self.event = os.eventfd(0)
        self.file = vfio_user.SharedMemory(1 << 16)
        self.serve("--vfs", "2")
        self.other = spyre.Driver(self.connect(1), 1)

    def number(self, size):
        rng = self.rng
        value = rng.choice(INTERESTING) if rng.random() < 0.7 else rng.getrandbits(8 * size)
        return value & (1 << 8 * size) - 1

    def message(self):
        """A payload whose fields are near to what is allowed."""
        rng, n = self.rng, self.number
        command = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 10, 13, 15, 16, n(2)))
        pack = struct.pack
        region = rng.choice((0, 2, 4, 7, 7, 9, n(4)))
        offset = rng.choice((rng.randrange(4096), rng.randrange(0x8000) & ~3, n(8)))
        count = rng.choice((1, 2, 4, 8, 100, n(4)))
        if command == 2:
            payload = pack("<IIQQQ", rng.choice((32, n(4))), rng.choice((1, 2, 3, n(4))),
                           rng.choice((0, 4096, n(8))), n(8), rng.choice((4096, n(8))))
        elif command == 3:
            payload = pack("<IIQQ", rng.choice((24, n(4))), rng.choice((0, 2, n(4))), n(8), n(8))
        elif command == 5:
            payload = pack("<IIIIQQ", rng.choice((32, n(4))), 0, rng.choice((0, 9, n(4))), 0, 0, 0)
        elif command in (4, 6, 7, 16):
            payload = pack("<IIII", rng.choice((16, n(4))), n(4), n(4), n(4))
        elif command == 8:
            payload = pack("<IIIII", 20, 1 << rng.randrange(3) | 8 << rng.randrange(3),
                           rng.choice((1, n(4))), n(4), rng.choice((0, 1, 8, n(4))))
            payload += rng.randbytes(rng.randrange(9))
        elif command == 10:
            count = min(count, 1000)
            payload = pack("<QII", offset, region, count) + rng.randbytes(count)
        else:
            payload = pack("<QII", offset, region, min(count, 5000))
        if rng.random() < 0.2:
            payload = bytearray(payload)
            for _ in range(rng.randrange(1, 4)):
                if payload:
                    payload[rng.randrange(len(payload))] = rng.randrange(256)
            payload = bytes(payload[:rng.randrange(len(payload) + 1)])
        return command, payload

    def drain(self, sock):
        try:
            while sock.recv(65536):
                pass
        except (BlockingIOError, ConnectionError, TimeoutError):
            pass

    def attack(self, function):
        rng = self.rng
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path(function))
        try:
            if rng.random() < 0.9:
                sock.sendall(HEAD.pack(1, 1, 20, 0, 0) + struct.pack("<HH", 0, rng.randrange(3)))
            sock.setblocking(False)
            for _ in range(rng.randrange(1, 30)):
                command, payload = self.message()
                size = 16 + len(payload)
                if rng.random() < 0.03:
                    size = self.number(4)
                flags = rng.choice((0, 0, 0, 0, 0x10)) if rng.random() < 0.97 else self.number(4)
                data = HEAD.pack(self.number(2), command, size, flags, self.number(4)) + payload
                fds = rng.choice(((), (), (self.file.fd,), (self.event,), (self.event,) * 8,
                                  (self.file.fd,) * 9 if rng.random() < 0.1 else ()))
                if rng.random() < 0.02:
                    data = rng.randbytes(rng.randrange(1, 100))
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                              struct.pack(f"{len(fds)}i", *fds))] if fds else []
                try:
                    sock.sendmsg([data], ancillary)
                except BlockingIOError:
                    self.drain(sock)
                if rng.random() < 0.3:
                    self.drain(sock)
        except ConnectionError:
            pass  # sent away
        finally:
            sock.close()

    def test_only_the_connection_that_sends_it_suffers(self):
        for index in range(self.ROUNDS):
            self.attack(2)
            self.assertIsNone(self.server.poll(), f"seed {self.SEED} round {index}\n{self.log()}")
            if index % 20 == 0:
                self.assertEqual(self.other.run(spyre.NOP), 0)
        # The physical function may take the virtual ones away, so this is for last.
        for index in range(self.ROUNDS // 4):
            self.attack(0)
            self.assertIsNone(self.server.poll(), f"seed {self.SEED} round {index}\n{self.log()}")
        client = self.connect_again()
        self.assertEqual(spyre.Driver(client).run(spyre.NOP), 0)


if __name__ == "__main__":
    unittest.main()
