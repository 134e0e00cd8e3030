# SPDX-License-Identifier: Apache-2.0
"""Runs spyre-bringup as its users do, on one card, and reads what it has written.

climb.py NAME [--serve TIME] [--program FILE] -- [options of spyre-bringup]
SPYRE_BUILD names the build directory. The reports stay in its directory bringup/NAME.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

BUILD = pathlib.Path(os.environ["SPYRE_BUILD"])


class Served:
    """A card that a process of its own serves, with the options of spyre-bringup that are about it."""

    def __init__(self, time, sets):
        self.directory = tempfile.TemporaryDirectory(prefix="spyre-ladder-")
        config = pathlib.Path(self.directory.name) / "card.toml"
        config.write_text("")
        command = [BUILD / "spyre-cosim", "serve", config, "--vfio-user", self.directory.name,
                   "--time", time]
        for value in sets:
            command += ["--set", value]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line == "serving\n":
                return
        raise RuntimeError("the server has not started")

    def __enter__(self):
        return ["--backend", "vfio-user:" + self.directory.name]

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()
        self.directory.cleanup()


def check_reports(directory, status):
    result = json.loads((directory / "results.json").read_text())
    junit = xml.etree.ElementTree.parse(directory / "junit.xml").getroot()
    page = (directory / "report.html").read_text()
    tests = result["tests"]
    outcomes = {name: sum(test["outcome"] == name for test in tests)
                for name in ("passed", "marginal", "failed", "could not run")}
    assert outcomes["passed"] == result["passed"] and outcomes["failed"] == result["failed"]
    assert outcomes["marginal"] == result["marginal"]
    assert result["verdict"] == ("FAIL" if outcomes["failed"] else "MARGINAL" if outcomes["marginal"] else "PASS")
    assert outcomes["could not run"] == result["could_not_run"]
    cases = list(junit.iter("testcase"))
    assert len(cases) == len(tests) == int(junit.get("tests"))
    assert sum(case.find("failure") is not None for case in cases) == outcomes["failed"]
    assert sum(case.find("skipped") is not None for case in cases) == outcomes["could not run"]
    assert all(test["name"] in page for test in tests), "the page has every test"
    assert status == (1 if outcomes["failed"] else 6 if outcomes["marginal"] else 5 if outcomes["could not run"] else 0)
    assert [test["rung"] for test in tests] == sorted(test["rung"] for test in tests)
    return outcomes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--serve", metavar="TIME")
    parser.add_argument("--program", default=BUILD / "spyre-bringup")
    parser.add_argument("--could-not-run", type=int, default=0, help="so many tests, exactly")
    parser.add_argument("--set", action="append", default=[])
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:split])

    directory = BUILD / "bringup" / arguments.name
    directory.mkdir(parents=True, exist_ok=True)
    command = [arguments.program, "--json", directory / "results.json", "--junit", directory / "junit.xml",
               "--report", directory / "report.html"]
    for value in arguments.set:
        command += ["--set", value]
    command += words[split + 1:]
    if arguments.serve:
        with Served(arguments.serve, arguments.set) as backend:
            status = subprocess.run(command + backend, check=False).returncode
    else:
        status = subprocess.run(command, check=False).returncode
    # Where time passes by itself it does so while the machine has none for the client: then a test that compares
    # times is marginal.
    marginal = 6 if arguments.serve == "free" else 0
    if status not in (0, 5, marginal):
        sys.exit(f"spyre-bringup ended with {status}")
    outcomes = check_reports(directory, status)
    if outcomes["could not run"] != arguments.could_not_run:
        sys.exit(f"{outcomes['could not run']} tests could not run, not {arguments.could_not_run}")


if __name__ == "__main__":
    main()
