#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three things that a script does with the simulated card: a copy by the driver, a launch by the runtime, and a sweep.

Writes sweep.png, the time of a matmul over the number of cores, into the current directory.
"""

import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import spyre_cosim as sc

CORES = [1, 2, 4, 8, 16, 32]
SIZE = 512


def copy_and_launch() -> None:
    card = sc.Card()
    with card.device() as device:
        print("card:", device.identity["cores"], "cores, registers of version", device.registers.SPEC_VERSION)
        device.map_range(0, 1 << 20)
        sent = np.arange(16384, dtype=np.uint32)
        received = np.zeros_like(sent)
        device.copy_to_card(sent, 0x1000)
        answer = device.copy_from_card(received, 0x1000)
        if not np.array_equal(sent, received):
            sys.exit("the copy came back wrong")
        print("copy:", sent.nbytes, "bytes back in", (answer["finished_ps"] - answer["started_ps"]) / 1e6, "us")
        device.unmap_range(0)

    runtime = card.runtime()
    with tempfile.TemporaryDirectory() as directory:
        sc.compile_kernel("add", {"rows": 64, "cols": 1024}, directory)
        kernel = runtime.load(directory)
    rng = np.random.default_rng(0)
    # Whole numbers of at most 9 bits are exact on the card, and so are their sums here.
    x, y = (rng.integers(-200, 200, (64, 1024)).astype(np.float16) for _ in range(2))
    tensors = [runtime.tensor(x), runtime.tensor(y), runtime.empty(x.shape)]
    runtime.launch(kernel, tensors)
    if not np.array_equal(tensors[2].numpy(), x + y):
        sys.exit("the launch came out wrong")
    print("launch:", x.size, "sums are right")


def sweep() -> None:
    matmul = {"workload.op": "matmul", "workload.m": SIZE, "workload.k": SIZE, "workload.n": SIZE}
    outcomes = sc.run_many("", [{**matmul, "card.cores": cores} for cores in CORES])
    microseconds = []
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
        if not outcome.result.verified:
            sys.exit("a matmul came out wrong")
        microseconds.append(outcome.result.report["launch_ns"] / 1000)
    for cores, us in zip(CORES, microseconds):
        print(f"matmul {SIZE}: {cores:2} cores, {us:.1f} us")
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.loglog(CORES, microseconds, "o-", base=2)
    axes.loglog(CORES, [microseconds[0] / cores for cores in CORES], ":", base=2, label="as many times faster as cores")
    axes.set(xlabel="cores", ylabel="time of the launch (us)", title=f"matmul {SIZE} x {SIZE} x {SIZE}")
    axes.legend()
    figure.savefig("sweep.png", dpi=120)


if __name__ == "__main__":
    copy_and_launch()
    sweep()
