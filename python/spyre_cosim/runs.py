# SPDX-License-Identifier: Apache-2.0
"""Runs of configurations, each in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _native, errors
from .settings import Settings, words

# progress(phase, done, total); total is 0 while it is not known.
Progress = Callable[[str, int, int], None]


class Tensors(Mapping[str, np.ndarray]):
    """The tensors of a run by name, read from their files when they are asked for."""

    def __init__(self, paths: Dict[str, str]) -> None:
        self.paths = paths

    def __getitem__(self, name: str) -> np.ndarray:
        return np.load(self.paths[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


class Result:
    """What a run left.

    report: report.json as a dictionary (docs/report.md)
    verified: whether the results are right, and those of the comparison that output.compare asks for; None if nobody checked
    difference: the first thing in which the comparison differs, or ""
    unmet: what the configuration expects ([expect]) and did not come, a text for each
    exit_status: that of ``spyre-cosim run``: 0, or 1 if a result is wrong or something expected did not come
    tensors: NumPy arrays by name
    summary: what ``spyre-cosim run`` prints
    verdict: the same as a dictionary, ``verdict`` of the report
    directory, trace: where its files are
    warnings: of the compiler
    """

    def __init__(self, directory: str, fields: Dict[str, Any], temporary: str) -> None:
        self.directory = directory
        self.report: Dict[str, Any] = json.loads(fields["report"])
        self.verdict: Dict[str, Any] = self.report.get("verdict", {})
        self.difference: str = fields["difference"]
        self.verified: Optional[bool] = False if self.difference else fields["verified"]
        self.unmet: List[str] = fields["unmet"]
        self.exit_status: int = fields["exit_status"]
        self.summary: str = fields["summary"]
        self.tensors = Tensors(fields["tensors"])
        self.trace: str = fields["trace"]
        self.warnings = fields["warnings"]
        if temporary:
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)

    def __repr__(self) -> str:
        state = {True: "verified", False: "wrong", None: "not verified"}[self.verified]
        return f"<run in {self.directory}: {state}, {self.report['sim_time_ns']} ns>"


def _answer(
    config: Union[str, os.PathLike], settings: Optional[Settings], out: str, progress: Optional[Progress], transport: str
) -> Dict[str, Any]:
    """What the worker says of the run. Raises its error."""
    request = {"config": str(config), "sets": words(settings), "out": out, "transport": transport}
    # The worker's answers have a pipe of their own: what libraries print does not disturb them.
    answers, writer = os.pipe()
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    result = None
    with tempfile.TemporaryFile() as said, os.fdopen(answers, encoding="utf-8") as lines:
        worker = subprocess.Popen(
            [sys.executable, "-m", "spyre_cosim._worker", str(writer)],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            pass_fds=[writer],
            env=environment,
            start_new_session=True,  # Ctrl-C comes to the caller, who ends the worker
        )
        os.close(writer)
        try:
            with worker.stdin as stdin:
                stdin.write(json.dumps(request).encode())
            for line in lines:
                answer = json.loads(line)
                if "progress" not in answer:
                    result = answer
                elif progress is not None:
                    progress(*answer["progress"])
            status = worker.wait()
        except BaseException:
            worker.terminate()
            worker.wait()
            raise
        said.seek(0)
        text = said.read().decode(errors="replace").strip()
    if result is None:
        raise errors.InternalError(f"the run ended with status {status} and no answer: {text or 'it printed nothing'}")
    if "error" in result:
        fields = result["error"]
        kind = getattr(errors, fields["kind"])
        raise kind(fields["message"], fields["subject"], fields["value"], fields["remedy"])
    return result["result"]


def run(
    config: Union[str, os.PathLike] = "",
    settings: Optional[Settings] = None,
    *,
    out: Optional[Union[str, os.PathLike]] = None,
    progress: Optional[Progress] = None,
    transport: str = "",
) -> Result:
    """Runs a configuration, a bundle, or a list of operations, as ``spyre-cosim run`` does, and waits for its end.

    config: the file or directory; empty: the defaults, with ``settings``
    settings: keys over it, {"workload.rows": 64}
    out: directory for its files; none: a temporary one, which goes with the Result
    progress: called in the caller's thread with phase, done and total
    transport: "vfio-user:DIR": on a card that is served there

    Raises BadInput, DeviceFault or InternalError. A result that is wrong raises nothing: see ``Result.exit_status`` and ``Result.verified``.
    KeyboardInterrupt ends the run.
    """
    if out is not None:
        return Result(str(out), _answer(config, settings, str(out), progress, transport), "")
    temporary = tempfile.mkdtemp(prefix="spyre-cosim-")
    try:
        out = os.path.join(temporary, "out")
        return Result(out, _answer(config, settings, out, progress, transport), temporary)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


class Outcome(NamedTuple):
    """One of many runs: a result, or why there is none."""

    settings: Settings
    result: Optional[Result]
    error: Optional[errors.Error]


def run_many(
    config: Union[str, os.PathLike],
    points: Iterable[Settings],
    *,
    jobs: Optional[int] = None,
    progress: Optional[Callable[[int, int], None]] = None,
) -> Tuple[Outcome, ...]:
    """Runs a configuration with each of the settings, ``jobs`` at a time (one for each processor), in their order.

    A point that cannot run has its error in its outcome; the others go on. progress: called with done and total.
    """
    all_points = list(points)
    done = 0
    lock = threading.Lock()

    def one(settings: Settings) -> Outcome:
        nonlocal done
        try:
            outcome = Outcome(settings, run(config, settings), None)
        except errors.Error as error:
            outcome = Outcome(settings, None, error)
        with lock:
            done += 1
            if progress is not None:
                progress(done, len(all_points))
        return outcome

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return tuple(pool.map(one, all_points))


def configuration(config: Union[str, os.PathLike] = "", settings: Optional[Settings] = None) -> Dict[str, Any]:
    """Checks a configuration and returns all of its values, defaults too. Raises BadInput, as ``spyre-cosim check`` does."""
    return json.loads(_native.effective_configuration(str(config), words(settings)))
