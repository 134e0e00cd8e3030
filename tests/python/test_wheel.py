# SPDX-License-Identifier: Apache-2.0
"""What `pip install .` is told: pyproject.toml against the project. Nothing is built."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest

SOURCE = pathlib.Path(os.environ["SPYRE_SOURCE"])
PACKAGE = SOURCE / "python/spyre_cosim"


def cmake_version() -> str:
    found = re.search(r"project\(spyre-cosim VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())
    assert found
    return found.group(1)


class Wheel(unittest.TestCase):
    def setUp(self) -> None:
        self.project = tomllib.loads((SOURCE / "pyproject.toml").read_text())

    def test_its_version_is_that_of_cmake(self) -> None:
        regex = self.project["tool"]["scikit-build"]["metadata"]["version"]["regex"]
        found = re.search(regex, (SOURCE / "CMakeLists.txt").read_text())
        self.assertEqual(found and found["value"], cmake_version())

    def test_it_has_the_package_and_installs_into_it(self) -> None:
        settings = self.project["tool"]["scikit-build"]
        self.assertEqual([SOURCE / path for path in settings["wheel"]["packages"]], [PACKAGE])
        self.assertEqual(settings["wheel"]["install-dir"], PACKAGE.name)
        self.assertEqual(settings["cmake"]["define"]["SPYRE_WHEEL"], "ON")

    def test_its_module_reads_arrays_of_every_version_of_numpy(self) -> None:
        # pybind11/numpy.h has structures of one version inside; with another, arrays were read as empty.
        for source in (SOURCE / "python/native").glob("*.*"):
            self.assertNotIn("pybind11/numpy.h", source.read_text(), source.name)

    def test_its_program_is_the_one_inside_the_package(self) -> None:
        module, function = self.project["project"]["scripts"]["spyre-cosim"].split(":")
        spec = importlib.util.spec_from_file_location("_program", PACKAGE / (module.split(".")[-1] + ".py"))
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory, "_program.py")
            copy.write_text(pathlib.Path(spec.origin).read_text())
            run = [sys.executable, "-c", f"import _program; _program.{function}()", "a word", "--option"]
            lost = subprocess.run(run, cwd=directory, capture_output=True, text=True, check=False)
            self.assertEqual(lost.returncode, 1)
            self.assertIn("has no program", lost.stderr)
            program = pathlib.Path(directory, "bin/spyre-cosim")
            program.parent.mkdir()
            program.write_text('#!/bin/sh\nprintf "<%s>" "$@"; exit 3\n')
            program.chmod(0o755)
            found = subprocess.run(run, cwd=directory, capture_output=True, text=True, check=False)
            self.assertEqual((found.returncode, found.stdout), (3, "<a word><--option>"))

    @unittest.skipUnless(importlib.util.find_spec("scikit_build_core"), "scikit-build-core is not installed")
    def test_scikit_build_core_takes_it(self) -> None:
        code = "from scikit_build_core.build import prepare_metadata_for_build_wheel as p; import sys; print(p(sys.argv[1]))"
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([sys.executable, "-c", code, directory], cwd=SOURCE, check=True, capture_output=True)
            metadata = next(pathlib.Path(directory).glob("*.dist-info/METADATA")).read_text()
        self.assertIn(f"Version: {cmake_version()}\n", metadata)
        self.assertIn("Requires-Dist: numpy", metadata)


if __name__ == "__main__":
    unittest.main()
