# SPDX-License-Identifier: Apache-2.0
"""The three time modes, the card's clock, and a run on a served card."""

import hashlib
import json
import os
import struct
import subprocess
import time
import unittest

import served_card
import spyre
import vfio_user
from vfio_user import CONFIG

INTERRUPT, DEADLINE, STALLED = 0, 1, 2


def clock(name):
    return {"spyre_time": {"client": name}}


class TimeRegion(served_card.ServedCard):
    def test_only_who_asks_for_the_clock_sees_its_region(self):
        self.serve()
        client = self.connect()
        self.assertEqual(client.info()[2], 9)
        client.close()
        client = self.connect(capabilities=clock("me"))
        self.assertEqual(client.capabilities["spyre_time"], {"mode": "free"})
        self.assertEqual(client.info()[2], 10)
        info, rest = client.region_info(9)
        self.assertEqual(info, (48, 3, 9, 0, 8192, 0), "too small for its capabilities")
        self.assertEqual(rest, b"")
        info, rest = client.region_info(9, argsz=48)
        self.assertEqual(info, (48, 3 | 8, 9, 32, 8192, 0))
        self.assertEqual(rest, struct.pack("<HHIII", 2, 1, 0, 0x80001014, 0x74696D65))

    def test_time_moves_by_what_is_asked_and_by_what_accesses_cost(self):
        self.serve("--time", "lockstep")
        client = self.connect(capabilities=clock("me"))
        start = client.now()
        client.advance(123_456)
        self.assertEqual(client.now(), start + 123_456)
        client.write32(CONFIG, spyre.MSI + 4, 0xFEE00000)
        self.assertEqual(client.now(), start + 123_456 + 50_000, "a posted write: 50 ns")
        before = client.now()
        client.read32(CONFIG, 0)
        self.assertGreater(client.now(), before + 50_000)

    def test_who_asks_for_outcomes_has_them_behind_each_answer(self):
        self.serve("--time", "lockstep")
        client = self.connect(capabilities={"spyre_time": {"client": "me", "outcomes": True}})
        self.assertEqual(client.capabilities["spyre_time"],
                         {"mode": "lockstep", "outcomes": True})

        def call(command, offset, count, data=b""):
            access = struct.pack("<QII", offset, vfio_user.TIME, count)
            reply = client.call(command, access + data)
            self.assertEqual(reply[:16], access)
            return reply[16:]

        read, write = vfio_user.REGION_READ, vfio_user.REGION_WRITE
        answer = call(read, 0, 8)
        start, = struct.unpack("<Q", answer[:8])
        self.assertEqual(answer[8:], struct.pack("<QII", start, 0, 0))
        self.assertEqual(call(write, 8, 8, struct.pack("<Q", 123_456)),
                         struct.pack("<QII", start + 123_456, 0, 0))
        wait = struct.pack("<QII", start + 200_000, 0, 0)
        ended = struct.pack("<QII", start + 123_456, STALLED, 0)  # nothing is left to happen
        self.assertEqual(call(write, 16, 16, wait), ended)
        post = struct.pack("<II", 7, 3) + b"hello"
        self.assertEqual(call(write, 0x1000, len(post), post), ended)
        self.assertEqual(call(write, 0x28, 4, struct.pack("<I", 3)),
                         struct.pack("<QII", start + 123_456, INTERRUPT, 0) +
                         struct.pack("<II", 5, 7) + b"hello")

    def test_a_wait_ends_by_interrupt_deadline_or_because_nothing_is_left(self):
        self.serve("--time", "lockstep")
        client = self.connect(capabilities=clock("me"))
        driver = spyre.Driver(client, idle=lambda: client.advance(1_000_000))
        driver.enable_msi()
        driver.submit(spyre.NOP, flags=spyre.INTERRUPT)
        driver.ring()
        self.assertEqual(client.wait(0, client.now() + 1_000), DEADLINE)
        self.assertEqual(client.wait(0, client.now() + 10**12), INTERRUPT)
        self.assertEqual(client.wait(0, client.now() + 10**12), STALLED)
        self.assert_refused(22, client.wait, 8, 0)
        text = client.read(vfio_user.TIME, 0x40, 0xFC0)
        self.assertIn(b"\0", text)

    def test_time_begins_with_the_first_client(self):
        starts = set()
        for pause in (0, 0.3):
            self.serve()
            time.sleep(pause)  # only a server that does not wait for a client could tell
            client = self.connect(capabilities=clock("me"))
            starts.add(client.now() < 10**9)
            self.stop()
        self.assertEqual(starts, {True})

    def test_lockstep_takes_only_clients_that_use_the_clock(self):
        self.serve("--time", "lockstep")
        with self.assertRaises(vfio_user.Refused):
            self.connect()

    def test_paced_time_does_not_outrun_the_wall(self):
        self.serve("--time", "paced", "--factor", "0.001")
        client = self.connect(capabilities=clock("me"))
        begin = time.monotonic()
        start = client.now()
        client.advance(100_000_000)  # 100 us: 0.1 s of wall time
        # Time has begun with the server, so a part of it may have passed; not the other way round.
        self.assertGreaterEqual(client.now() - start, 100_000_000)
        elapsed = time.monotonic() - begin
        client.advance(100_000_000)
        self.assertGreaterEqual(time.monotonic() - begin - elapsed, 0.05)


def worker(path, function, name):
    """A client of one virtual function: a digest of all that it sees, times included."""
    client = vfio_user.Client(path, capabilities=clock(name))
    driver = spyre.Driver(client, function, idle=lambda: client.advance(200_000))
    driver.enable_msi()
    digest = hashlib.sha256()
    memory = vfio_user.SharedMemory(1 << 16)
    memory.data[:] = bytes((index * 7 + function) & 0xFF for index in range(1 << 16))
    client.dma_map(0x100_0000, 1 << 16, memory.fd)
    for index in range(12):
        for opcode, host in ((spyre.DMA_IN, 0x100_0000), (spyre.DMA_OUT, 0x100_8000)):
            driver.submit(opcode, host=host, device=128 * index, size=(index + 1) * 1000,
                          flags=spyre.INTERRUPT)
        driver.ring()
        for _ in range(2):
            while (response := driver.poll()) is None:
                digest.update(struct.pack("<I", client.wait(0, client.now() + 10**9)))
            digest.update(response[1])
            digest.update(struct.pack("<Q", client.now()))
    digest.update(memory.data[:])
    client.close()
    return digest.hexdigest()


class Lockstep(served_card.ServedCard):
    def test_two_processes_see_the_same_in_twenty_runs(self):
        results = set()
        for _ in range(20):
            self.serve("--time", "lockstep", "--clients", "2", "--vfs", "2")
            pipes = []
            for function in (1, 2):
                reading, writing = os.pipe()
                if os.fork() == 0:
                    try:
                        text = worker(self.path(function), function, f"vf{function}")
                        os.write(writing, text.encode())
                    finally:
                        os._exit(0)
                os.close(writing)
                pipes.append(reading)
            digests = []
            for reading in pipes:
                with os.fdopen(reading, "rb") as file:
                    digests.append(file.read())
            for _ in pipes:
                os.wait()
            self.assertTrue(all(digests), self.log())
            results.add(tuple(digests))
            self.stop()
        self.assertEqual(len(results), 1)

    def test_time_stands_while_one_client_is_busy(self):
        self.serve("--time", "lockstep", "--clients", "2", "--vfs", "1")
        first = self.connect(0, capabilities=clock("a"))
        first.send(vfio_user.REGION_WRITE, struct.pack("<QIIQ", 8, 9, 8, 10**9))
        second = self.connect(1, capabilities=clock("b"))
        start = second.now()
        second.advance(1000)
        self.assertEqual(second.now(), start + 1000, "the other one sleeps for longer")
        second.close()
        first.receive()
        self.assertEqual(first.now(), start + 10**9)


class Runs(served_card.ServedCard):
    """`run --transport` against `run`: the same results at the same simulated times."""

    WORKLOAD = "[card]\nmode = \"vf\"\n[workload]\nop = \"matmul\"\nm = 128\nk = 128\nn = 128\n"

    def run_program(self, *arguments):
        return subprocess.run([served_card.program(), "run", *arguments, "--estimate-next", "--no-progress", "--json"],
                              cwd=self.directory, capture_output=True, text=True, check=False)

    def compare(self, config, *sets):
        path = self.write("run.toml", config)
        done = self.run_program(path, "--out", "here", *sets, "--set", "trace.enabled=false")
        self.assertEqual(done.returncode, 0, done.stderr)
        here = json.loads(done.stdout)
        self.serve("--time", "lockstep", config=config)
        done = self.run_program(path, "--out", "there", "--transport",
                                "vfio-user:" + os.path.dirname(self.path()), *sets)
        self.assertEqual(done.returncode, 0, done.stderr)
        there = json.loads(done.stdout)
        self.assertTrue(there["transport"].startswith("vfio-user:"))
        for key in ("sim_time_ns", "operations", "kernels", "verification", "device_memory",
                    "overlap", "memory", "corrections", "window_ns"):
            if key in here:
                expected, got = here[key], there[key]
                if key in ("kernels", "corrections"):
                    got = [{k: v for k, v in kernel.items() if k in expected[0]} for kernel in got]
                    expected = [{k: v for k, v in kernel.items() if k in got[0]}
                                for kernel in expected]
                self.assertEqual(got, expected, key)
        self.stop()

    def test_a_virtual_function_runs_alike_here_and_there(self):
        self.compare(self.WORKLOAD)

    def test_the_physical_function_polls_alike_here_and_there(self):
        self.compare(self.WORKLOAD.replace("\"vf\"", "\"pf\"") +
                     "[runtime]\ncompletion = \"polled\"\n")

    def test_free_time_gives_the_same_results(self):
        path = self.write("run.toml", self.WORKLOAD)
        self.serve(config=self.WORKLOAD)
        done = self.run_program(path, "--transport", "vfio-user:" + os.path.dirname(self.path()))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_server_that_dies_is_a_card_that_was_removed(self):
        config = self.WORKLOAD.replace("128", "2048")
        path = self.write("run.toml", config)
        self.serve("--time", "lockstep", config=config)
        run = subprocess.Popen(
            [served_card.program(), "run", path, "--no-progress", "--transport",
             "vfio-user:" + os.path.dirname(self.path())],
            cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while "client" not in self.log():
            self.assertIsNone(run.poll(), "it has ended before the server")
        server, self.server = self.server, None
        server.kill()
        server.wait()
        server.stdout.close()
        error = run.communicate(timeout=120)[1]
        self.assertEqual(run.returncode, 3, error)
        self.assertIn("is gone: its server has ended", error)

    def test_wrong_places_and_cards_are_said(self):
        path = self.write("run.toml", self.WORKLOAD)
        for transport, text in (("tcp:1", "must be vfio-user:DIR"),
                                ("vfio-user:nowhere/x", "neither a directory"),
                                ("vfio-user:nowhere/spyre.0.sock", "no server offers a card")):
            done = self.run_program(path, "--transport", transport)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
        self.serve("--time", "lockstep", "--set", "card.cores=8", config=self.WORKLOAD)
        done = self.run_program(path, "--transport", "vfio-user:" + os.path.dirname(self.path()))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the served card has 8 cores", done.stderr)

    def test_once_ends_with_the_last_client(self):
        self.serve("--once")
        client = self.connect()
        client.close()
        self.assertEqual(self.server.wait(timeout=120), 0)
        self.server.stdout.close()
        self.server = None


if __name__ == "__main__":
    unittest.main()
