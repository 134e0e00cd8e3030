# SPDX-License-Identifier: Apache-2.0
"""Random programs of PyTorch as lists of operations: random_programs.py [--seconds N] [--first SEED].

Each is a chain of operations on numbers, integers and truth values of random shapes, with views between them, that torch.export takes.
What the importer or the compiler refuses is counted by its reason; every result of what runs is compared with PyTorch's in float64. Ends
with status 1 at the first wrong number. SPYRE_PROGRAM: spyre-cosim. The package comes from PYTHONPATH.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import numpy as np
import torch

from models import rounded
from spyre_cosim._dimensions import Unsupported
from spyre_cosim.import_torch import import_program


class Program(torch.nn.Module):
    """Steps are decided by the seed and by the shapes that there are, so that every call takes the same."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def forward(self, x, y, i):
        pick = random.Random(self.seed)
        floats, wholes, results = [x, y], [i], []
        for _ in range(pick.randint(2, 7)):
            kind = pick.randrange(5)
            if kind == 0:
                floats.append(self.view(pick, pick.choice(floats)))
            elif kind == 1:
                wholes.append(self.view(pick, pick.choice(wholes)))
            elif kind == 2:
                floats.append(self.number(pick, floats[-1], floats, wholes))
            elif kind == 3:
                wholes.append(self.whole(pick, wholes[-1]))
            else:
                results.append(self.choice(pick, floats[-1], wholes[-1]))
        return (*floats[2:], *wholes[1:], *results, x + 1)

    @staticmethod
    def view(pick, t):
        dim = pick.randrange(t.dim())
        size = t.shape[dim]
        last = pick.randint(1, size)
        return pick.choice([
            lambda: t.transpose(0, -1), lambda: t.unsqueeze(dim), lambda: t.flatten(), lambda: t.narrow(dim, size - last, last),
            lambda: torch.cat((t, t), dim), lambda: t.flip(dim), lambda: t.unsqueeze(0).expand(2, *t.shape), lambda: t.roll(1, dim),
        ])() if t.dim() < 4 and t.numel() < 4000 else t.flatten()

    @staticmethod
    def number(pick, t, floats, wholes):
        dim = pick.randrange(t.dim())
        same = [one for one in floats if one.shape == t.shape]
        whole = [one for one in wholes if one.shape == t.shape]
        options = [
            lambda: t.sin(), lambda: t.tanh() * 2, lambda: -t, lambda: t.sigmoid(), lambda: t.cumsum(dim) / t.shape[dim], lambda: t * pick.choice(same),
            lambda: torch.maximum(t, pick.choice(same)), lambda: t.sum(dim, keepdim=True) / t.shape[dim] + t, lambda: t.amax(dim, keepdim=True) - t,
            lambda: torch.where(t > 3.0, t, 0.5), lambda: t.clamp(-0.5, 0.5), lambda: t.softmax(dim),
        ]
        if whole:
            options.append(lambda: t + whole[0].clamp(-9, 9).float())
            options.append(lambda: torch.where(whole[0] > 2, t, 1.0))
        return pick.choice(options)()

    @staticmethod
    def whole(pick, t):
        dim = pick.randrange(t.dim())
        return pick.choice([
            lambda: t + 3, lambda: t // 3, lambda: t % 5, lambda: torch.where(t > 4, t, -t), lambda: t.cumsum(dim) % 50,
            lambda: t * 2 - 1, lambda: t.clamp(0, 7), lambda: t & 6, lambda: (t == 3).long() + t,
        ])()

    @staticmethod
    def choice(pick, t, w):
        dim = pick.randrange(t.dim())
        index = (w.flatten() % t.shape[dim])[:pick.randint(1, 5)]
        return pick.choice([
            lambda: t.index_select(dim, index), lambda: w.sum(), lambda: w.amax(0), lambda: (w > 3).any(), lambda: torch.topk(t, min(2, t.shape[dim]), dim)[0],
            lambda: torch.sort(w, dim=-1, stable=True)[1], lambda: t.mean(dim),
        ])()


def run(seed, program):
    """(outcome, reason)"""
    torch.manual_seed(seed)
    pick = random.Random(seed + 1)
    shape = [pick.choice([1, 2, 3, 5, 8, 33, 64, 70]) for _ in range(pick.randint(1, 3))]
    while np.prod(shape) > 4000:
        shape.pop()
    inputs = (rounded(torch.rand(shape) * 2 - 1), rounded(torch.rand(shape) + 0.5), torch.randint(-9, 30, shape))
    module = Program(seed).eval()
    right = module(inputs[0].double(), inputs[1].double(), inputs[2])
    with tempfile.TemporaryDirectory() as directory:
        try:
            text = import_program(torch.export.export(module, inputs), directory)
        except Unsupported as error:
            return "refused by the importer", re.sub(r"^%?\S+ : .*?\): ", "", str(error))
        command = [program, "run", f"{directory}/list.json", "--out", f"{directory}/out", "--no-progress", "--set", "trace.enabled=false"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 2:
            return "refused by the compiler", [line for line in done.stderr.splitlines() if "WARNING" not in line][0]
        if done.returncode != 0:
            return "wrong", f"status {done.returncode}: {done.stdout[:600]}{done.stderr[-300:]}"
        off = json.loads(pathlib.Path(directory, "out/report.json").read_text())["verified"]["max_abs_error"]
        for name, wanted in zip(text["outputs"], right):
            got = np.load(f"{directory}/out/{name}.npy").astype(np.float64).reshape(wanted.shape)
            wanted = wanted.double().numpy()
            if not np.abs(got - wanted).max() <= max(0.02 * max(1, np.abs(wanted).max()), 2 * off):
                return "wrong", f"{name}: {np.abs(got - wanted).max()} off, of {np.abs(wanted).max()}"
    return "right", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="the first seed [%(default)s]")
    options = parser.parse_args()
    counts, reasons = collections.Counter(), collections.Counter()
    end = time.monotonic() + options.seconds
    seed = options.first
    while time.monotonic() < end:
        outcome, reason = run(seed, os.environ["SPYRE_PROGRAM"])
        counts[outcome] += 1
        if outcome == "wrong":
            print(f"seed {seed}: {reason}")
            break
        if reason:
            reasons[f"{outcome}: {re.sub('[0-9]+', 'N', re.sub('/tmp/[^ ]*', 'LIST', reason))[:150]}"] += 1
        seed += 1
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    sys.exit(counts["wrong"] != 0)


if __name__ == "__main__":
    main()
