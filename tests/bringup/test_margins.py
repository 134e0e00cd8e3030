# SPDX-License-Identifier: Apache-2.0
"""Boards with one planted fault of each kind, and good ones: PASS, MARGINAL or FAIL, and the line that says why."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["SPYRE_BUILD"])
# What is a moment, and when, in us after power-on; others strike at the first event that they can.
MOMENTS = {"pcie_retrain": 100200, "pcie_link_down": 700000, "pcie_removal": 700000, "firmware_hang": 100200,
           "firmware_trap": 100200, "firmware_corrupt": 100200, "thermal_throttle": 100200, "power_brake": 100200}
# The circuit decides what a bit does, which may be nothing.
LEFT_OUT = {"rtl_bit_flip"}


class Margins(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="spyre-margins-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def climb(self, fault, *options):
        """Exit status, results, and the tests that did not pass."""
        card, results = self.scratch / "card.toml", self.scratch / "results.json"
        card.write_text(fault)
        done = subprocess.run([BUILD / "spyre-bringup", "--backend", f"inproc:{card}", "--json", results, *options],
                              check=False, capture_output=True, text=True)
        result = json.loads(results.read_text())
        self.assertIn(result["verdict"] + ": ", done.stdout)
        return done.returncode, result, [test for test in result["tests"] if test["outcome"] in ("marginal", "failed")]

    def kinds(self):
        listed = subprocess.run([BUILD / "spyre-cosim", "faults"], check=True, capture_output=True, text=True).stdout
        return [line for line in listed.splitlines() if line and not line.startswith(" ")]

    def test_one_fault_of_every_kind_is_found(self):
        kinds = self.kinds()
        self.assertGreater(len(kinds), 25)
        for kind in kinds:
            if kind in LEFT_OUT:
                continue
            with self.subTest(kind):
                when = f"when = {{ time_us = {MOMENTS[kind]} }}\n" if kind in MOMENTS else ""
                status, result, found = self.climb(f'[[fault]]\nkind = "{kind}"\n{when}', "--rung", "1-6")
                self.assertTrue(found)
                self.assertEqual((status, result["verdict"]),
                                 (1, "FAIL") if result["failed"] else (6, "MARGINAL"))
                self.assertTrue(all(test["message"] for test in found), "each says why")

    def test_what_is_only_corrected_is_marginal_and_says_what_it_was(self):
        for kind, text in (("memory_single_bit", "1 word of device memory had to be corrected (channel "),
                           ("ring_retry", "links of the ring sent"),
                           ("pcie_poisoned_completion", "the PCIe link has met a poisoned packet"),
                           ("msi_spurious", "came twice"),
                           ("core_late", "of a core, in order of cores: number 1 of 32 took")):
            with self.subTest(kind):
                status, _, found = self.climb(f'[[fault]]\nkind = "{kind}"\n', "--rung", "1-6")
                self.assertEqual(status, 6)
                self.assertEqual(len(found), 1)
                self.assertIn(text, found[0]["message"])
        when = "when = { time_us = 100200 }\n"
        _, _, found = self.climb(f'[[fault]]\nkind = "power_brake"\nlasts_us = 100000000\n{when}', "--rung", "1")
        self.assertIn("a signal from outside, as of the slot", found[0]["message"])

    def test_a_board_that_always_fails_does_not_end_the_program(self):
        for kind in ("response_duplicated", "response_lost", "dma_stuck", "pcie_lost_completion", "ring_dead"):
            with self.subTest(kind):
                status, result, _ = self.climb(f'[[fault]]\nkind = "{kind}"\ntimes = 1000000\n', "--rung", "3-6")
                self.assertEqual((status, result["verdict"]), (1, "FAIL"))
                self.assertEqual(result["could_not_run"], 0)

    def test_good_cards_pass(self):
        for seed in range(1, 11):
            status, result, found = self.climb("", "--seed", str(seed))
            self.assertEqual((status, result["verdict"], found), (0, "PASS", []), seed)

    def test_a_core_that_computes_wrongly_has_a_name(self):
        for core in (0, 17):
            fault = f'[[fault]]\nkind = "core_wrong"\nwhere = {{ core = {core} }}\ntimes = 1000000\n'
            _, _, found = self.climb(fault, "--test", "Rung6EveryCore.*")
            self.assertEqual(len(found), 1)
            self.assertRegex(found[0]["message"], rf"core {core}, (corelet [01], PT array|vector unit), lane \d+: ")
            others = [c for c in range(32) if f"core {c}," in found[0]["message"]]
            self.assertEqual(others, [core])

    def test_a_march_goes_on_and_draws_where_memory_is_bad(self):
        faults = "".join(f'[[fault]]\nkind = "memory_double_bit"\nwhere = {{ channel = {channel}, bank = {bank} }}\n'
                         "times = 1000000\n" for channel, bank in ((3, 11), (9, 2)))
        _, _, found = self.climb(faults, "--test", "Rung8Memory.AMarch*")
        message = found[0]["message"]
        self.assertIn("channel 3 bank 11, cannot be read: BUS_ERROR", message)
        self.assertIn("channel 9 bank 2, cannot be read: BUS_ERROR", message)
        drawn = dict(line.strip().split()[1:3] for line in message.splitlines() if line.startswith("  channel"))
        bad = {(int(channel), bank) for channel, banks in drawn.items() for bank, x in enumerate(banks) if x == "X"}
        self.assertEqual(bad, {(3, 11), (9, 2)})

    def test_a_status_is_a_cause_with_a_place(self):
        _, _, found = self.climb('[[fault]]\nkind = "memory_double_bit"\n', "--test", "Rung4Dma.EveryOfMany*")
        self.assertRegex(found[0]["message"], r"DMA_OUT ended with BUS_ERROR at 0x[0-9a-f]+, channel \d+ bank \d+")

    def test_the_report_says_which_board_it_was_and_no_errors_of_the_tests(self):
        _, result, _ = self.climb("", "--rung", "1-5")
        self.assertRegex(result["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(result["board"]["identity"]["address"], result["backend"])
        self.assertTrue(result["board"]["identity"]["serial"])
        self.assertRegex(result["board"]["firmware"]["version"], r"^\d+\.\d+$")
        self.assertEqual(result["board"]["error_log"], [])
        _, result, _ = self.climb('[[fault]]\nkind = "memory_single_bit"\n', "--rung", "1-5")
        self.assertEqual([record["code"] for record in result["board"]["error_log"]], ["MEMORY_CORRECTED"])


if __name__ == "__main__":
    unittest.main()
