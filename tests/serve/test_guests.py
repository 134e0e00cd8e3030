# SPDX-License-Identifier: Apache-2.0
"""What virtual machines do to a served card, in the order in which they do it, by clients of our own.

QEMU speaks vfio-user from version 10.1 on, which a stable distribution need not have. Each test here
is one thing that a machine with such a QEMU does, as the messages that reach the server then: the
client stands for QEMU, and stays while programs in its guest come and go.
"""

import os
import signal
import unittest

import doubling
import served_card
import spyre
import vfio_user

PAGE = 4096
HOST_FAULT = 8
RAM_BYTES = 64 * PAGE  # of a guest: the rings are in its first two pages
LARGE_BYTES = 1 << 26  # a copy of which takes a while


class Guest:
    """A machine with one function: its memory, of which a vIOMMU shows the card single pages."""

    def __init__(self, test, function, ram_bytes=RAM_BYTES, again=False):
        self.function = function
        self.client = test.connect_again(function) if again else test.connect(function)
        self.ram = vfio_user.SharedMemory(ram_bytes)
        self.driver = None

    def show(self, iova, page, pages=1):
        """The guest's IOMMU gets entries: QEMU maps what they say."""
        for index in range(pages):
            self.client.dma_map(iova + index * PAGE, PAGE, self.ram.fd, (page + index) * PAGE)

    def bind(self, rings=0x10000):
        """A program of the guest opens the function by VFIO and starts its queue."""
        self.show(rings, 0, 2)
        self.driver = spyre.Driver(self.client, self.function, rings, memory=self.ram.data)

    def unbind(self):
        """The program has ended: its container closes by one unmap, and VFIO resets the function."""
        unmapped = self.client.dma_unmap(0, 1 << 40)
        self.client.reset()
        return unmapped


class Guests(served_card.ServedCard):
    def round_trip(self, guest, iova, data):
        """Through device memory and back, from the page after the rings to the one behind it."""
        guest.ram.data[2 * PAGE:2 * PAGE + len(data)] = data
        guest.show(iova, 2)
        guest.show(iova + PAGE, 3)
        size = len(data)
        self.assertEqual(guest.driver.run(spyre.DMA_IN, host=iova, device=0, size=size), 0)
        self.assertEqual(guest.driver.run(spyre.DMA_OUT, host=iova + PAGE, device=0, size=size), 0)
        self.assertEqual(guest.ram.data[3 * PAGE:3 * PAGE + size], data)

    def test_a_program_binds_uses_and_unbinds_and_another_one_does_it_all_again(self):
        self.serve("--vfs", "1")
        guest = Guest(self, 1)
        for program, rings in enumerate((0x10000, 0x7FFF_0000, 0x10000)):
            guest.bind(rings)
            self.assertEqual(guest.driver.reg(spyre.SCRATCH), 0, "nothing of the one before is left")
            guest.driver.set(spyre.SCRATCH, 1 + program)
            events = guest.driver.enable_msi()
            self.round_trip(guest, 0x100_0000 * (1 + program), bytes([program]) * PAGE)
            guest.driver.submit(spyre.NOP, flags=spyre.INTERRUPT)
            guest.driver.ring()
            self.assertTrue(vfio_user.wait_eventfd(events[0]))
            self.assertEqual(guest.unbind(), 4 * PAGE, "one unmap takes all that it had")

    def test_two_functions_work_in_two_machines_with_the_same_addresses(self):
        self.serve("--vfs", "2")
        guests = [Guest(self, 1), Guest(self, 2)]
        for guest in guests:
            guest.bind()
            guest.ram.data[2 * PAGE:3 * PAGE] = bytes([guest.function]) * PAGE
            guest.show(0x100_0000, 2)
            guest.show(0x200_0000, 3)
        for index in range(8):
            for opcode, host in ((spyre.DMA_IN, 0x100_0000), (spyre.DMA_OUT, 0x200_0000)):
                for guest in guests:  # both at work
                    guest.driver.submit(opcode, host=host, device=index * PAGE, size=PAGE)
                    guest.driver.ring()
                for guest in guests:
                    self.assertEqual(spyre.status_of(guest.driver.wait()[1]), 0)
            for guest in guests:
                self.assertEqual(guest.ram.data[3 * PAGE:4 * PAGE], bytes([guest.function]) * PAGE)
                guest.ram.data[3 * PAGE:4 * PAGE] = bytes(PAGE)

    def test_the_pages_of_a_viommu_come_and_go_and_the_card_reaches_what_is_there_now(self):
        self.serve("--vfs", "1")
        guest = Guest(self, 1)
        guest.bind()
        for page in range(4, 12):
            guest.ram.data[page * PAGE:(page + 1) * PAGE] = bytes([page]) * PAGE
        iova = 0x100_0000
        guest.show(iova, 4, 4)
        run = guest.driver.run
        self.assertEqual(run(spyre.DMA_IN, host=iova, device=0, size=4 * PAGE), 0)
        self.assertEqual(guest.client.dma_unmap(iova, 4 * PAGE), 4 * PAGE, "one unmap for four maps")
        before = guest.ram.data[2 * PAGE:]
        for opcode in (spyre.DMA_IN, spyre.DMA_OUT):
            self.assertEqual(run(opcode, host=iova, device=0, size=PAGE), HOST_FAULT)
            guest.driver.start()
        self.assertEqual(guest.ram.data[2 * PAGE:], before, "freed memory is not written")
        guest.show(iova, 8)  # the same address, another page
        self.assertEqual(run(spyre.DMA_OUT, host=iova, device=2 * PAGE, size=PAGE), 0)
        self.assertEqual(guest.ram.data[8 * PAGE:9 * PAGE], bytes([6]) * PAGE)
        self.assertEqual(guest.ram.data[4 * PAGE:8 * PAGE], before[2 * PAGE:6 * PAGE])

    def test_a_machine_reboots_in_the_middle_of_a_copy_and_its_new_kernel_finds_a_function(self):
        self.serve("--vfs", "2")
        neighbour = Guest(self, 2)
        neighbour.bind()
        for turn, goes in enumerate((False, True)):
            guest = Guest(self, 1, ram_bytes=LARGE_BYTES, again=turn > 0)
            guest.bind()
            guest.ram.data[2 * PAGE:] = b"\xFF" * (LARGE_BYTES - 2 * PAGE)
            guest.client.dma_map(0x1000_0000, LARGE_BYTES, guest.ram.fd)
            guest.driver.submit(spyre.DMA_OUT, host=0x1000_0000 + 2 * PAGE, device=0,
                                size=LARGE_BYTES - 2 * PAGE)
            guest.driver.ring()
            while guest.ram.data[2 * PAGE] == 0xFF:
                guest.driver.reg(spyre.STATUS)
            ram = guest.ram
            if goes:  # the machine is killed
                guest.client.close()
                guest = Guest(self, 1, again=True)
            else:  # its firmware resets the bus, and QEMU the device and its windows
                guest.client.reset()
                guest.client.dma_unmap(0, 0, flags=2)
            old = ram.data[:]
            self.assertEqual(old[-1], 0xFF, "it was in the middle")
            for _ in range(50):  # time goes on
                self.assertEqual(neighbour.driver.run(spyre.NOP), 0)
            self.assertTrue(ram.data[:] == old, "nothing of before the reset is still written")
            guest.bind()
            self.round_trip(guest, 0x300_0000, b"new" * 1000)
            guest.client.close()

    def test_a_machine_that_is_stopped_and_continued_holds_nobody_up_and_loses_nothing(self):
        self.serve("--vfs", "1")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                guest = Guest(self, 1)
                guest.bind()
                guest.driver.submit(spyre.NOP)
                guest.driver.ring()
                os.write(writing, b"bound")
                os.kill(os.getpid(), signal.SIGSTOP)
                assert spyre.status_of(guest.driver.wait()[1]) == 0
                self.round_trip(guest, 0x100_0000, b"continued" * 100)
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.read(reading, 5), b"bound")
        self.assertTrue(os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]))
        host = spyre.Driver(self.connect())
        host.map_range(0, 1 << 24)
        memory = vfio_user.SharedMemory(doubling.BYTES)
        host.client.dma_map(0x1000_0000, doubling.BYTES, memory.fd)
        doubling.launch(self, host, memory, 0x1000_0000)
        os.kill(child, signal.SIGCONT)
        self.assertEqual(os.waitpid(child, 0)[1], 0, self.log())
        os.close(reading)
        os.close(writing)


if __name__ == "__main__":
    unittest.main()
