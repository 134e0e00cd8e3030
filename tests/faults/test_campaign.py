# SPDX-License-Identifier: Apache-2.0
"""Every kind of fault on workloads of every sort: the exit status and what the report says of the fault belong together.

FAULT_WORKLOADS=all runs all workloads, otherwise two of them.
"""

import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["SPYRE_COSIM"]
MOMENTS = {"pcie_retrain", "pcie_link_down", "pcie_removal", "firmware_hang", "firmware_trap", "firmware_corrupt",
           "thermal_throttle", "power_brake"}
LIST = {"dims": {"A": 64, "B": 256}, "tensors": [{"name": "x", "dims": ["A", "B"]}],
        "ops": [{"op": "exp", "inputs": ["x"], "output": "a"}, {"op": "sum", "inputs": ["a"], "dim": "B", "output": "b"},
                {"op": "div", "inputs": ["a", "b"], "output": "c"}]}
WORKLOADS = {
    "tasks": '[workload]\ngraph = "list.json"\n[workload.issue]\nmode = "task_graph"\n',
    "attention": '[workload]\nop = "attention"\nattention = { heads = 8, kv_heads = 2, head_dim = 64, sequence = 64, '
                 'context = 128, causal = true }\n',
    "add": '[workload]\nop = "add"\nrows = 64\ncols = 1024\n',
    "matmul": '[workload]\nop = "matmul"\nm = 512\nk = 256\nn = 256\ntile = { m = 256 }\n',
    "softmax": '[workload]\nop = "softmax"\nrows = 128\ncols = 512\n',
    "list": '[workload]\ngraph = "list.json"\n',
    "model": '[workload]\nmodel = { layers = 2, hidden = 256, mlp = 512, heads = 4, kv_heads = 2, head_size = 64, '
             'context = 100, sequence = 1, batch = 2, vocabulary = 1000 }\n',
}


class Campaign(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="spyre-faults-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        (self.scratch / "list.json").write_text(json.dumps(LIST))

    def run_with(self, workload, kind, mode):
        when = "when = { time_us = 100080 }\n" if kind in MOMENTS else ""
        text = f'[card]\nmode = "{mode}"\n{WORKLOADS[workload]}[[fault]]\nkind = "{kind}"\n{when}'
        (self.scratch / "run.toml").write_text(text)
        return subprocess.run([PROGRAM, "run", "run.toml", "--estimate-next", "--out", "out", "--json"], cwd=self.scratch,
                              check=False, capture_output=True, text=True)

    def test_the_exit_status_and_the_report_agree(self):
        listed = subprocess.run([PROGRAM, "faults"], check=True, capture_output=True, text=True).stdout
        kinds = [line for line in listed.splitlines() if line and not line.startswith(" ")]
        count = None if os.environ.get("FAULT_WORKLOADS") == "all" else 2
        seen = collections.Counter()
        for workload in list(WORKLOADS)[:count]:
            for kind in kinds:
                if kind == "rtl_bit_flip":  # which needs a card with RTL, and has a test of its own
                    continue
                for mode in ("vf", "pf"):
                    with self.subTest(f"{kind} on {workload}, {mode}"):
                        done = self.run_with(workload, kind, mode)
                        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                        report = json.loads(done.stdout)
                        (fault,) = report["faults"]
                        outcome = fault.get("outcome")  # none of one that did not strike
                        seen[done.returncode, outcome] += 1
                        verdict = report.get("verified")
                        right = verdict["passed"] if isinstance(verdict, dict) else verdict
                        if done.returncode == 0:
                            self.assertTrue(right)
                            self.assertIn(outcome, ("masked", "corrected", None))
                        elif done.returncode == 1:
                            self.assertEqual(outcome, "silent")
                        else:
                            self.assertEqual(outcome, "detected")
                            self.assertIn(kind, done.stderr)
        print("\n".join(f"exit status {status}, {outcome}: {number}" for (status, outcome), number in seen.items()))


if __name__ == "__main__":
    unittest.main()
