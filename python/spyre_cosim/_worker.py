# SPDX-License-Identifier: Apache-2.0
"""The process of one run. Reads the request from standard input; answers in lines of JSON on the given descriptor."""

import json
import sys
import time
from typing import Any, TextIO

from . import _native, errors

SECONDS_BETWEEN = 0.1


class Reporter:
    """Passes on what a person can follow: every phase, its end, and now and then how far it is."""

    def __init__(self, answers: TextIO) -> None:
        self.answers = answers
        self.phase = ""
        self.next = 0.0

    def __call__(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase == self.phase and now < self.next and not (total and done == total):
            return
        self.phase, self.next = phase, now + SECONDS_BETWEEN
        say(self.answers, {"progress": [phase, done, total]})


def say(answers: TextIO, what: Any) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def main() -> int:
    with open(int(sys.argv[1]), "w", encoding="utf-8") as answers:
        request = json.load(sys.stdin)
        try:
            result = _native.run(
                request["config"], request["sets"], request["out"], request["transport"], Reporter(answers)
            )
        except errors.Error as error:
            fields = {"kind": type(error).__name__, "message": str(error)}
            fields.update(subject=error.subject, value=error.value, remedy=error.remedy)
            say(answers, {"error": fields})
            return 1
        say(answers, {"result": result})
    return 0


if __name__ == "__main__":
    sys.exit(main())
