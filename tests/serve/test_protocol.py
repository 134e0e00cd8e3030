# SPDX-License-Identifier: Apache-2.0
"""Messages of the protocol: golden bytes, refusals, clients that come and go."""

import errno
import os
import socket
import struct
import subprocess
import unittest

import served_card
import spyre
import vfio_user
from vfio_user import CONFIG

HELLO = bytes.fromhex("0700 0100 14000000 00000000 00000000 0000 0100")


class GoldenBytes(served_card.ServedCard):
    """Request and reply as the tables of the specification spell them, byte by byte."""

    def exchange(self, sock, request, reply):
        sock.sendall(bytes.fromhex(request))
        expected = bytes.fromhex(reply)
        got = b""
        while len(got) < len(expected):
            part = sock.recv(len(expected) - len(got))
            self.assertTrue(part, "closed")
            got += part
        self.assertEqual(got.hex(" "), expected.hex(" "))

    def test_every_message_has_the_bytes_of_the_specification(self):
        self.serve()
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path())
        # VERSION 0.1 without capabilities; the reply has those of the server.
        sock.sendall(HELLO)
        head = sock.recv(16)
        self.assertEqual(head[0:4] + head[8:16], bytes.fromhex("07000100 01000000 00000000"))
        size = struct.unpack_from("<I", head, 4)[0]
        payload = sock.recv(size - 16)
        self.assertEqual(payload, b'\0\0\1\0{"capabilities":{"max_msg_fds":8,'
                         b'"max_data_xfer_size":1048576}}\0')
        # DEVICE_GET_INFO: reset and PCI, 9 regions, 5 interrupt types
        self.exchange(sock, "0100 0400 20000000 00000000 00000000 10000000 00000000 00000000 00000000",
                      "0100 0400 20000000 01000000 00000000 10000000 03000000 09000000 05000000")
        # GET_REGION_INFO of BAR0: readable and writable, 4 MiB
        self.exchange(
            sock, "0200 0500 30000000 00000000 00000000"
            " 20000000 00000000 00000000 00000000 0000000000000000 0000000000000000",
            "0200 0500 30000000 01000000 00000000"
            " 20000000 03000000 00000000 00000000 0000400000000000 0000000000000000")
        # ... of BAR1, which does not exist: the upper half of BAR0
        self.exchange(
            sock, "0300 0500 30000000 00000000 00000000"
            " 20000000 00000000 01000000 00000000 0000000000000000 0000000000000000",
            "0300 0500 30000000 01000000 00000000"
            " 20000000 00000000 01000000 00000000 0000000000000000 0000000000000000")
        # GET_IRQ_INFO of MSI: eventfd, 8 vectors; of INTx: none
        self.exchange(sock, "0400 0700 20000000 00000000 00000000 10000000 00000000 01000000 00000000",
                      "0400 0700 20000000 01000000 00000000 10000000 01000000 01000000 08000000")
        self.exchange(sock, "0500 0700 20000000 00000000 00000000 10000000 00000000 00000000 00000000",
                      "0500 0700 20000000 01000000 00000000 10000000 01000000 00000000 00000000")
        # REGION_READ of 4 bytes of configuration space at 0
        self.exchange(sock, "0600 0900 20000000 00000000 00000000 0000000000000000 07000000 04000000",
                      "0600 0900 24000000 01000000 00000000 0000000000000000 07000000 04000000"
                      " 1410a706")
        # REGION_WRITE of the Command register
        self.exchange(sock, "0700 0a00 22000000 00000000 00000000 0400000000000000 07000000 02000000"
                      " 0600",
                      "0700 0a00 20000000 01000000 00000000 0400000000000000 07000000 02000000")
        # DMA_MAP without a file, the same again (EEXIST), DMA_UNMAP, the same again: nothing is left (0 bytes)
        window = (" 20000000 03000000 0000000000000000 0000001000000000 0010000000000000")
        self.exchange(sock, "0800 0200 30000000 00000000 00000000" + window,
                      "0800 0200 10000000 01000000 00000000")
        self.exchange(sock, "0900 0200 30000000 00000000 00000000" + window,
                      "0900 0200 10000000 21000000 11000000")
        gone = " 18000000 00000000 0000001000000000 0010000000000000"
        self.exchange(sock, "0a00 0300 28000000 00000000 00000000" + gone,
                      "0a00 0300 28000000 01000000 00000000" + gone)
        self.exchange(sock, "0b00 0300 28000000 00000000 00000000" + gone,
                      "0b00 0300 28000000 01000000 00000000"
                      " 18000000 00000000 0000001000000000 0000000000000000")
        # SET_IRQS: all MSIs off
        self.exchange(sock, "0c00 0800 24000000 00000000 00000000 14000000 21000000 01000000 00000000"
                      " 00000000", "0c00 0800 10000000 01000000 00000000")
        # DEVICE_RESET, without and with a payload
        self.exchange(sock, "0d00 0d00 10000000 00000000 00000000",
                      "0d00 0d00 10000000 01000000 00000000")
        # DEVICE_FEATURE: this device does not migrate
        self.exchange(sock, "0e00 1000 18000000 00000000 00000000 08000000 01000100",
                      "0e00 1000 10000000 21000000 16000000")
        # A write without a reply, and a read behind it
        self.exchange(sock, "0f00 0a00 24000000 10000000 00000000 1000000000000000 07000000 04000000"
                      " 00004012"
                      "1000 0900 20000000 00000000 00000000 1000000000000000 07000000 04000000",
                      "1000 0900 24000000 01000000 00000000 1000000000000000 07000000 04000000"
                      " 0c004012")
        sock.close()


class Refusals(served_card.ServedCard):
    def test_what_is_out_of_bounds_is_refused_and_the_connection_stays(self):
        self.serve()
        client = self.connect()
        pack = struct.pack
        for command, payload, number in (
                (vfio_user.GET_INFO, pack("<IIII", 8, 0, 0, 0), errno.EINVAL),
                (vfio_user.GET_INFO, b"1234", errno.EINVAL),
                (vfio_user.GET_REGION_INFO, pack("<IIIIQQ", 32, 0, 9, 0, 0, 0), errno.EINVAL),
                (vfio_user.GET_REGION_INFO, pack("<IIIIQQ", 31, 0, 0, 0, 0, 0), errno.EINVAL),
                (vfio_user.GET_IRQ_INFO, pack("<IIII", 16, 0, 5, 0), errno.EINVAL),
                (vfio_user.GET_REGION_IO_FDS, pack("<IIII", 16, 0, 99, 0), errno.EINVAL),
                (vfio_user.REGION_READ, pack("<QII", 0, 0xDEADBEEF, 4), errno.EINVAL),
                (vfio_user.REGION_READ, pack("<QII", 4094, CONFIG, 4), errno.EINVAL),
                (vfio_user.REGION_READ, pack("<QII", (1 << 64) - 2, 0, 4), errno.EINVAL),
                (vfio_user.REGION_READ, pack("<QII", 0, 2, (1 << 20) + 1), errno.EINVAL),
                (vfio_user.REGION_READ, pack("<QII", 0, 8, 1), errno.EINVAL),
                (vfio_user.REGION_WRITE, pack("<QII", 0, CONFIG, 4) + b"123", errno.EINVAL),
                (vfio_user.DMA_MAP, pack("<IIQQQ", 32, 3, 0, 0, 0), errno.EINVAL),
                (vfio_user.DMA_MAP, pack("<IIQQQ", 32, 0x13, 0, 0, 4096), errno.EINVAL),
                (vfio_user.DMA_MAP, pack("<IIQQQ", 31, 3, 0, 0, 4096), errno.EINVAL),
                (vfio_user.DMA_MAP, pack("<IIQQQ", 32, 3, 0, (1 << 64) - 4096, 8192), errno.EINVAL),
                (vfio_user.DMA_UNMAP, pack("<IIQQ", 24, 2, 0, 4096), errno.EINVAL),
                (vfio_user.DMA_UNMAP, pack("<IIQQ", 24, 4, 0, 4096), errno.EINVAL),
                (vfio_user.SET_IRQS, pack("<IIIII", 20, 0x24, 0, 0, 1), errno.EINVAL),
                (vfio_user.SET_IRQS, pack("<IIIII", 20, 0x24, 1, 7, 2), errno.EINVAL),
                (vfio_user.SET_IRQS, pack("<IIIII", 20, 0x27, 1, 0, 1), errno.EINVAL),
                (vfio_user.SET_IRQS, pack("<IIIII", 20, 0x22, 1, 0, 4) + b"12", errno.EINVAL),
                (vfio_user.REGION_WRITE_MULTI, bytes(8), errno.EINVAL),
                (14, bytes(8), errno.EINVAL),
                (vfio_user.DMA_READ, bytes(16), errno.EINVAL),
                (99, b"", errno.EINVAL)):
            with self.subTest(command=command, payload=payload.hex()):
                self.assert_refused(number, client.call, command, payload)
        self.assertEqual(client.read32(CONFIG, 0), 0x06A71014)

    def assert_closed(self, message):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path())
        sock.settimeout(60)
        sock.sendall(message)
        reply = b""
        try:
            while part := sock.recv(4096):
                reply += part
        except ConnectionError:
            pass
        sock.close()
        return reply

    def test_a_message_that_cannot_be_framed_ends_its_connection_and_no_other(self):
        self.serve("--vfs", "1")
        other = self.connect(1)
        head = struct.Struct("<HHIII")
        for message in (head.pack(1, 1, 15, 0, 0), head.pack(1, 1, 1 << 31, 0, 0),
                        head.pack(1, 1, 16, 1, 0), head.pack(1, 1, 16, 2, 0),
                        head.pack(1, 4, 16, 0, 0),  # before the version
                        head.pack(1, 1, 20, 0, 0) + b"\1\0\0\0",  # major 1
                        head.pack(1, 1, 22, 0, 0) + b"\0\0\1\0{}",  # no NUL
                        head.pack(1, 1, 23, 0, 0) + b"\0\0\1\0[]\0"):
            reply = self.assert_closed(message)
            self.assertEqual(reply[8:12], b"\x21\0\0\0", message.hex())
            self.assertEqual(len(reply), 16)
        self.assert_closed(HELLO + HELLO)
        self.assertEqual(other.read32(CONFIG, 0), 0x06A81014)
        self.assertEqual(self.connect().read32(CONFIG, 0), 0x06A71014)

    def test_a_second_client_of_a_function_is_sent_away(self):
        self.serve()
        client = self.connect()
        with self.assertRaises(vfio_user.Lost):
            vfio_user.Client(self.path())
        self.assertEqual(client.read32(CONFIG, 0), 0x06A71014)

    def test_sockets_are_their_owners_and_a_second_server_is_refused(self):
        self.serve()
        self.assertEqual(os.stat(self.path()).st_mode & 0o777, 0o600)
        done = subprocess.run([served_card.program(), "serve", self.write("other.toml", ""),
                               "--vfio-user", os.path.dirname(self.path())],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is served already; stop that server", done.stderr)
        self.assertEqual(self.connect_again().read32(CONFIG, 0), 0x06A71014)

    def test_descriptors_that_nobody_asked_for_are_closed(self):
        self.serve()
        client = self.connect()
        fds = [os.eventfd(0) for _ in range(8)]
        folder = f"/proc/{self.server.pid}/fd"
        before = len(os.listdir(folder))
        for _ in range(50):
            client.call(vfio_user.GET_INFO, struct.pack("<IIII", 16, 0, 0, 0), fds=fds)
            self.assert_refused(errno.EINVAL, client.set_irqs, 0x21, 1, 0, 1, fds=fds)
        self.assertEqual(len(os.listdir(folder)), before)
        with self.assertRaises(vfio_user.Lost):  # more than the server has said that it takes
            client.call(vfio_user.GET_INFO, struct.pack("<IIII", 16, 0, 0, 0), fds=fds + fds[:1])

    def test_only_an_eventfd_is_taken_for_an_interrupt(self):
        self.serve()
        client = self.connect()
        reading, writing = os.pipe()
        self.assert_refused(errno.EINVAL, client.set_irqs, 0x24, 1, 0, 1, fds=[writing])
        os.close(reading)
        os.close(writing)


class ComingAndGoing(served_card.ServedCard):
    def test_the_next_client_finds_the_function_after_a_reset(self):
        self.serve()
        first = self.connect()
        driver = spyre.Driver(first)
        driver.set(spyre.SCRATCH, 77)
        first.close()
        second = self.connect_again()
        self.assertEqual(second.read(CONFIG, spyre.COMMAND, 2), b"\0\0")
        driver = spyre.Driver(second)
        self.assertEqual(driver.reg(spyre.SCRATCH), 0)
        self.assertEqual(driver.run(spyre.NOP), 0)

    def test_a_client_that_dies_in_the_middle_leaves_the_others_working(self):
        self.serve("--vfs", "2")
        survivor = spyre.Driver(self.connect(1), 1)
        for round_number in range(20):
            child = os.fork()
            if child == 0:
                victim = spyre.Driver(vfio_user.Client(self.path(2)), 2)
                for _ in range(round_number % spyre.RING):
                    victim.submit(spyre.NOP, flags=spyre.INTERRUPT)
                victim.client.send(vfio_user.REGION_WRITE,
                                   struct.pack("<QIII", spyre.SQ_TAIL, 0, 4, victim.tail))
                os._exit(0)  # with the doorbell rung and the answer under way
            self.assertEqual(survivor.run(spyre.NOP), 0)
            self.assertEqual(os.waitpid(child, 0)[1], 0, self.log())
            self.assertEqual(survivor.run(spyre.NOP), 0)
            self.connect_again(2).close()

    def test_ten_thousand_connections_leave_nothing_behind(self):
        self.serve()
        folder = f"/proc/{self.server.pid}/fd"
        before = len(os.listdir(folder))
        memory = vfio_user.SharedMemory(4096)
        for index in range(10_000):
            if index % 100 == 0:
                client = self.connect_again()
                client.dma_map(0, 4096, memory.fd)
                client.set_irqs(0x24, 1, 0, 1, fds=[memory_event(self)])
                client.close()
            else:
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(self.path())
                if index % 3:
                    sock.sendall(HELLO[:index % 21])
                sock.close()
        client = self.connect_again()
        self.assertEqual(client.read32(CONFIG, 0), 0x06A71014)
        client.close()
        self.connect_again()
        self.assertLessEqual(len(os.listdir(folder)), before + 1)

    def test_the_log_names_registers_that_do_not_exist_and_bits_that_are_waited_for(self):
        self.serve("--vfs", "1")
        driver = spyre.Driver(self.connect(1), 1)
        driver.reg(0x0FF0)
        driver.set(0x0FF0, 1)
        driver.reg(spyre.MAP_STATUS)
        for _ in range(1000):
            driver.reg(spyre.INT_STATUS)
        self.clients.pop().close()
        self.connect_again(1)
        log = self.log()
        self.assertIn("BAR0 0x0ff0: 1 reads, 1 writes", log)
        self.assertIn("BAR0 0x4018: 1 reads, 0 writes (MAP_STATUS of the physical function)", log)
        self.assertIn("has read INT_STATUS (BAR0 0x2000) 1000 times", log)
        self.assertIn("RESPONSE is 0, ERROR is 0, ADMIN is 0", log)
        self.assertIn("the card has nothing left to do", log)


def memory_event(test):
    """One eventfd for all."""
    if not hasattr(test, "event"):
        test.event = os.eventfd(0)
    return test.event


if __name__ == "__main__":
    unittest.main()
