# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of one node for a test: daemons, key, ports and files of its own, in a directory of its own.

The test runs in a process namespace of which it is the first process, so the kernel ends all daemons and jobs with it,
however it ends.
"""
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel", "scontrol", "unshare")
INSIDE = "SPYRE_SLURM_TEST_INSIDE"

CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
KillWait=2
MaxArraySize={array_size}
NodeName=localhost CPUs=2 NodeAddr=127.0.0.1 State=UNKNOWN
PartitionName=test Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


def enter_namespace():
    """Starts this program again as the first process of a namespace; ends it as skipped where Slurm is not set up."""
    if os.environ.get(INSIDE):
        return
    # The daemons are where ordinary users do not look.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not found; ./setup.sh --slurm installs a Slurm of one node")
        sys.exit(SKIPPED)
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    if subprocess.run(command + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: this user may not make a process namespace (unshare), in which the daemons are ended safely")
        sys.exit(SKIPPED)
    os.environ[INSIDE] = "1"
    os.execvp(command[0], command + [sys.executable, "-B", *sys.argv])


def until(condition, what, seconds=20):
    """Waits for what the cluster does in its own time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, directory, array_size=1001):
        self.directory = Path(directory)
        for name in list(os.environ):
            if name.startswith(("SLURM", "SBATCH", "SQUEUE", "SCANCEL", "SACCT")):
                del os.environ[name]
        os.environ["SLURM_CONF"] = str(self.directory / "slurm.conf")
        for name in ("state", "spool"):
            (self.directory / name).mkdir()
        key = self.directory / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        controller_port, node_port = free_ports(2)
        (self.directory / "slurm.conf").write_text(CONFIGURATION.format(
            directory=self.directory, controller_port=controller_port, node_port=node_port, array_size=array_size))
        self._start("munged", f"--key-file={key}", f"--socket={self.directory}/munge.socket",
                    f"--pid-file={self.directory}/munged.pid", f"--log-file={self.directory}/munged.log",
                    f"--seed-file={self.directory}/munge.seed", "--force")
        self._start("slurmctld")
        self._start("slurmd", "-N", "localhost")
        until(lambda: self.ask("sinfo", "--noheader", "--format=%T") == "idle", "the node is idle")

    def _start(self, *command):
        started = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True)
        assert started.returncode == 0, started.stdout

    def ask(self, *command):
        """What a command of Slurm prints, without the end of the last line."""
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout.strip()
