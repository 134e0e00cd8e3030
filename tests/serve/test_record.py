# SPDX-License-Identifier: Apache-2.0
"""Sessions of clients, recorded by the server and replayed without them."""

import json
import os
import random
import struct
import subprocess
import unittest

import served_card
import spyre
import vfio_user
from vfio_user import CONFIG


class Recorded(served_card.ServedCard):
    BASE = 0x1000_0000

    def record(self, *options):
        self.recording = os.path.join(self.directory, "session.rec")
        self.serve("--once", "--record", self.recording, *options)

    def finish(self):
        """The last client goes, and the server with it."""
        for client in self.clients:
            client.close()
        self.clients.clear()
        self.assertEqual(self.server.wait(timeout=120), 0, self.log())
        self.server.stdout.close()
        self.server = None

    def replay(self, *sets, status=0):
        done = subprocess.run([served_card.program(), "replay", self.recording, "--json", *sets],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def work(self, client, function=0, region=0):
        driver = spyre.Driver(client, function)
        if function == 0:
            driver.map_range(0, 1 << 24)
        memory = vfio_user.SharedMemory(1 << 18)
        client.dma_map(self.BASE, 1 << 18, memory.fd)
        rng = random.Random(function)
        for size in (100, 4096, 70_000):
            memory.data[0:size] = rng.randbytes(size)
            self.assertEqual(driver.run(spyre.DMA_IN, host=self.BASE, device=0, size=size,
                                        region=region), 0)
            self.assertEqual(driver.run(spyre.DMA_OUT, host=self.BASE + (1 << 17), device=0,
                                        size=size, region=region), 0)
        client.dma_unmap(self.BASE, 1 << 18)
        return driver

    def test_a_plain_clients_session_is_replayed_on_any_card(self):
        self.record()
        client = self.connect()
        driver = self.work(client)
        client.write(4, 0x101, b"abc")  # parts of words
        client.read(4, 0x100, 3)
        client.write(CONFIG, spyre.MSI + 12, b"\x42")
        client.read(CONFIG, spyre.MSI + 12, 1)
        driver.run(spyre.NOP)
        self.finish()
        result = self.replay()
        self.assertEqual((result["equal"], result["responses"]), (True, 7))
        self.assertTrue(self.replay("--set", "card.fidelity=functional")["equal"])

    def test_a_card_that_answers_otherwise_diverges(self):
        self.record()
        client = self.connect()
        spyre.Driver(client).reg(spyre.CAPABILITIES)
        self.finish()
        result = self.replay("--set", "card.cores=8", status=1)
        self.assertIn("CAPABILITIES", result["divergence"]["access"])

    def test_clients_with_the_same_addresses_are_told_apart(self):
        self.record("--vfs", "2")
        first, second = self.connect(1), self.connect(2)
        self.work(first, 1)
        self.work(second, 2)
        self.finish()
        result = self.replay()
        self.assertEqual((result["equal"], result["responses"]), (True, 12))

    def test_memory_without_a_file_is_recorded_and_resets_are(self):
        self.record()
        client = self.connect()
        driver = spyre.Driver(client, shared=False)
        driver.run(spyre.NOP)
        client.reset()
        client.dma_unmap(driver.rings, spyre.RINGS_BYTES)
        self.work(client)
        self.finish()
        self.assertTrue(self.replay()["equal"])

    def test_a_recording_that_cannot_hold_a_window_refuses_it(self):
        self.record()
        client = self.connect()
        self.assert_refused(12, client.dma_map, 0, 1 << 40)
        client.dma_map(0, 1 << 30)
        client.call(vfio_user.DMA_UNMAP, struct.pack("<IIQQ", 24, 0, 0, 1 << 30))
        self.finish()
        self.assertTrue(self.replay()["equal"])


if __name__ == "__main__":
    unittest.main()
