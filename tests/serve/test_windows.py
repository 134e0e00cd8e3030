# SPDX-License-Identifier: Apache-2.0
"""DMA windows: memory of the client that the card reads and writes."""

import errno
import os
import unittest

import served_card
import spyre
import vfio_user


class Windows(served_card.ServedCard):
    """What DMA reaches."""

    PAGE = 4096
    HOST_FAULT = 8

    def setUp(self):
        super().setUp()
        self.serve()
        self.driver = spyre.Driver(self.connect())
        self.driver.map_range(0, 1 << 24)
        self.file = vfio_user.SharedMemory(16 * self.PAGE)
        self.file.data[:] = os.urandom(16 * self.PAGE)

    def map(self, address, size, **arguments):
        self.driver.client.dma_map(address, size, self.file.fd, **arguments)

    def copy_in(self, address, size):
        status = self.driver.run(spyre.DMA_IN, host=address, device=0, size=size)
        if status:
            self.driver.start()
        return status

    def copy_out(self, address, size):
        status = self.driver.run(spyre.DMA_OUT, host=address, device=0, size=size)
        if status:
            self.driver.start()
        return status

    def test_a_copy_crosses_windows_that_touch(self):
        base = 0x100_0000
        self.map(base, self.PAGE, offset=8 * self.PAGE)
        self.map(base + self.PAGE, self.PAGE, offset=2 * self.PAGE)
        data = bytearray(os.urandom(2 * self.PAGE))
        self.file.data[8 * self.PAGE:9 * self.PAGE] = bytes(data[:self.PAGE])
        self.file.data[2 * self.PAGE:3 * self.PAGE] = bytes(data[self.PAGE:])
        self.assertEqual(self.copy_in(base, 2 * self.PAGE), 0)
        self.map(0x200_0000, 2 * self.PAGE, offset=12 * self.PAGE)
        self.assertEqual(self.copy_out(0x200_0000, 2 * self.PAGE), 0)
        self.assertEqual(self.file.data[12 * self.PAGE:14 * self.PAGE], bytes(data))

    def test_a_gap_is_a_host_fault_and_nothing_behind_it_is_touched(self):
        base = 0x100_0000
        self.map(base, self.PAGE)
        self.map(base + 2 * self.PAGE, self.PAGE, offset=2 * self.PAGE)
        before = self.file.data[:]
        self.assertEqual(self.copy_in(base + self.PAGE - 64, 128), self.HOST_FAULT)
        self.assertEqual(self.copy_out(base + self.PAGE - 64, 128), self.HOST_FAULT)
        self.assertEqual(self.file.data[:], before)
        self.assertEqual(self.copy_in(base + self.PAGE - 128, 128), 0)

    def test_a_window_that_is_only_readable_is_not_written(self):
        base = 0x100_0000
        self.map(base, self.PAGE, flags=1)
        before = self.file.data[:]
        self.assertEqual(self.copy_in(base, 256), 0)
        self.assertEqual(self.copy_out(base, 256), self.HOST_FAULT)
        self.assertEqual(self.file.data[:], before)

    def test_a_window_that_is_only_writable_is_not_read(self):
        self.map(0x100_0000, self.PAGE, flags=2)
        self.assertEqual(self.copy_in(0x100_0000, 256), self.HOST_FAULT)
        self.assertEqual(self.copy_out(0x100_0000, 256), 0)

    def test_a_file_that_is_not_writable_is_not_taken_as_writable(self):
        path = self.write("readonly", "x" * self.PAGE)
        fd = os.open(path, os.O_RDONLY)
        client = self.driver.client
        self.assert_refused(errno.EACCES, client.dma_map, 0, self.PAGE, fd)
        client.dma_map(0, self.PAGE, fd, flags=1)
        self.assertEqual(self.copy_in(0, 256), 0)
        os.close(fd)

    def test_windows_lie_in_their_files_and_not_in_each_other(self):
        client = self.driver.client
        self.assert_refused(errno.EINVAL, self.map, 0x100_0000, 17 * self.PAGE)
        self.assert_refused(errno.EINVAL, self.map, 0x100_0000, self.PAGE,
                            offset=16 * self.PAGE)
        self.map(0x100_0000, 2 * self.PAGE)
        for address, size in ((0x100_0000, 2 * self.PAGE), (0x100_1000, self.PAGE),
                              (0xFF_F000, 2 * self.PAGE), (0xFF_F000, 4 * self.PAGE)):
            self.assert_refused(errno.EEXIST, self.map, address, size)
        self.assert_refused(errno.EINVAL, client.dma_unmap, 0x100_0000, self.PAGE)
        client.dma_unmap(0x100_0000, 2 * self.PAGE)
        self.assertEqual(self.copy_in(0x100_0000, 128), self.HOST_FAULT)

    def test_one_unmap_takes_all_windows_of_its_range_and_the_card_writes_into_none_of_them(self):
        # QEMU with a virtual IOMMU does so when the guest closes a VFIO container.
        for index in range(3):
            self.map(0x100_0000 + index * self.PAGE, self.PAGE, offset=index * self.PAGE)
        self.map(0x200_0000, self.PAGE, offset=3 * self.PAGE)
        self.assertEqual(self.driver.client.dma_unmap(0xF0_0000, 0x20_0000), 3 * self.PAGE)
        before = self.file.data[:]
        for index in range(3):
            self.assertEqual(self.copy_out(0x100_0000 + index * self.PAGE, 128), self.HOST_FAULT)
        self.assertEqual(self.file.data[:], before)
        self.assertEqual(self.driver.client.dma_unmap(0xF0_0000, 0x20_0000), 0)
        self.assertEqual(self.copy_out(0x200_0000, 128), 0, "another window stays")

    def test_all_windows_go_at_once(self):
        for index in range(4):
            self.map(0x100_0000 * (index + 1), self.PAGE)
        self.driver.client.dma_unmap(0, 0, flags=2)
        self.driver.client.dma_map(self.driver.rings, spyre.RINGS_BYTES, self.driver.file.fd)
        self.assertEqual(self.copy_in(0x100_0000, 128), self.HOST_FAULT)

    def test_a_file_that_its_owner_shortens_is_a_host_fault(self):
        self.map(0x100_0000, 4 * self.PAGE)
        os.truncate(self.file.fd, self.PAGE)
        self.assertEqual(self.copy_in(0x100_0000 + self.PAGE, 128), self.HOST_FAULT)
        self.assertEqual(self.copy_out(0x100_0000 + self.PAGE, 512), self.HOST_FAULT)
        self.assertEqual(os.fstat(self.file.fd).st_size, self.PAGE)
        self.assertEqual(self.copy_in(0x100_0000, 128), 0)

    def test_memory_that_the_client_refuses_is_a_host_fault(self):
        client = self.driver.client
        client.dma_map(0x100_0000, self.PAGE)  # by messages, but nothing is there
        self.assertEqual(self.copy_in(0x100_0000, 128), self.HOST_FAULT)


if __name__ == "__main__":
    unittest.main()
