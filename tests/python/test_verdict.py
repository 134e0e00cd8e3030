# SPDX-License-Identifier: Apache-2.0
"""Whoever runs a configuration comes to the same verdict: each command that runs one, a run on a served card, and the
package's own result. The rows say what exit status is right; the doors are asked for it, one after the other."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import spyre_cosim as sc

ADD = '[workload]\nop = "add"\nrows = 256\ncols = 256\n'
RULES = {
    "strict.toml": '[[rule]]\nname = "one kernel"\nkind = "kernel"\nmax_count = 1\n',
    "lax.toml": '[[rule]]\nkind = "window"\nmax_time_us = 100000\n',
}
GOOD, WRONG, REFUSED, FAULT = 0, 1, 2, 3

# Name, configuration, what the card of a server has beside it, exit status. None: not for a served card, which has no
# trace to hold to rules.
ROWS = [
    ("good", ADD, "", GOOD),
    ("met", ADD + "[expect]\nmax_launch_ns = 1000000\n", "", GOOD),
    ("trace_met", ADD + '[expect]\nrules = "lax.toml"\n', None, GOOD),
    ("unmet", ADD + "[expect]\nmax_launch_ns = 10\n", "", WRONG),
    ("unmet_times_only", ADD + "functional = false\n[expect]\nmax_launch_ns = 10\n", "", WRONG),
    ("trace_unmet", ADD + '[expect]\nrules = "strict.toml"\n', None, WRONG),
    ("wrong", ADD, '[[fault]]\nkind = "core_wrong"\nwhere = { core = 2 }\nwhen = { seed = 7 }\n', WRONG),
    ("unknown_key", ADD + "rowz = 1\n", "", REFUSED),
    ("no_input", ADD + 'inputs.a = "nowhere.npy"\n', "", REFUSED),
    ("impossible_split", ADD + "split = { rows = 33 }\n", "", REFUSED),
    ("fault", ADD, '[[fault]]\nkind = "memory_double_bit"\n', FAULT),
]


class Verdict(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="spyre-verdict-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        for name, text in RULES.items():
            self.write(name, text)

    def write(self, name, text):
        with open(name, "w", encoding="ascii") as file:
            file.write(text)

    def call(self, *words):
        """Exit status, standard output and standard error of the program."""
        program = os.path.join(os.environ["SPYRE_BUILD"], "spyre-cosim")
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    # Each door is given the name of a row, whose configuration is in NAME.toml, and answers with an exit status.

    def run_it(self, name):
        return self.call("run", name + ".toml", "--estimate-next", "--no-progress")[0]

    def run_cases(self, name):
        self.write(name + ".jsonl", json.dumps({"id": "only", "config": name + ".toml"}))
        status, lines, _ = self.call("run", "--cases", name + ".jsonl")
        self.assertEqual(json.loads(lines)["exit_status"], status, "the line's and the command's")
        return status

    def sweep(self, name):
        """Of one point. One that is refused is a result, and says so in its row."""
        grid = f'[sweep]\nconfig = "{name}.toml"\nverify = true\n[axes]\nworkload.seed = [1]\n'
        self.write(name + "-grid.toml", grid)
        status, _, _ = self.call("sweep", name + "-grid.toml", "--out", "sweep-" + name)
        if status != GOOD:
            return status
        with open(f"sweep-{name}/results.jsonl", encoding="utf-8") as file:
            return {"done": GOOD, "infeasible": REFUSED}[json.loads(file.read())["status"]]

    def tune(self, name):
        """Of the plan as given, which is then the best."""
        return self.call("tune", name + ".toml", "--budget", "1")[0]

    def smi(self, name):
        return self.call("smi", name + ".toml", "--out", "smi-" + name)[0]

    def package(self, name):
        try:
            return sc.run(name + ".toml", out="package-" + name).exit_status
        except sc.BadInput:
            return REFUSED
        except sc.DeviceFault:
            return FAULT

    def served(self, name):
        """The same configuration on a card of another process, whose faults are declared there."""
        program = os.path.join(os.environ["SPYRE_BUILD"], "spyre-cosim")
        sockets = "sockets-" + name
        with subprocess.Popen(
            [program, "serve", name + "-card.toml", "--vfio-user", sockets, "--time", "lockstep", "--once"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as server:
            for line in server.stdout:
                if line == "serving\n":
                    break
            status, _, _ = self.call("run", name + "-host.toml", "--transport", "vfio-user:" + sockets, "--no-progress")
            server.terminate()  # a run that is refused does not come, and the server would wait for it
        return status

    def test_every_door_comes_to_the_same_verdict(self):
        doors = [self.run_it, self.run_cases, self.sweep, self.tune, self.smi, self.package]
        for name, config, card, expected in ROWS:
            self.write(name + ".toml", config + (card or ""))
            self.write(name + "-host.toml", config)
            self.write(name + "-card.toml", ADD + (card or ""))
            for door in doors + ([] if card is None else [self.served]):
                with self.subTest(configuration=name, door=door.__name__):
                    self.assertEqual(door(name), expected)

    def test_what_is_not_met_is_named(self):
        self.write("unmet.toml", ADD + "[expect]\nmax_launch_ns = 10\n")
        result = sc.run("unmet.toml")
        self.assertIs(result.verified, True, "its numbers are right")
        self.assertEqual(len(result.unmet), 1)
        self.assertIn("expect.max_launch_ns: launches took", result.unmet[0])
        self.write("unmet.jsonl", json.dumps({"config": "unmet.toml"}))
        self.assertEqual(json.loads(self.call("run", "--cases", "unmet.jsonl")[1])["unmet"], result.unmet)


if __name__ == "__main__":
    unittest.main()
