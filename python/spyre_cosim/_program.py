# SPDX-License-Identifier: Apache-2.0
"""The program `spyre-cosim`, where the package has it inside: in a wheel."""

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).with_name("bin") / "spyre-cosim"
    if not program.is_file():
        sys.exit(f"spyre-cosim: this package has no program: {program} is missing")
    os.execv(program, [str(program), *sys.argv[1:]])
