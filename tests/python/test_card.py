# SPDX-License-Identifier: Apache-2.0
"""A card from Python. A process simulates one card, so each class is a process of its own (CMakeLists.txt)."""

import os
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import spyre_cosim as sc
from spyre_cosim import contract


class WithCard(unittest.TestCase):
    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.card = sc.Card(settings=cls.settings)


class Registers(WithCard):
    def setUp(self):
        self.card.config_write(0x04, 6)  # memory, bus master

    def test_by_name_and_by_address(self):
        registers = self.card.registers()
        self.assertEqual(registers.MAGIC, 0x52595053)
        registers.SCRATCH = 0x12345678
        self.assertEqual(registers["SCRATCH"], 0x12345678)
        self.assertEqual(self.card.read32(0x20), 0x12345678)
        self.assertEqual(registers.fields("STATUS")["ERROR"], 0)
        with self.assertRaises(AttributeError):
            registers.SCRATHC = 1
        with self.assertRaisesRegex(sc.BadInput, "no register"):
            registers["SCRATHC"]

    def test_configuration_space(self):
        self.assertEqual(self.card.config_read(0), contract.PCI_PF_DEVICE_ID << 16 | contract.PCI_VENDOR_ID)
        self.assertEqual(self.card.config_read(0, function=3), 0xFFFFFFFF)
        with self.assertRaisesRegex(sc.BadInput, "BARs 0, 2 and 4"):
            self.card.read32(0, bar=1)

    def test_a_ring_by_hand_with_the_layouts_of_the_contract(self):
        registers = self.card.registers()
        while not registers.fields("STATUS")["READY"]:
            self.card.advance(10_000_000)
        submission, response = self.card.dma_buffer(16 * 128), self.card.dma_buffer(16 * 128)
        registers.SQ_BASE_LO, registers.SQ_BASE_HI = submission.io_address & 0xFFFFFFFF, submission.io_address >> 32
        registers.RQ_BASE_LO, registers.RQ_BASE_HI = response.io_address & 0xFFFFFFFF, response.io_address >> 32
        registers.SQ_ENTRIES = registers.RQ_ENTRIES = 16
        registers.QUEUE_CONTROL = 1
        registers.INT_ENABLE = 1
        for offset, value in ((0x54, 0xFEE00000), (0x5C, 0x20)):
            self.card.config_write(offset, value)
        self.card.config_write(0x50, self.card.config_read(0x50) | 1 << 16)
        layout = contract.LAYOUTS["ControlBlock"]
        fields = dict.fromkeys(layout.fields, 0)
        fields.update(magic=0x4243, version=1, opcode=contract.Opcode.NOP, flags=contract.FLAG_INTERRUPT, sequence=1)
        block = struct.pack(layout.format, *fields.values())[:-4]
        block += struct.pack("<I", crc32c(block))
        np.frombuffer(submission, np.uint8)[:128] = np.frombuffer(block, np.uint8)
        registers.SQ_TAIL = 1
        self.assertEqual(self.card.wait_interrupt(), "interrupt")
        layout = contract.LAYOUTS["Response"]
        answer = dict(zip(layout.fields, struct.unpack(layout.format, bytes(memoryview(response)[:128]))))
        self.assertEqual((answer["status"], answer["sequence"], answer["phase"]), (0, 1, 1))
        self.assertEqual(answer["crc"], crc32c(bytes(memoryview(response)[:124])))
        self.assertEqual(self.card.wait_interrupt(timeout_s=1e-3), "stalled")
        registers.QUEUE_CONTROL = 0


def crc32c(data):
    """RFC 3720, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Devices(WithCard):
    def test_copies_come_back_and_errors_have_names(self):
        with self.card.device() as device:
            device.map_range(0, 1 << 20)
            sent = np.random.default_rng(1).integers(0, 256, 100_003, np.uint8)
            received = np.zeros_like(sent)
            response = device.copy_to_card(sent, 0x1000)
            self.assertLess(response["started_ps"], response["finished_ps"])
            device.copy_from_card(received, 0x1000)
            np.testing.assert_array_equal(sent, received)
            with self.assertRaisesRegex(sc.DeviceFault, "DMA_IN ended with PAGE_FAULT at 0x40000000"):
                device.copy_to_card(sent, 1 << 30)
            with self.assertRaisesRegex(sc.DeviceFault, "ABORTED"):
                device.nop()  # the stream has failed
            device.reset()
            device.nop()
            with self.assertRaisesRegex(sc.BadInput, "contiguous"):
                device.copy_from_card(np.zeros((8, 8))[:, ::2], 0)
            with self.assertRaisesRegex(sc.BadInput, "Python objects"):
                device.copy_to_card(np.array([None, self]), 0)
            with self.assertRaisesRegex(sc.BadInput, "without elements"):
                device.copy_to_card(np.zeros(0), 0)
            with self.assertRaises(MemoryError):
                self.card.dma_buffer(1 << 60)
            with self.assertRaisesRegex(sc.BadInput, "vector 8: the card has 0 to 7"):
                self.card.wait_interrupt(8)
            with self.assertRaisesRegex(sc.BadInput, "no such field"):
                device.execute(contract.Opcode.NOP, device_region=1)
            with self.assertRaisesRegex(sc.BadInput, "16 bits"):
                device.execute(contract.Opcode.NOP, flags=1 << 16)
            with self.assertRaisesRegex(sc.BadInput, "open already"):
                self.card.device()
        with self.assertRaisesRegex(sc.BadInput, "closed"):
            device.nop()

    def test_copies_of_arrays_that_lie_otherwise_in_memory_are_right_or_refused(self):
        rows = np.arange(12, dtype=np.uint32).reshape(3, 4)
        received = np.zeros_like(rows)
        with self.card.device() as device:
            device.map_range(0x1000000, 1 << 20)
            for array in (np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2], rows[:]):
                device.copy_to_card(array, 0x1000000)
                received[:] = 0
                device.copy_from_card(received, 0x1000000)
                np.testing.assert_array_equal(received, rows)
            other = np.dtype(np.uint32).newbyteorder(">" if sys.byteorder == "little" else "<")
            with self.assertRaisesRegex(sc.BadInput, "other byte order"):
                device.copy_to_card(rows.astype(other), 0x1000000)
            with self.assertRaisesRegex(sc.BadInput, "other byte order"):
                device.copy_from_card(np.zeros(12, other), 0x1000000)
            with self.assertRaisesRegex(sc.BadInput, "contiguous"):
                device.copy_from_card(np.zeros((3, 4), np.uint32, order="F"), 0x1000000)
            fixed = np.zeros(12, np.uint32)
            fixed.flags.writeable = False
            with self.assertRaisesRegex(sc.BadInput, "writable"):
                device.copy_from_card(fixed, 0x1000000)
            # Elements that the buffer protocol has no letter for.
            dates = np.array(["2026-01-01", "2026-01-02"], "datetime64[D]")
            device.copy_to_card(dates, 0x1000000)
            back = np.zeros_like(dates)
            device.copy_from_card(back, 0x1000000)
            np.testing.assert_array_equal(back, dates)
            device.unmap_range(0x1000000)

    def test_a_mapped_range_holds_data_and_programs(self):
        with tempfile.TemporaryDirectory() as directory, self.card.device() as device:
            text = os.path.join(directory, "nothing.s")
            with open(text, "w", encoding="utf-8") as file:
                file.write(".program nothing\n.cores 0x1\n.section vector 0x1\n  nop\n")
            image = os.path.join(directory, "nothing.bin")
            subprocess.run(
                [os.path.join(os.environ["SPYRE_BUILD"], "spyre-cosim"), "asm", text, "-o", image],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            program = np.fromfile(image, np.uint8)
            device.map_range(0x2000000, 1 << 20)
            device.copy_to_card(program, 0x2000000)
            segments = np.zeros(8, np.uint64)
            device.copy_to_card(segments, 0x2008000)
            device.execute(
                contract.Opcode.COMPUTE, program_base=0x2000000, program_bytes=program.size, segment_table=0x2008000
            )
            device.unmap_range(0x2000000)

    def test_threads_take_turns_and_others_go_on(self):
        with self.card.device() as device:
            failures = []

            def work():
                try:
                    for _ in range(50):
                        device.nop()
                except Exception as error:  # pylint: disable=broad-except
                    failures.append(error)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.assertEqual(device.nop()["sequence"], 201)

    def test_a_buffer_outlives_the_names_of_its_card(self):
        view = np.frombuffer(self.card.dma_buffer(4096), np.uint32)
        view[:] = 7
        self.assertEqual(int(view.sum()), 7 * 1024)
        with self.assertRaisesRegex(sc.BadInput, "0 bytes"):
            self.card.dma_buffer(0)

    def test_a_second_simulated_card_says_why_not(self):
        with self.assertRaisesRegex(sc.BadInput, "elaborates only once"):
            sc.Card()
        self.assertIs(sc.run(settings={"workload.op": "neg", "workload.cols": 64}).verified, True, "runs are processes of their own")

    def test_a_hot_reset_takes_everything_back(self):
        with self.card.device() as device:
            device.registers.SCRATCH = 5
        self.card.hot_reset()
        with self.card.device() as device:
            self.assertEqual(device.registers.SCRATCH, 0)
            device.nop()


class VirtualFunctions(WithCard):
    def test_a_function_has_its_regions_and_a_runtime(self):
        with self.card.device() as physical:
            physical.enable_virtual_functions(2)
            for vf in (1, 2):
                for region in range(8):
                    physical.assign_region(vf, region, ((vf - 1) * 8 + region) << 30, 1 << 30)
            with self.card.device(1) as vf:
                data = np.arange(1024, dtype=np.uint32)
                vf.copy_to_card(data, 4096, region=3)
                back = np.zeros_like(data)
                vf.copy_from_card(back, 4096, region=3)
                np.testing.assert_array_equal(data, back)
                with self.assertRaises(sc.DeviceFault):
                    vf.copy_to_card(data, 1 << 30, region=3)
            x = np.random.default_rng(2).integers(-100, 100, (64, 256)).astype(np.float32)
            runtime = self.card.runtime(2)
            with tempfile.TemporaryDirectory() as directory:
                sc.compile_kernel("mul", {"rows": 64, "cols": 256}, directory)
                kernel = runtime.load(directory)
                tensors = [runtime.tensor(x), runtime.tensor(np.full_like(x, 2)), runtime.empty(x.shape)]
                runtime.launch(kernel, tensors)
                np.testing.assert_array_equal(tensors[2].numpy("float32"), 2 * x)
                self.assertEqual(tensors[2].shape, (64, 256))
                with self.assertRaises(sc.BadInput):
                    runtime.launch(kernel, tensors[:2])
                self.assertIn("COMPUTE", {operation["operation"] for operation in runtime.completed})
            with self.assertRaisesRegex(sc.BadInput, "int32 elements"):
                runtime.tensor(np.zeros(4, np.int32))
            for array in (x.astype(">f4"), x.astype(">f2"), np.asfortranarray(x), x[:, ::-1][:, ::-1]):
                np.testing.assert_array_equal(runtime.tensor(array).numpy("float32"), x)


class AtTheEnd(unittest.TestCase):
    def test_a_program_may_end_with_everything_open(self):
        script = (
            "import numpy as np, spyre_cosim as sc\n"
            "card = sc.Card()\n"
            "runtime = card.runtime()\n"
            "tensor = runtime.tensor(np.ones((64, 64), np.float16))\n"
            "buffer = np.frombuffer(card.dma_buffer(4096), np.uint8)\n"
            "print(buffer.sum())\n"
        )
        done = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "0\n")


class Served(unittest.TestCase):
    def test_a_served_card_is_a_card(self):
        with tempfile.TemporaryDirectory() as directory:
            config = os.path.join(directory, "card.toml")
            with open(config, "w", encoding="ascii") as file:
                file.write('[workload]\nop = "copy"\nrows = 64\ncols = 64\n')
            sockets = os.path.join(directory, "s")
            program = os.path.join(os.environ["SPYRE_BUILD"], "spyre-cosim")
            server = subprocess.Popen(
                [program, "serve", config, "--vfio-user", sockets, "--time", "lockstep", "--once"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )
            with server:
                for line in server.stdout:
                    if line == "serving\n":
                        break
                card = sc.Card.connect(sockets)
                self.assertEqual(card.config_read(0), 0x06A71014)
                device = card.device()
                device.map_range(0, 1 << 20)
                data = np.arange(10_000, dtype=np.uint16)
                back = np.zeros_like(data)
                device.copy_to_card(data, 0)
                device.copy_from_card(back, 0)
                np.testing.assert_array_equal(data, back)
                self.assertEqual(card.wait_interrupt(vector=2, timeout_s=1e-6), "stalled")
                with self.assertRaisesRegex(sc.BadInput, "cannot take its link down"):
                    card.hot_reset()
                device.close()
                del device, card
                self.assertEqual(server.wait(), 0)
        with self.assertRaises(sc.BadInput):
            sc.Card.connect(os.path.join(directory, "nowhere"))


if __name__ == "__main__":
    unittest.main()
