# SPDX-License-Identifier: Apache-2.0
"""Clients that do not answer what the card reads of their memory by messages: the others go on."""

import struct
import unittest

import doubling
import served_card
import spyre
import vfio_user

OTHERS_GO_ON = "the other client's work ends while the first one still owes its answer"
CONFIG = served_card.CONFIG + """[card]
concurrency = "pipelined"
[card.control]
fidelity = "{control}"
"""
BASE = 0x1000_0000
HOST_FAULT, TIMED_OUT = 8, 16


class Silence(served_card.ServedCard):
    def two_clients(self, *options, config, shared=True):
        """A virtual function's driver, and one of the physical function with memory at BASE."""
        self.serve("--vfs", "1", *options, config=config)
        silent = spyre.Driver(self.connect(1), 1, shared=shared)
        window = silent.client.memory[BASE] = bytearray(1 << 16)
        window[:] = bytes(index * 7 & 0xFF for index in range(1 << 16))
        silent.client.dma_map(BASE, 1 << 16)
        other = spyre.Driver(self.connect())
        other.map_range(0, 1 << 24)
        memory = vfio_user.SharedMemory(doubling.BYTES)
        other.client.dma_map(BASE, doubling.BYTES, memory.fd)
        return silent, other, memory

    def await_question(self, driver):
        """Returns when the card has asked the silent client, which looks at its messages only when
        it has asked for something itself."""
        for _ in range(100_000):
            driver.reg(spyre.STATUS)
            if driver.client.owed:
                return
        self.fail("the card has asked for nothing")

    def assert_asked_in_vain(self, driver):
        driver.reg(spyre.STATUS)
        self.assertTrue(driver.client.owed, OTHERS_GO_ON)
        self.assertNotIn("does not answer", self.log(), OTHERS_GO_ON)

    def test_a_payload_that_does_not_come_holds_its_function_only(self):
        for time in (["--time", "free"], ["--time", "paced", "--factor", "1"]):
            silent, other, memory = self.two_clients(*time, config=CONFIG.format(control="timed"))
            silent.client.silent = True
            silent.submit(spyre.DMA_IN, host=BASE, device=0, size=20_000)
            silent.ring()
            self.await_question(silent)
            doubling.launch(self, other, memory, BASE)
            self.assert_asked_in_vain(silent)
            self.assertIsNone(silent.poll())
            silent.client.answer_all()
            self.assertEqual(spyre.status_of(silent.wait()[1]), 0, "late is not lost")
            self.assertEqual(silent.run(spyre.DMA_OUT, host=BASE + 32768, device=0, size=20_000),
                             0)
            window = silent.client.memory[BASE]
            self.assertEqual(window[32768:52768], window[:20_000])
            self.stop()

    def test_a_write_that_is_not_answered_holds_nobody_and_is_seen_before_its_completion(self):
        for time in (["--time", "free"], ["--time", "paced", "--factor", "1"]):
            silent, other, memory = self.two_clients(*time, config=CONFIG.format(control="timed"))
            vector = silent.enable_msi()[0]
            self.assertEqual(silent.run(spyre.DMA_IN, host=BASE, device=0, size=20_000), 0)
            silent.client.silent = True
            silent.submit(spyre.DMA_OUT, host=BASE + 32768, device=0, size=20_000,
                          flags=spyre.INTERRUPT)
            silent.ring()
            self.await_question(silent)
            doubling.launch(self, other, memory, BASE)
            self.assert_asked_in_vain(silent)
            self.assertIsNone(silent.poll(), "the completion lies behind the bytes")
            self.assertFalse(vfio_user.wait_eventfd(vector, seconds=0))
            silent.client.answer_all()
            self.assertEqual(spyre.status_of(silent.wait()[1]), 0)
            self.assertTrue(vfio_user.wait_eventfd(vector))
            window = silent.client.memory[BASE]
            self.assertEqual(window[32768:52768], window[:20_000])
            self.stop()

    def test_a_window_goes_in_which_a_write_is_not_answered(self):
        silent, other, memory = self.two_clients(config=CONFIG.format(control="timed"))
        silent.client.silent = True
        silent.submit(spyre.DMA_OUT, host=BASE, device=0, size=20_000)
        silent.ring()
        self.await_question(silent)
        silent.client.dma_unmap(BASE, 1 << 16)
        silent.client.answer_all()
        silent.wait()
        self.assertEqual(silent.run(spyre.DMA_OUT, host=BASE, device=0, size=128), HOST_FAULT)
        doubling.launch(self, other, memory, BASE)

    def test_ring_entries_that_do_not_come_hold_their_function_only(self):
        for control in ("timed", "rtl"):
            silent, other, memory = self.two_clients(config=CONFIG.format(control=control),
                                                     shared=False)
            silent.client.silent = True
            silent.submit(spyre.NOP)
            silent.ring()
            self.await_question(silent)
            doubling.launch(self, other, memory, BASE)
            self.assert_asked_in_vain(silent)
            silent.client.answer_all()
            self.assertEqual(spyre.status_of(silent.wait()[1]), 0, "late is not lost")
            self.stop()

    def test_a_ring_that_is_unmapped_loses_no_doorbell_of_others(self):
        for control in ("timed", "rtl"):
            broken, other, _ = self.two_clients(config=CONFIG.format(control=control))
            broken.client.dma_unmap(broken.rings, spyre.RINGS_BYTES)
            for _ in range(20):
                broken.set(spyre.QUEUE_CONTROL, 0)
                broken.set(spyre.QUEUE_CONTROL, 1)
                broken.tail += 1
                other.submit(spyre.NOP)
                for driver in (broken, other):  # both are under way before either is answered
                    driver.client.send(vfio_user.REGION_WRITE,
                                       struct.pack("<QIII", spyre.SQ_TAIL, 0, 4, driver.tail))
                for driver in (broken, other):
                    driver.client.receive()
                self.assertEqual(spyre.status_of(other.wait()[1]), 0)
            self.stop()

    def test_many_copies_of_others_pass_one_that_waits(self):
        silent, other, memory = self.two_clients(config=CONFIG.format(control="timed"))
        silent.client.silent = True
        silent.submit(spyre.DMA_IN, host=BASE, device=0, size=128)
        silent.ring()
        self.await_question(silent)
        large = vfio_user.SharedMemory(1 << 22)
        other.client.dma_map(2 * BASE, 1 << 22, large.fd)
        self.assertEqual(other.run(spyre.DMA_IN, host=2 * BASE, device=0, size=1 << 22), 0,
                         "more requests than the engine has places for")
        self.assert_asked_in_vain(silent)

    def test_serial_hardware_stops_the_silent_copy_at_its_limit_and_goes_on(self):
        config = served_card.CONFIG + "[card.control]\noperation_limit_us = 2000\n"
        silent, other, memory = self.two_clients(config=config)
        silent.client.silent = True
        silent.submit(spyre.DMA_IN, host=BASE, device=0, size=128)
        silent.ring()
        self.await_question(silent)
        doubling.launch(self, other, memory, BASE)
        self.assert_asked_in_vain(silent)
        self.assertEqual(spyre.status_of(silent.wait()[1]), TIMED_OUT)

    def test_what_is_asked_of_a_window_that_goes_or_a_function_that_is_reset_is_not_awaited(self):
        silent, _, _ = self.two_clients(config=CONFIG.format(control="timed"))
        client = silent.client
        for end in ("unmap", "reset"):
            client.silent = True
            silent.submit(spyre.DMA_IN, host=BASE, device=0, size=128)
            silent.ring()
            self.await_question(silent)
            if end == "unmap":
                client.dma_unmap(BASE, 1 << 16)
                self.assertEqual(spyre.status_of(silent.wait()[1]), HOST_FAULT)
                client.dma_map(BASE, 1 << 16)
            else:
                silent.set(spyre.CONTROL, 1)
            silent.start()
            client.answer_all()  # too late, and taken as what it is
            self.assertEqual(silent.run(spyre.DMA_IN, host=BASE, device=0, size=128), 0)

    def test_a_client_that_goes_with_a_write_unanswered_leaves_the_function_to_the_next(self):
        silent, other, memory = self.two_clients(config=CONFIG.format(control="timed"))
        silent.client.silent = True
        silent.submit(spyre.DMA_OUT, host=BASE, device=0, size=20_000)
        silent.ring()
        self.await_question(silent)
        silent.submit(spyre.NOP)  # its entry is read behind the completion, which waits
        silent.ring()
        silent.reg(spyre.STATUS)
        silent.client.close()
        doubling.launch(self, other, memory, BASE)
        self.assertEqual(spyre.Driver(self.connect_again(1), 1).run(spyre.NOP), 0)

    def test_a_client_that_goes_with_answers_owed_leaves_the_function_to_the_next(self):
        silent, other, memory = self.two_clients(config=CONFIG.format(control="timed"))
        silent.client.silent = True
        silent.submit(spyre.DMA_IN, host=BASE, device=0, size=128)
        silent.ring()
        self.await_question(silent)
        silent.client.close()
        doubling.launch(self, other, memory, BASE)
        self.assertEqual(spyre.Driver(self.connect_again(1), 1).run(spyre.NOP), 0)


if __name__ == "__main__":
    unittest.main()
