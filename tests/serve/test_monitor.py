# SPDX-License-Identifier: Apache-2.0
"""`smi` on a served card: what it shows, and that nobody notices it."""

import subprocess
import unittest

import served_card

BAR0 = 0  # region
CAPABILITIES = 0x0C
SCRATCH = 0x20


class Monitor(served_card.ServedCard):
    def smi(self, *options):
        result = subprocess.run(
            [served_card.program(), "smi", "--backend", "vfio-user:" + self.directory + "/s", *options],
            check=True, stdout=subprocess.PIPE, text=True, timeout=300)
        lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
        names = [cell.split()[0] for cell in lines[0].split(",")]
        return [dict(zip(names, line.split(","))) for line in lines[1:]]

    def test_an_idle_card_takes_what_its_parameters_say(self):
        self.serve()
        rows = self.smi("-d", "1ms", "--lines", "2", "-s", "-g", "A")
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(row["pwr"], "19.0")
            self.assertEqual(row["gtemp"], "30.9")
            self.assertEqual(row["busy"], "0")
            self.assertEqual(row["rdmem"], "0.000")
            self.assertEqual(row["actmem"], "-", "the runtime is elsewhere")

    def test_its_coming_and_going_resets_nothing(self):
        self.serve("--vfs", "2")
        virtual = self.connect(1)
        regions = virtual.read32(BAR0, CAPABILITIES) >> 8 & 0xFF
        self.assertEqual(regions, 8)
        virtual.write32(BAR0, SCRATCH, 0x1234)
        for _ in range(2):
            row = self.smi("-d", "1ms", "--lines", "1", "-s", "-g", "M")[0]
            self.assertGreater(float(row["rsvmem"]), 100_000)
        self.assertEqual(virtual.read32(BAR0, CAPABILITIES) >> 8 & 0xFF, 8)
        self.assertEqual(virtual.read32(BAR0, SCRATCH), 0x1234)


if __name__ == "__main__":
    unittest.main()
