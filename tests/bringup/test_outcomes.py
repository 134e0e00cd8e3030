# SPDX-License-Identifier: Apache-2.0
"""What a bring-up program says of tests that pass, fail and could not run: text, JSON, JUnit, exit status."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = os.environ["SPYRE_OUTCOMES"]


class Outcomes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="spyre-outcomes-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def climb(self, *options):
        """Exit status, standard output, JSON and JUnit."""
        results, junit = self.scratch / "r.json", self.scratch / "j.xml"
        done = subprocess.run([PROGRAM, "--json", results, "--junit", junit, *options], check=False,
                              capture_output=True, text=True)
        self.error = done.stderr
        if not results.exists():
            return done.returncode, done.stdout, None, None
        return (done.returncode, done.stdout, json.loads(results.read_text()),
                xml.etree.ElementTree.parse(junit).getroot())

    def outcomes(self, results):
        return {f"{test['suite']}.{test['name']}": test["outcome"] for test in results["tests"]}

    def test_all_passed_is_0(self):
        status, _, results, junit = self.climb("--rung", "101")
        self.assertEqual(status, 0)
        self.assertEqual((results["passed"], results["failed"], results["could_not_run"]), (1, 0, 0))
        self.assertEqual(results["of_higher_levels"], 1)
        self.assertEqual(results["tests"][0]["measurements"], [{"name": "answer", "value": 42.0, "unit": "units"}])
        self.assertIn("answer = 42.0 units", junit.find(".//system-out").text.replace("42 ", "42.0 "))
        self.assertEqual(results["board"]["capabilities"]["cores"], 32)

    def test_could_not_run_is_neither_passed_nor_failed(self):
        status, text, results, junit = self.climb("--rung", "102")
        self.assertEqual(status, 5)
        self.assertEqual(self.outcomes(results), {"Rung102Partly.Passes": "passed",
                                                  "Rung102Partly.CannotRunHere": "could not run",
                                                  "Rung102Partly.IsSkipped": "could not run"})
        self.assertEqual(results["tests"][1]["message"], "there is no <cable> & no lamp")
        self.assertIn("1 passed, 0 failed, 2 could not run", text)
        skipped = [case.find("skipped").get("message") for case in junit.iter("testcase")
                   if case.find("skipped") is not None]
        self.assertEqual(skipped, ["there is no <cable> & no lamp", "for a reason"])

    def test_failed_is_1_whatever_else_there_is(self):
        status, text, results, junit = self.climb("--rung", "101-104")
        self.assertEqual(status, 1)
        outcomes = self.outcomes(results)
        self.assertEqual(outcomes["Rung103Bad.Fails"], "failed")
        self.assertEqual(outcomes["Rung103Bad.Throws"], "failed")
        self.assertEqual(outcomes["Rung103Bad.FailsBeforeItCannotRun"], "failed")
        self.assertEqual(outcomes["Rung104Above.Passes"], "passed")
        self.assertIn("one is not two", text)
        self.assertIn("the card said no", text)
        self.assertEqual(junit.get("failures"), "3")

    def test_what_is_above_a_broken_rung_could_not_run(self):
        status, _, results, _ = self.climb("--rung", "101-105", "--stop-at-broken-rung")
        self.assertEqual(status, 1)
        above = [test for test in results["tests"] if test["rung"] > 103]
        self.assertEqual([test["message"] for test in above], 3 * ["rung 103 is broken"])
        self.assertEqual(sum(test["rung"] == 103 for test in results["tests"]), 3, "the rung itself runs to its end")

    def test_levels_patterns_and_the_list(self):
        self.assertEqual(self.climb("--rung", "101", "--level", "2")[2]["passed"], 2)
        self.assertEqual(self.climb("--test", "Rung105*/1", "--test", "*104*")[2]["passed"], 2)
        status, text, results, _ = self.climb("--rung", "105", "--list")
        self.assertEqual((status, results), (0, None) if not (self.scratch / "r.json").exists() else (0, results))
        self.assertEqual(text.splitlines(), ["rung 105 level 1  Rung105Twice.Passes/0",
                                             "rung 105 level 1  Rung105Twice.Passes/1"])

    def test_bad_input_is_2_before_a_card_is_opened(self):
        for options in (["--rung", "7-3"], ["--rung", "x"], ["--rung", "0"], ["--level", "5"], ["--rung", "9999"],
                        ["--test", "Nothing*"], ["--backend", "pigeon:loft"], ["--set", "card.cores=99"],
                        ["--backend", "vfio-user:"], ["--backend", "vfio:"], ["--card", "/nowhere.toml"]):
            with self.subTest(options):
                status, text, results, _ = self.climb("--rung", "101", *options) if "--rung" not in options \
                    else self.climb(*options)
                self.assertEqual((status, text, results), (2, "", None), self.error)
                self.assertTrue(self.error.startswith("spyre-bringup: "))

    def test_a_card_that_cannot_be_opened_is_3(self):
        status, text, results, _ = self.climb("--backend", "absent:x")
        self.assertEqual((status, text, results), (3, "", None))
        self.assertIn("no card in this slot", self.error)

    def test_a_card_that_is_lost_fails_one_test_and_the_others_could_not_run(self):
        status, _, results, _ = self.climb("--backend", "lost", "--rung", "101-102", "--level", "2")
        self.assertEqual(status, 1)
        self.assertEqual([test["outcome"] for test in results["tests"]],
                         ["passed", "failed"] + 3 * ["could not run"])
        self.assertEqual(results["tests"][2]["message"], "the card has not come back from a reset")
        self.assertIn("error", results["board"])

    def test_a_stuck_bit_of_memory_is_located(self):
        for said, place in (([], "0x40,"), (["--set", "card.cores=32"], "0x40, channel 0 bank 0,")):
            status, text, results, _ = self.climb("--backend", "stuck", "--rung", "8", *said)
            self.assertEqual(status, 1)
            faults = [line for test in results["tests"] for line in test.get("message", "").splitlines()
                      if "wrong bits" in line]
            self.assertTrue(faults)
            for fault in faults:
                self.assertIn(f"{place} wrong bits 0x0000000000000020", fault)

    def test_the_manual_page_has_all_options(self):
        done = subprocess.run([PROGRAM, "--man"], check=True, capture_output=True, text=True)
        for option in ("backend", "rung", "level", "stop", "json", "junit", "report", "seed"):
            self.assertIn(option, done.stdout)


if __name__ == "__main__":
    unittest.main()
