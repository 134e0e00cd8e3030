# SPDX-License-Identifier: Apache-2.0
"""Several cards of one server: a socket each, one clock, messages between clients, memory of the other card."""

import json
import os
import struct
import subprocess
import sys
import unittest

import served_card
import spyre
import vfio_user

TWO = served_card.CONFIG + "[card]\nmode = \"pf\"\n[cards]\ncount = 2\n"
CLOCK = 9  # region
RECEIVE, PEERS, MAPPED, POST, MESSAGE, FAREWELL = 0x28, 0x30, 0x38, 0x1000, 0x1000, 0x2C
BAR2 = 0x18  # in configuration space


def clock(name, **more):
    return {"spyre_time": {"client": name, **more}}


class Cards(served_card.ServedCard):
    def card(self, number, function=0):
        return os.path.join(self.directory, "s", f"card{number}", f"spyre.{function}.sock")

    def path(self, function=0):
        return self.card(0, function)

    def connect_to(self, number, name, **more):
        client = vfio_user.Client(self.card(number), capabilities=clock(name, **more))
        self.clients.append(client)
        return client


class SeveralCards(Cards):
    def test_each_card_has_sockets_of_its_own(self):
        lines = self.serve(config=TWO)
        self.assertIn(f"card 1 function 0 at {self.card(1)}", lines)
        for number in range(2):
            driver = spyre.Driver(self.connect_to(number, f"rank {number}"))
            driver.set(spyre.SCRATCH, 7 + number)
            self.assertEqual(driver.reg(spyre.SCRATCH), 7 + number)

    def test_a_message_wakes_the_client_that_sleeps_for_it(self):
        self.serve("--time", "lockstep", config=TWO)
        first, second = (self.connect_to(number, f"rank {number}", clients=2) for number in (0, 1))
        second.send(vfio_user.REGION_WRITE, struct.pack("<QIII", RECEIVE, CLOCK, 4, 1))
        first.advance(5_000_000)
        start = first.now()
        for text in (b"one", b"two"):
            first.write(CLOCK, POST, struct.pack("<II", 0, 1) + text)
        first.send(vfio_user.REGION_WRITE, struct.pack("<QIIQ", 8, CLOCK, 8, 10**9))
        second.receive()
        self.assertEqual(second.now(), start, "a message takes no time")
        self.assertEqual(second.read(CLOCK, MESSAGE, 100)[:11], struct.pack("<II", 3, 0) + b"one")
        second.write(CLOCK, RECEIVE, struct.pack("<I", 1))
        self.assertEqual(second.read(CLOCK, MESSAGE, 100)[:11], struct.pack("<II", 3, 0) + b"two")

    def test_a_client_that_waits_for_nobody_is_told_so(self):
        self.serve("--time", "lockstep", config=TWO)
        client = self.connect_to(0, "rank 0")
        client.write(CLOCK, RECEIVE, struct.pack("<I", 0))
        self.assertEqual(client.read(CLOCK, 0x20, 4), struct.pack("<I", 2))

    def test_lockstep_begins_when_as_many_have_come_as_one_of_them_says(self):
        self.serve("--time", "lockstep", config=TWO)
        first = self.connect_to(0, "rank 0", clients=2)
        first.send(vfio_user.REGION_WRITE, struct.pack("<QIIQ", 8, CLOCK, 8, 10**9))
        second = self.connect_to(1, "rank 1", clients=2)
        start = second.now()
        second.advance(1000)
        self.assertEqual(second.now(), start + 1000)
        second.close()
        first.receive()
        self.assertEqual(first.now(), start + 10**9)

    def test_a_card_writes_into_the_other_ones_memory_where_that_was_mapped(self):
        self.serve(config=TWO)
        drivers = [spyre.Driver(self.connect_to(number, f"rank {number}")) for number in (0, 1)]
        for driver in drivers:
            driver.map_range(0, 1 << 20)
        window = struct.unpack("<Q", drivers[1].client.read(CLOCK, PEERS, 8))[0]
        self.assertNotEqual(window, 0)
        drivers[1].client.write(vfio_user.CONFIG, BAR2, struct.pack("<Q", window))
        drivers[0].run(spyre.DMA_FILL, device=0x1000, size=256, value=0x0102030405060708)
        peers = struct.pack("<IIQQ", 1, 0, 0, 1 << 20)
        self.assertNotEqual(drivers[0].run(spyre.DMA_OUT, host=window, device=0x1000, size=256), 0)
        drivers[0].start()
        drivers[0].client.write(CLOCK, PEERS, peers)
        address = struct.unpack("<Q", drivers[0].client.read(CLOCK, MAPPED, 8))[0]
        self.assertEqual(
            drivers[0].run(spyre.DMA_OUT, host=address + 0x2000, device=0x1000, size=256), 0)
        self.assertEqual(drivers[1].client.read(2, 0x2000, 8), struct.pack("<Q", 0x0102030405060708))
        self.assert_refused(22, drivers[0].client.write, CLOCK, PEERS,
                            struct.pack("<IIQQ", 2, 0, 0, 4096))
        self.assert_refused(22, drivers[0].client.write, CLOCK, PEERS,
                            struct.pack("<IIQQ", 0, 1, 77, 0))

    def test_who_dies_is_named_and_who_goes_is_not(self):
        self.serve(config=TWO)
        for number, leaves in ((0, True), (1, False)):
            client = self.connect_to(number, f"rank {number}")
            if leaves:
                client.write(CLOCK, FAREWELL, bytes(4))
            client.close()
        self.assertEqual(self.server.stdout.readline(), "lost rank 1\n")

    def test_report_and_trace_are_of_all_cards(self):
        out = os.path.join(self.directory, "out")
        self.serve("--out", out, config=TWO)
        driver = spyre.Driver(self.connect_to(1, "rank 1"))
        self.assertEqual(driver.run(spyre.NOP), 0)
        driver.client.close()
        self.assertEqual(self.server.stdout.readline(), "lost rank 1\n")
        self.stop()
        with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual([card["card"] for card in report["cards"]], [0, 1])
        self.assertEqual(report["lost_clients"], ["rank 1"])
        self.assertGreater(report["trace"]["records"], 0)

    def test_a_card_may_be_that_of_another_file(self):
        other = self.write("other.toml", "[card]\ncores = 4\nmode = \"pf\"\n")
        self.serve("--card", "1=" + other, config=TWO)
        cores = [spyre.Driver(self.connect_to(number, f"rank {number}")).reg(spyre.CAPABILITIES) & 0xFF
                 for number in (0, 1)]
        self.assertEqual(cores, [32, 4])


# What a program in a process of its own begins with; its arguments: the socket, its name, and pipes.
PROGRAM = """
import os, select, struct, sys, threading
import vfio_user
path, name, pipes = sys.argv[1], sys.argv[2], [int(word) for word in sys.argv[3:]]
def connect():
    return vfio_user.Client(path, capabilities={"spyre_time": {"client": name, "clients": 2}})
def pause(milliseconds):
    select.poll().poll(milliseconds)
"""
# It lets time move in small steps, for as long as the other one is there.
RUNS_ON = "client = connect()\nprint(client.now(), flush=True)\nwhile True: client.advance(1000)\n"


class ProgramsThatSleepOnTheHost(Cards):
    """Clients in processes of their own: what they do on the host may be to sleep."""

    def start(self, number, text, pipes=()):
        program = subprocess.Popen(
            [sys.executable, "-B", "-c", PROGRAM + text, self.card(number), f"rank {number}"] + [str(end) for end in pipes],
            stdout=subprocess.PIPE, text=True, pass_fds=pipes)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.addCleanup(program.stdout.close)
        return program

    def serve_below(self):
        self.serve("--time", "lockstep", "--below", str(os.getpid()), config=TWO)

    def test_time_stands_while_a_thread_is_waited_for_that_wakes_by_itself(self):
        self.serve_below()
        self.start(0, RUNS_ON)
        # As a library's thread that looks now and then whether it is to end.
        second = self.start(1, "client = connect()\n"
                               "client.advance(10**6)\n"
                               "for i in range(5):\n"
                               "    start = client.now()\n"
                               "    looks = threading.Thread(target=pause, args=(30,))\n"
                               "    looks.start()\n"
                               "    looks.join()\n"
                               "    print(client.now() - start, flush=True)\n")
        self.assertEqual([second.stdout.readline() for _ in range(5)], ["0\n"] * 5)

    def test_time_does_not_begin_before_the_last_one_has_come(self):
        self.serve_below()
        first = self.start(0, RUNS_ON)
        start = first.stdout.readline()
        second = self.start(1, "for i in range(10): pause(30)\n"
                               "import time; time.sleep(0.1)\n"
                               "print(connect().now(), flush=True)\n")
        self.assertEqual(second.stdout.readline(), start)

    def test_time_goes_on_while_one_sleeps_long_and_stands_while_it_sleeps_for_moments(self):
        self.serve_below()
        self.start(0, RUNS_ON)
        second = self.start(1, "import time\n"
                               "client = connect()\n"
                               "for pauses in [0.03] * 5 + [0.6]:\n"
                               "    start = client.now()\n"
                               "    time.sleep(pauses)\n"
                               "    print(client.now() > start, flush=True)\n")
        self.assertEqual([second.stdout.readline() for _ in range(6)], ["False\n"] * 5 + ["True\n"])

    def check_who_waits(self, before):
        """The one waits for what the other one says in a pipe after a millisecond of the card."""
        self.serve_below()
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        self.addCleanup(os.close, writes)
        self.start(0, "client = connect()\n"
                      "for i in range(10): client.advance(10**8)\n"
                      "os.write(pipes[0], struct.pack('Q', client.now()))\n"
                      "client.advance(10**9)\n", [writes])
        second = self.start(1, before + "said = struct.unpack('Q', os.read(pipes[0], 8))[0]\n"
                                        "if client is None: client = connect()\n"
                                        "print(client.now() - said, flush=True)\n", [reads])
        self.assertEqual(second.stdout.readline(), "0\n")

    def test_time_goes_on_while_one_waits_for_another_and_its_threads_look_now_and_then(self):
        self.check_who_waits("def look():\n    while True: pause(10)\n"
                             "threading.Thread(target=look, daemon=True).start()\n"
                             "client = connect()\n")

    def test_time_begins_without_one_that_waits_for_another(self):
        self.check_who_waits("client = None\n")


if __name__ == "__main__":
    unittest.main()
