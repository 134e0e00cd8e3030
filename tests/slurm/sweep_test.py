# SPDX-License-Identifier: Apache-2.0
"""`spyre-cosim sweep --slurm` on a real Slurm of one node: sweep_test.py PROGRAM

Results are compared with those of the same sweep without Slurm, byte by byte.
"""
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import cluster as slurm

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
# The last task of an array that the cluster takes is the fifth.
ARRAY_SIZE = 6

# 20 points that differ in what they find: four of them ask for more cores than the card has.
GRID = """
[fixed]
workload = { op = "add", rows = 256, cols = 256 }
[axes]
card.cores = [1, 2, 4, 8]
workload.cores = [2, 4, 8, 1, 3]
"""
# 12 points that take a moment each, so that one can be met at work.
LONG_GRID = """
[fixed]
workload = { op = "matmul", m = 4096, k = 2048, n = 4096 }
[axes]
card.memory.controller_ns = { from = 60, to = 71, step = 1 }
"""


class SweepOnSlurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        begin = time.monotonic()
        cls.scratch = tempfile.TemporaryDirectory(prefix="spyre-slurm-")
        root = Path(cls.scratch.name)
        (root / "cluster").mkdir()
        cls.cluster = slurm.Cluster(root / "cluster", ARRAY_SIZE)
        print(f"cluster started in {time.monotonic() - begin:.1f} s", file=sys.stderr)
        # What a shell, sbatch or the pattern of a log's name might take for something else.
        cls.here = root / "it's a \"place\" for 100%a $HOME"
        cls.here.mkdir()
        (cls.here / "the grid.toml").write_text(GRID)
        (cls.here / "long.toml").write_text(LONG_GRID)
        cls.local = {}
        for grid in ("the grid.toml", "long.toml"):
            out = "local " + grid
            run = cls.sweep(grid, "--out", out)
            assert run.returncode == 0, run.stderr
            cls.local[grid] = cls.results(out)

    @classmethod
    def tearDownClass(cls):
        # The processes are ended by the kernel, with the first of their namespace.
        cls.scratch.cleanup()

    @classmethod
    def sweep(cls, *arguments, **options):
        begin = time.monotonic()
        run = subprocess.run([PROGRAM, "sweep", *arguments], cwd=cls.here, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, **options)
        print(f"{time.monotonic() - begin:5.1f} s  sweep {' '.join(arguments)}", file=sys.stderr)
        return run

    @classmethod
    def results(cls, out):
        return {name: (cls.here / out / name).read_bytes() for name in ("results.csv", "results.jsonl")}

    def points(self, out):
        """Points of all journals, in the order in which they were written."""
        points = []
        for journal in sorted((self.here / out).glob("journal*.jsonl")):
            for line in journal.read_text().splitlines()[1:]:
                points.append(json.loads(line)["point"])
        return points

    def job_of(self, out):
        return json.loads((self.here / out / "slurm/job.json").read_text())

    def check_whole(self, out, grid="the grid.toml"):
        self.assertEqual(self.results(out), self.local[grid])
        points = self.points(out)
        self.assertEqual(sorted(points), list(range(len(points))))  # none twice

    def wait_for(self, job):
        slurm.until(lambda: not self.cluster.ask("squeue", "--noheader", "--jobs=" + job), f"job {job} has ended")

    def test_an_array_of_four_gives_the_rows_of_a_local_sweep(self):
        run = self.sweep("the grid.toml", "--slurm", "--slurm-tasks", "4", "--out", "four")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("4 tasks for 20 points", run.stderr)
        self.assertIn("20 of 20 points", run.stdout)
        self.assertEqual(len(list((self.here / "four").glob("journal-?-of-4.jsonl"))), 4)
        self.check_whole("four")
        # There is nothing to go on with.
        run = self.sweep("the grid.toml", "--slurm", "--resume", "--out", "four")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("nothing is submitted", run.stderr)

    def test_an_array_has_no_more_tasks_than_the_cluster_takes(self):
        run = self.sweep("the grid.toml", "--slurm", "--out", "limit", "--slurm-running", "1")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("5 tasks instead of 20", run.stderr)
        self.check_whole("limit")

    def test_what_a_cancelled_job_has_not_run_is_submitted_again(self):
        run = self.sweep("long.toml", "--slurm", "--no-wait", "--slurm-tasks", "2", "--out", "cancelled")
        self.assertEqual(run.returncode, 0, run.stderr)
        job = self.job_of("cancelled")["job"]
        self.assertIn("scancel " + job, run.stdout)
        slurm.until(lambda: len(self.points("cancelled")) >= 2, "two points have ended")
        self.cluster.ask("scancel", job)
        self.wait_for(job)
        ended = self.points("cancelled")
        self.assertLess(len(ended), 12)
        collect = self.sweep("long.toml", "--collect", "--out", "cancelled")
        self.assertEqual(collect.returncode, 1)
        self.assertIn(f"{len(ended)} of 12 points", collect.stdout)

        run = self.sweep("long.toml", "--slurm", "--resume", "--out", "cancelled")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"for {12 - len(ended)} points", run.stderr)
        self.check_whole("cancelled", "long.toml")

    def test_tasks_cancelled_while_they_wait_are_reported(self):
        begun = self.sweep("the grid.toml", "--slurm", "--no-wait", "--slurm-tasks", "4", "--out", "held",
                           "--slurm-arg=--hold")
        self.assertEqual(begun.returncode, 0, begun.stderr)
        job = self.job_of("held")["job"]
        self.cluster.ask("scancel", f"{job}_[3-4]")
        self.cluster.ask("scontrol", "release", job)
        # The job is in the queue, so it is waited for, and no other is submitted.
        run = self.sweep("the grid.toml", "--slurm", "--resume", "--out", "held")
        self.assertIn(f"Slurm job {job} of this sweep is still in the queue", run.stderr)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual(self.job_of("held")["job"], job)
        self.assertIn("10 of 20 points", run.stdout)
        self.assertRegex(run.stdout, f"Slurm job {job}, 4 tasks: 2 COMPLETED, 2 (CANCELLED|no longer known)")
        self.assertIn("10 points were not run to an end", run.stdout)

        run = self.sweep("the grid.toml", "--slurm", "--resume", "--out", "held")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.job_of("held")["tasks"], "3-4")
        self.check_whole("held")

    def test_a_task_that_fails_is_named_with_its_reason_and_run_again(self):
        out = self.here / "failing"
        out.mkdir()
        with open(out / "journal-3-of-4.jsonl", "w") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)  # as another process that runs this shard
            run = self.sweep("the grid.toml", "--slurm", "--resume", "--slurm-tasks", "4", "--out", "failing")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("4 tasks: 3 COMPLETED, 1 FAILED", run.stdout)
        self.assertRegex(run.stdout, "task 3 FAILED: .*another process is running this sweep")
        self.assertIn("5 points were not run to an end", run.stdout)
        run = self.sweep("the grid.toml", "--slurm", "--resume", "--out", "failing")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.job_of("failing")["tasks"], "3")
        self.check_whole("failing")

    def test_a_task_that_is_put_back_into_the_queue_goes_on(self):
        run = self.sweep("long.toml", "--slurm", "--no-wait", "--slurm-tasks", "1", "--out", "requeued")
        self.assertEqual(run.returncode, 0, run.stderr)
        job = self.job_of("requeued")["job"]
        slurm.until(lambda: len(self.points("requeued")) >= 2, "two points have ended")
        self.cluster.ask("scontrol", "requeue", job + "_1")
        # A task that was put back waits for two minutes before it runs again, unless it is told otherwise.
        slurm.until(lambda: "RUNNING" not in self.cluster.ask("squeue", "--noheader", "--format=%T", "--jobs=" + job)
                    and "COMPLETING" not in self.cluster.ask("squeue", "--noheader", "--format=%T", "--jobs=" + job),
                    "the task is back in the queue")
        self.assertLess(len(self.points("requeued")), 12)
        self.cluster.ask("scontrol", "update", "JobId=" + job + "_1", "StartTime=now")
        run = self.sweep("long.toml", "--slurm", "--resume", "--out", "requeued")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(self.job_of("requeued")["job"], job)
        self.check_whole("requeued", "long.toml")

    def test_an_interrupted_command_leaves_the_job_and_says_how_to_come_back(self):
        waiting = subprocess.Popen([PROGRAM, "sweep", "long.toml", "--slurm", "--slurm-tasks", "2", "--out", "left"],
                                   cwd=self.here, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        slurm.until(lambda: self.points("left"), "a point has ended")
        waiting.send_signal(signal.SIGINT)
        _, messages = waiting.communicate()
        self.assertEqual(waiting.returncode, 130, messages)
        job = self.job_of("left")["job"]
        self.assertIn(f"Slurm job {job} goes on without this command", messages)
        self.assertIn("scancel " + job, messages)
        run = self.sweep("long.toml", "--slurm", "--resume", "--out", "left")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.check_whole("left", "long.toml")

    def test_what_sbatch_refuses_is_said_in_its_words(self):
        run = self.sweep("the grid.toml", "--slurm", "--slurm-partition", "nowhere", "--out", "refused")
        self.assertEqual(run.returncode, 2)
        self.assertIn("sbatch refuses the job", run.stderr)
        self.assertIn("invalid partition specified: nowhere", run.stderr)
        # Nothing is in the way of the next attempt.
        run = self.sweep("the grid.toml", "--slurm", "--slurm-partition", "test", "--out", "refused")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check_whole("refused")


if __name__ == "__main__":
    slurm.enter_namespace()
    sys.argv = sys.argv[:1] + sys.argv[2:]
    test = unittest.main(exit=False, verbosity=2)
    sys.exit(0 if test.result.wasSuccessful() else 1)
