# SPDX-License-Identifier: Apache-2.0
"""Rungs 1 to 4 of the bring-up ladder, by a client that knows the two specifications only."""

import os
import random
import struct
import subprocess
import unittest

import doubling
import served_card
import spyre
import vfio_user
from vfio_user import CONFIG


class Rung1ConfigurationSpace(served_card.ServedCard):
    def test_the_card_is_identified_by_words_bytes_and_halves(self):
        self.serve()
        client = self.connect()
        self.assertEqual(client.read32(CONFIG, 0), 0x06A71014)
        self.assertEqual(client.read(CONFIG, 0, 2), b"\x14\x10")
        self.assertEqual(client.read(CONFIG, 2, 2), b"\xa7\x06")
        self.assertEqual(client.read(CONFIG, 0xB, 1), b"\x12")  # class
        whole = client.read(CONFIG, 0, 256)
        self.assertEqual(whole[0:4], b"\x14\x10\xa7\x06")
        self.assertEqual(client.read(CONFIG, 1, 5), whole[1:6])

    def test_bars_give_their_sizes_and_answer_only_while_memory_is_enabled(self):
        self.serve()
        client = self.connect()
        for index, size in ((0, 4 << 20), (2, 2 << 30), (4, 32 << 20)):
            at = 0x10 + 4 * index
            client.write(CONFIG, at, b"\xff" * 8)
            low, high = struct.unpack("<II", client.read(CONFIG, at, 8))
            self.assertEqual(low & 0xF, 0xC, "64 bits, prefetchable")
            self.assertEqual((~(high << 32 | (low & ~0xF)) + 1) & (1 << 64) - 1, size)
        self.assertEqual(client.read32(0, spyre.MAGIC), 0xFFFFFFFF)
        client.write(CONFIG, spyre.COMMAND, b"\x02")
        self.assertEqual(client.read32(0, spyre.MAGIC), 0x52595053)
        self.assertEqual(client.read(0, spyre.MAGIC + 1, 2), b"PY")

    def test_a_byte_leaves_its_neighbours_alone(self):
        self.serve()
        client = self.connect()
        msi_data = spyre.MSI + 12
        client.write(CONFIG, msi_data, b"\x34\x12")
        client.write(CONFIG, msi_data + 1, b"\x56")
        self.assertEqual(client.read(CONFIG, msi_data, 2), b"\x34\x56")
        control = client.read(CONFIG, spyre.EXPRESS + 8, 2)
        client.write(CONFIG, spyre.EXPRESS + 8, bytes([control[0] ^ 1]))
        self.assertEqual(client.read(CONFIG, spyre.EXPRESS + 8, 2),
                         bytes([control[0] ^ 1, control[1]]))

    def test_the_lists_of_capabilities_end(self):
        self.serve()
        client = self.connect()
        found = set()
        at = client.read(CONFIG, 0x34, 1)[0]
        while at:
            ident, at = client.read(CONFIG, at, 2)
            self.assertNotIn(ident, found)
            found.add(ident)
        self.assertEqual(found, {0x01, 0x03, 0x05, 0x10})  # power, VPD, MSI, PCI Express
        found, at = set(), 0x100
        while at:
            word = client.read32(CONFIG, at)
            found.add(word & 0xFFFF)
            at = word >> 20
        self.assertEqual(found, {0x0001, 0x000E, 0x0010})

    def test_a_reset_returns_the_function_to_its_state_after_power_on(self):
        self.serve()
        client = self.connect()
        driver = spyre.Driver(client)
        driver.set(spyre.SCRATCH, 0x1234)
        self.assertEqual(driver.reg(spyre.SCRATCH), 0x1234)
        client.reset()
        self.assertEqual(client.read(CONFIG, spyre.COMMAND, 2), b"\0\0")
        client.write(CONFIG, spyre.COMMAND, b"\x02")
        self.assertEqual(client.read32(0, spyre.SCRATCH), 0)

    def test_a_virtual_function_has_the_parts_that_a_host_makes_up(self):
        self.serve("--vfs", "2")
        client = self.connect(1)
        self.assertEqual(client.read32(CONFIG, 0), 0x06A81014)
        client.write(CONFIG, 0x10, b"\xff" * 8)
        low, high = struct.unpack("<II", client.read(CONFIG, 0x10, 8))
        self.assertEqual((low, high), ((~(0x10000 - 1) & 0xFFFFFFFF) | 0xC, 0xFFFFFFFF))
        self.assertEqual(client.read(CONFIG, spyre.COMMAND, 2), b"\0\0")
        client.write(CONFIG, spyre.COMMAND, b"\x06")
        self.assertEqual(client.read(CONFIG, spyre.COMMAND, 2), b"\x06\0")
        self.assertEqual(client.read32(0, spyre.FUNCTION), 1)
        client.reset()
        self.assertEqual(client.read(CONFIG, spyre.COMMAND, 2), b"\0\0")
        self.assertEqual(client.read32(CONFIG, 0x14), 0)

    def test_a_virtual_function_that_is_not_enabled_is_nobody(self):
        self.serve()
        self.assertEqual(self.connect(2).read32(CONFIG, 0), 0xFFFFFFFF)


class LostCard(served_card.ServedCard):
    HANG = served_card.CONFIG + "[[fault]]\nkind = \"firmware_hang\"\nwhen = { time_us = 300000 }\n"

    def test_a_server_outlives_firmware_that_hangs_and_the_card_can_be_reset(self):
        for mode in ("free", "lockstep"):
            self.serve("--time", mode, config=self.HANG)
            clock = {"spyre_time": {"client": "me"}} if mode == "lockstep" else None
            client = self.connect(capabilities=clock)
            idle = (lambda: client.advance(10_000_000)) if clock else None
            other = self.connect(1, capabilities=clock)
            client.write(CONFIG, spyre.COMMAND, b"\x02")
            if clock:
                client.advance(400_000_000_000)
            for _ in range(100_000):
                if "the card is lost" in self.log():
                    break
                client.read32(0, spyre.STATUS)
            self.assertIn("the card is lost", self.log())
            self.assertEqual(client.read32(0, spyre.MAGIC), 0x52595053, "registers answer")
            self.assertEqual(other.read32(CONFIG, 0), 0xFFFFFFFF, "the other client is served")
            client.reset()
            driver = spyre.Driver(client, idle=idle)
            self.assertEqual(driver.run(spyre.NOP), 0)
            self.stop()


class Rung2Registers(served_card.ServedCard):
    def test_registers_hold_what_is_written(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        self.assertEqual(driver.reg(spyre.FUNCTION), 0)
        self.assertEqual(driver.reg(spyre.CAPABILITIES) & 0xFF, 32)
        driver.client.write(0, spyre.SQ_BASE, struct.pack("<Q", 0x123456780))
        self.assertEqual(driver.client.read(0, spyre.SQ_BASE, 8), struct.pack("<Q", 0x123456780))

    def test_a_part_of_a_register_is_written_and_the_rest_stays(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        driver.set(spyre.SCRATCH, 0x11223344)
        driver.client.write(0, spyre.SCRATCH, b"\xaa")
        self.assertEqual(driver.reg(spyre.SCRATCH), 0x112233AA)
        driver.client.write(0, spyre.SCRATCH + 2, b"\xbb\xcc")
        self.assertEqual(driver.reg(spyre.SCRATCH), 0xCCBB33AA)
        self.assert_refused(22, driver.client.write, 0, spyre.SCRATCH + 2, b"\1\2\3\4")
        self.assertEqual(driver.reg(spyre.SCRATCH), 0xCCBB33AA)

    def test_the_sram_and_the_window_take_any_bytes(self):
        self.serve()
        client = self.connect()
        client.write(CONFIG, spyre.COMMAND, b"\x02")
        data = random.Random(1).randbytes(1000)
        client.write(4, 0x1003, data)
        self.assertEqual(client.read(4, 0x1003, 1000), data)
        self.assertEqual(client.read(4, 0x1000, 3), bytes(3))
        client.write(2, 0x2001, data[:77])
        self.assertEqual(client.read(2, 0x2000, 79), b"\0" + data[:77] + b"\0")


class Rung3Queue(served_card.ServedCard):
    def test_a_nop_is_answered_and_its_interrupt_comes(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        events = driver.enable_msi()
        driver.submit(spyre.NOP, flags=spyre.INTERRUPT)
        driver.ring()
        self.assertTrue(vfio_user.wait_eventfd(events[0]))
        sequence, entry = driver.poll()
        self.assertEqual((sequence, spyre.status_of(entry)), (1, 0))

    def test_the_response_is_there_before_its_interrupt_on_any_card(self):
        for option in ("card.fidelity=functional", "card.concurrency=pipelined", "card.cores=8",
                       "card.control.fidelity=rtl"):
            self.serve("--set", option)
            driver = spyre.Driver(self.connect())
            events = driver.enable_msi()
            for _ in range(40):
                driver.submit(spyre.NOP, flags=spyre.INTERRUPT)
                driver.ring()
                self.assertTrue(vfio_user.wait_eventfd(events[0]))
                self.assertIsNotNone(driver.poll(), option)
            self.stop()

    def test_the_rings_wrap(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        for _ in range(3 * spyre.RING + 1):
            self.assertEqual(driver.run(spyre.NOP), 0)
        self.assertEqual(driver.reg(spyre.SQ_HEAD), 3 * spyre.RING + 1)

    def test_a_stopped_queue_has_a_vector_of_its_own_wherever_the_guest_wants_messages(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        events = driver.enable_msi(vectors=2, data=0x31 & ~1, address=0x8_0802_0040)
        driver.set(spyre.SQ_TAIL, 1 << 20)
        self.assertTrue(vfio_user.wait_eventfd(events[1]))
        self.assertFalse(vfio_user.wait_eventfd(events[0], 0))

    def test_with_one_vector_every_cause_comes_on_it(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        (event,) = driver.enable_msi(vectors=1, data=0x4021)
        driver.set(spyre.SQ_TAIL, 1 << 20)
        self.assertTrue(vfio_user.wait_eventfd(event))

    def test_a_virtual_function_works_beside_the_physical_one(self):
        self.serve("--vfs", "2")
        for function in (1, 2):
            driver = spyre.Driver(self.connect(function), function)
            events = driver.enable_msi()
            driver.submit(spyre.NOP, flags=spyre.INTERRUPT)
            driver.ring()
            self.assertTrue(vfio_user.wait_eventfd(events[0]))
            self.assertEqual(spyre.status_of(driver.poll()[1]), 0)


class Rung4Dma(served_card.ServedCard):
    SIZE = 1 << 20
    BASE = 0x1000_0000

    def test_a_copy_makes_the_round_trip_for_any_alignment(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        driver.map_range(0, 1 << 24)
        memory = vfio_user.SharedMemory(self.SIZE)
        driver.client.dma_map(self.BASE, self.SIZE, memory.fd)
        rng = random.Random(4)
        for size in (1, 127, 128, 129, 4096, 65537, 300_000):
            source, target = rng.randrange(4096), self.SIZE // 2 + rng.randrange(4096)
            data = rng.randbytes(size)
            memory.data[source:source + size] = data
            self.assertEqual(driver.run(spyre.DMA_IN, host=self.BASE + source, device=0x4000,
                                        size=size), 0)
            self.assertEqual(driver.run(spyre.DMA_OUT, host=self.BASE + target, device=0x4000,
                                        size=size), 0)
            self.assertEqual(memory.data[target:target + size], data)

    def test_a_program_computes(self):
        self.serve()
        driver = spyre.Driver(self.connect())
        driver.map_range(0, 1 << 24)
        memory = vfio_user.SharedMemory(self.SIZE)
        driver.client.dma_map(self.BASE, self.SIZE, memory.fd)
        doubling.launch(self, driver, memory, self.BASE)

    def test_memory_without_a_file_is_reached_by_messages(self):
        self.serve()
        client = self.connect(capabilities={"max_data_xfer_size": 1000})
        driver = spyre.Driver(client, shared=False)
        driver.map_range(0, 1 << 24)
        window = client.memory[self.BASE] = bytearray(self.SIZE)
        client.dma_map(self.BASE, self.SIZE)
        data = random.Random(5).randbytes(10_000)
        window[100:10_100] = data
        client.asked.clear()
        self.assertEqual(driver.run(spyre.DMA_IN, host=self.BASE + 100, device=0, size=10_000), 0)
        self.assertEqual(driver.run(spyre.DMA_OUT, host=self.BASE + 50_000, device=0,
                                    size=10_000), 0)
        self.assertEqual(window[50_000:60_000], data)
        self.assertLessEqual(max(count for _, _, count in client.asked), 1000)
        client.refuse_dma = False
        self.assertTrue({vfio_user.DMA_READ, vfio_user.DMA_WRITE} <=
                        {command for command, _, _ in client.asked})


if __name__ == "__main__":
    unittest.main()
