# SPDX-License-Identifier: Apache-2.0
"""The scripts of docs/python.md print what the page says. SPYRE_UPDATE_DOCS=1 writes what they print into the page."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

PAGE = os.path.join(os.environ["SPYRE_SOURCE"], "docs", "python.md")
SCRIPT = re.compile(r"```python\n(.*?)```\n\n<!-- prints -->\n```\n(.*?)```\n", re.DOTALL)


def printed(script):
    with tempfile.TemporaryDirectory() as directory:
        os.symlink(os.path.join(os.environ["SPYRE_SOURCE"], "configs"), os.path.join(directory, "configs"))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Page(unittest.TestCase):
    maxDiff = None

    def test_every_script_prints_what_stands_below_it(self):
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(len(SCRIPT.findall(text)), text.count("```python"), "a script without what it prints")
        written = SCRIPT.sub(lambda m: m[0][: m.start(2) - m.start()] + printed(m[1]) + "```\n", text)
        if os.environ.get("SPYRE_UPDATE_DOCS"):
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(written)
            return
        self.assertEqual(text, written)


if __name__ == "__main__":
    unittest.main()
