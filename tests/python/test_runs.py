# SPDX-License-Identifier: Apache-2.0
"""Runs of configurations from Python. NumPy computes what should come out."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import spyre_cosim as sc

ADD = {"workload.op": "add", "workload.rows": 64, "workload.cols": 128}


class Runs(unittest.TestCase):
    def test_a_result_is_what_numpy_computes_of_the_same_files(self):
        with tempfile.TemporaryDirectory() as directory:
            rng = np.random.default_rng(3)
            # Whole numbers up to 500 have no rounding in 9 bits of fraction, nor have their sums up to 1,000 by twos.
            x, y = (2 * rng.integers(-250, 250, (64, 128)).astype(np.float16) for _ in range(2))
            np.save(os.path.join(directory, "x.npy"), x)
            np.save(os.path.join(directory, "y.npy"), y)
            out = os.path.join(directory, "out")
            files = [os.path.join(directory, name) for name in ("x.npy", "y.npy")]
            result = sc.run(settings={**ADD, "workload.inputs.a": files[0], "workload.inputs.b": files[1]}, out=out)
            np.testing.assert_array_equal(result.tensors["out"], x + y)
            np.testing.assert_array_equal(result.tensors["out"], np.load(os.path.join(out, "out.npy")))
            with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
                self.assertEqual(result.report, json.load(file))
            self.assertIs(result.verified, True)
            self.assertIn("bit-exact", result.summary)
            self.assertGreater(os.path.getsize(result.trace), 0)

    def test_a_process_runs_as_many_as_it_likes_with_equal_times(self):
        first, second = (sc.run(settings=ADD) for _ in range(2))
        self.assertEqual(first.report["sim_time_ns"], second.report["sim_time_ns"])
        np.testing.assert_array_equal(first.tensors["out"], second.tensors["out"])
        directory = first.directory
        self.assertTrue(os.path.isdir(directory))
        del first
        self.assertFalse(os.path.exists(directory), "a temporary directory goes with its result")

    def test_a_comparison_that_differs_is_not_verified(self):
        fields = {"report": "{}", "summary": "", "tensors": {}, "trace": "", "warnings": [], "verified": True,
                  "unmet": [], "exit_status": 0}
        self.assertIs(sc.Result("out", {**fields, "difference": ""}, "").verified, True)
        self.assertIs(sc.Result("out", {**fields, "difference": "the output"}, "").verified, False)

    def test_a_wrong_key_says_which_and_what_is_meant(self):
        with self.assertRaises(sc.BadInput) as caught:
            sc.run(settings={"workload.rowz": 64})
        self.assertEqual(caught.exception.subject, "workload.rowz")
        self.assertIn("did you mean 'workload.rows'", str(caught.exception))
        with self.assertRaises(ValueError):  # it is one
            sc.configuration(settings={"card.cores": 1000})
        with self.assertRaisesRegex(sc.BadInput, "nowhere.toml"):
            sc.run("nowhere.toml")
        with self.assertRaisesRegex(sc.BadInput, "a value of type NoneType"):
            sc.run(settings={"workload.rows": None})
        with self.assertRaisesRegex(sc.BadInput, "give a dictionary"):
            sc.run(settings="workload.rows=64")

    def test_settings_are_taken_in_every_form(self):
        forms = [
            {"card.cores": np.int64(8), "workload.op": "add"},
            {"card": {"cores": 8}, "workload": {"op": "add"}},
            ["card.cores=8", "workload.op=add"],
        ]
        for form in forms:
            values = sc.configuration(settings=form)
            self.assertEqual((values["card"]["cores"], values["workload"]["op"]), (8, "add"))

    def test_progress_comes_in_order_and_ends_with_the_check(self):
        seen = []
        thread = []
        sc.run(settings=ADD, progress=lambda *words: (seen.append(words), thread.append(threading.current_thread())))
        phases = list(dict.fromkeys(phase for phase, _, _ in seen))
        self.assertEqual(phases[0], "compile")
        self.assertEqual(phases[-1], "verify")
        self.assertLess(phases.index("launch"), phases.index("copy outputs"))
        for phase in phases:
            done = [d for p, d, _ in seen if p == phase]
            self.assertEqual(done, sorted(done))
        self.assertEqual(set(thread), {threading.current_thread()})

    def test_what_progress_throws_ends_the_run_and_reaches_the_caller(self):
        def stop(phase, _done, _total):
            if phase == "launch":
                raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            sc.run(settings=ADD, progress=stop)

    def test_of_many_runs_one_that_cannot_be_is_told_at_its_place(self):
        counted = []
        points = [{"workload.rows": 64}, {"workload.rows": -1}, {"workload.rows": 128}]
        outcomes = sc.run_many(
            "", [{**ADD, **point} for point in points], jobs=2, progress=lambda done, total: counted.append((done, total))
        )
        self.assertEqual([outcome.error is None for outcome in outcomes], [True, False, True])
        self.assertIsInstance(outcomes[1].error, sc.BadInput)
        self.assertEqual(outcomes[1].error.subject, "workload.rows")
        self.assertEqual([o.result.tensors["out"].shape for o in outcomes if o.result], [(64, 128), (128, 128)])
        self.assertEqual(counted, [(1, 3), (2, 3), (3, 3)])

    def test_a_run_that_hangs_is_a_device_fault(self):
        broken = os.path.join(os.environ["SPYRE_BUILD"], "tests", "firmware", "trap.elf")
        with self.assertRaisesRegex(sc.DeviceFault, "mcause 2"):
            sc.run(settings={**ADD, "card.management.fidelity": "rtl", "card.management.firmware": broken})

    def test_ctrl_c_ends_the_run_and_its_process(self):
        script = (
            "import os, spyre_cosim as sc\n"
            "def tell(phase, *_):\n"
            "    print(phase, flush=True)\n"
            "try:\n"
            "    sc.run(settings={'workload.op': 'matmul', 'workload.m': 8192, 'workload.k': 8192, 'workload.n': 8192},\n"
            "           progress=tell)\n"
            "except KeyboardInterrupt:\n"
            "    print('stopped', flush=True)\n"
        )
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as caller:
            self.assertEqual(caller.stdout.readline(), "compile\n")
            caller.send_signal(signal.SIGINT)
            rest = caller.stdout.read()  # until its worker has gone too, which has the same output
            self.assertEqual(caller.wait(), 0)
        self.assertTrue(rest.endswith("stopped\n"), rest)


if __name__ == "__main__":
    unittest.main()
