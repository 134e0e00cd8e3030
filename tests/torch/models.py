# SPDX-License-Identifier: Apache-2.0
"""The operations of models, as torch-spyre's tests list them, as lists of operations against PyTorch on the CPU.

models.py PATH: of the checkout of torch-spyre at PATH every instance in tests/resource/models/*.yaml is exported, imported and run,
and its results are compared with those of PyTorch. Equal instances run once. Every result is a line of --results, and what stands
there already is not run again; --table prints the counts and what was refused, by cause. The sources of torch-spyre say how an
instance is called. SPYRE_PROGRAM: spyre-cosim. The package comes from PYTHONPATH.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from spyre_cosim._dimensions import Unsupported
from spyre_cosim.import_torch import import_program

FLOATS = {torch.bfloat16, torch.float16, torch.float32, torch.float64}
TOLERANCE = 0.01  # of the largest result, and at least of one


def instances(path):
    """Each distinct instance: {"op", "case", "files": how many in which file}."""
    import yaml

    found = {}
    for file in sorted((path / "tests/resource/models").glob("*.yaml")):
        if file.stem.endswith("_spyre") or file.stem == "template":  # the same cases in another form
            continue
        text = yaml.safe_load(file.read_text())
        for case in text["cases"]:
            called = {key: case.get(key) for key in ("op", "inputs", "kwmap", "attrs")}
            key = json.dumps(called, sort_keys=True, default=str)
            one = found.setdefault(key, {"op": case["op"], "case": case, "defaults": text.get("defaults", {}),
                                         "files": collections.Counter()})
            one["files"][file.stem] += 1
    return found


def named(value):
    """A type that is given by its name."""
    return getattr(torch, value[6:]) if isinstance(value, str) and value.startswith("torch.") else value


class Call(nn.Module):
    """An operation with tensors for some of its arguments. What it writes in place is a copy, which it returns."""

    def __init__(self, adapter, arguments, keys):
        super().__init__()
        self.adapter = adapter
        leaves, self.spec = pytree.tree_flatten((arguments, keys))
        self.places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.leaves = [None if isinstance(leaf, torch.Tensor) else named(leaf) for leaf in leaves]

    def forward(self, *tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        arguments, keys = pytree.tree_unflatten(leaves, self.spec)
        if self.adapter.name == "torch.or_":  # the operator
            return arguments[0] | arguments[1]
        if self.adapter.is_inplace or self.adapter.name.endswith("_"):
            arguments = (arguments[0].clone(), *arguments[1:])
        result = self.adapter.fn(*arguments, **keys)
        return arguments[0] if self.adapter.is_inplace else result


def rounded(tensor):
    """As the card holds it: 9 bits of fraction, ties away from zero."""
    if tensor.dtype not in FLOATS:
        return tensor
    bits = tensor.to(torch.float16).view(torch.int16)
    return ((bits + 1) & ~1).view(torch.float16).to(tensor.dtype)


def meaning(call, tensors):
    """What PyTorch computes of the numbers that the card gets, in float64, or float32 of many, where it can."""
    exact = torch.float64 if sum(one.numel() for one in tensors) < 2 ** 27 else torch.float32
    wide = [one.to(exact) if one.dtype in FLOATS else one for one in tensors]
    try:
        result = call(*wide)
    except RuntimeError:  # a type that the call names
        result = call(*tensors)
    return [one for one in pytree.tree_leaves(result)]


def run_one(spec, registry, make_sample, program, seconds, options):
    from models.runner import parse_dtype

    adapter = registry.get(spec["op"])
    if adapter is None:
        return "torch-spyre's tests do not know how it is called", ""
    dtype = parse_dtype(spec["case"].get("dtype", spec["defaults"].get("dtype", "fp16")))
    sample = make_sample(spec["case"], spec["defaults"].get("seed", 123), dtype, torch.device("cpu"))
    if spec["op"] == "torch.sort":  # where equal elements go is else left open
        sample.kwargs["stable"] = True
    if adapter.pre:
        sample = adapter.pre(sample)
    call = Call(adapter, (sample.input, *sample.args), sample.kwargs)
    leaves = pytree.tree_leaves(((sample.input, *sample.args), sample.kwargs))
    tensors = tuple(rounded(one) for one in leaves if isinstance(one, torch.Tensor))
    try:
        right = meaning(call, tensors)
    except (IndexError, RuntimeError) as error:  # such as random indices beyond the tensor
        return "PyTorch refuses it", str(error)[:200]
    if not any(isinstance(one, torch.Tensor) for one in right):
        return "agrees", "no tensors: Python computes it"
    try:
        exported = torch.export.export(call.eval(), tensors)
    except Exception as error:  # whatever torch.export finds
        return "torch.export refuses it", str(error).splitlines()[0][:200]
    with tempfile.TemporaryDirectory() as directory:
        try:
            text = import_program(exported, directory)
        except Unsupported as error:
            return "the importer refuses it", re.sub(r"^%?\S+ : .*?\): ", "", str(error))[:300]
        if options.import_only:
            return "imported", ""
        size = sum(one.numel() for one in tensors)
        command = [program, "run", f"{directory}/list.json", "--out", f"{directory}/out", "--no-progress", "--set", "trace.enabled=false"]
        if size > options.sample_above:
            command += ["--set", "workload.verify=sample"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return "takes too long", f"more than {seconds} s"
        if run.returncode != 0:
            said = [line for line in run.stderr.splitlines() if line.strip() and "WARNING" not in line]
            return {1: "wrong", 2: "the compiler refuses it"}.get(run.returncode, f"status {run.returncode}"), "\n".join(said[-3:])[:400]
        # Each element is as near to the list's float64 meaning as rounding explains: the run has checked it, and says how far.
        off = json.loads(pathlib.Path(directory, "out/report.json").read_text())["verified"]["max_abs_error"]
        if spec["op"] == "torch.empty_like":  # whatever there is
            right = []
        for name, wanted in zip(text["outputs"], right):
            got = np.load(f"{directory}/out/{name}.npy").astype(np.float64).reshape(wanted.shape)
            whole = not wanted.dtype.is_floating_point
            wanted = wanted.detach().double().numpy()
            if whole and spec["op"] == "torch.topk":  # along the last axis; PyTorch leaves open which of equal ones comes first
                got, wanted = (np.take_along_axis(tensors[0].float().numpy(), one.astype(int), -1) for one in (got, wanted))
            if whole and not np.array_equal(got, wanted):
                return "wrong", f"{name}: integers differ"
            if wanted.size and not np.abs(got - wanted).max() <= max(TOLERANCE * max(1, np.abs(wanted).max()), 2 * off):
                return "wrong", f"{name}: {np.abs(got - wanted).max()} off"
    return "agrees", ""


def table(found, results):
    outcomes = collections.Counter()
    causes = collections.defaultdict(collections.Counter)
    files = collections.defaultdict(collections.Counter)
    for key, spec in found.items():
        outcome, said = results.get(key, ("not run", ""))
        count = sum(spec["files"].values())
        outcomes[outcome] += count
        if outcome != "agrees":
            causes[(outcome, re.sub(r"\d+", "N", said)[:110].replace("\n", " "))][spec["op"]] += count
        for file, times in spec["files"].items():
            files[file][outcome == "agrees"] += times
    total = sum(outcomes.values())
    print(f"{total} instances, {len(found)} of them distinct\n\n| instances | % | outcome |\n|--:|--:|---|")
    for outcome, count in outcomes.most_common():
        print(f"| {count} | {100 * count / total:.1f} | {outcome} |")
    print("\n| model | agree | others |\n|---|--:|--:|")
    for file, of in sorted(files.items()):
        print(f"| {file} | {of[True]} | {of[False]} |")
    print("\n| instances | outcome | cause | operations |\n|--:|---|---|---|")
    for (outcome, said), ops in sorted(causes.items(), key=lambda item: -sum(item[1].values())):
        print(f"| {sum(ops.values())} | {outcome} | {said} | {', '.join(f'{op} {count}' for op, count in ops.most_common(6))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=pathlib.Path, help="a checkout of torch-spyre")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("models.jsonl"), help="a line for each instance [%(default)s]")
    parser.add_argument("--op", default="", help="only operations whose name matches this expression")
    parser.add_argument("--part", default="1/1", help="the I-th of N parts [%(default)s]")
    parser.add_argument("--largest", type=int, default=2 ** 62, help="only instances with at most so many input elements")
    parser.add_argument("--smallest", type=int, default=0, help="... and with at least so many")
    parser.add_argument("--sample-above", type=int, default=2 ** 20, help="input elements above which a run verifies a sample [%(default)s]")
    parser.add_argument("--seconds", type=int, default=300, help="of a run [%(default)s]")
    parser.add_argument("--again", default="", help="run again what ended so, an expression")
    parser.add_argument("--import-only", action="store_true", help="do not run the lists")
    parser.add_argument("--table", action="store_true", help="print the results; run nothing")
    options = parser.parse_args()
    found = instances(options.path)
    results = {}
    if options.results.exists():
        for line in options.results.read_text().splitlines():
            one = json.loads(line)
            results[one["key"]] = (one["outcome"], one["said"])
    if options.table:
        table(found, results)
        return
    sys.path.insert(0, str(options.path / "tests"))
    from models.op_registry import OP_REGISTRY
    from models.runner import make_SampleInput

    def size(spec):
        tensors = [one for given in spec["case"]["inputs"] for one in ([given["tensor"]] if "tensor" in given else given.get("tensor_list", []))]
        return sum(int(np.prod(one["shape"])) for one in tensors)

    part, parts = map(int, options.part.split("/"))
    chosen = sorted((size(spec), key) for key, spec in found.items() if re.search(options.op, spec["op"]))
    chosen = [key for many, key in chosen if options.smallest <= many <= options.largest]
    with open(options.results, "a", encoding="utf-8") as file:
        for key in chosen[part - 1::parts]:
            if key in results and not (options.again and re.search(options.again, " ".join(results[key]))):
                continue
            try:
                outcome, said = run_one(found[key], OP_REGISTRY, make_SampleInput, os.environ["SPYRE_PROGRAM"], options.seconds, options)
            except Exception as error:  # one instance must not end the others
                outcome, said = "fails", f"{type(error).__name__}: {error}"[:300]
            file.write(json.dumps({"key": key, "outcome": outcome, "said": said}) + "\n")
            file.flush()
            print(f"{found[key]['op']}: {outcome} {said.splitlines()[0] if said else ''}", flush=True)


if __name__ == "__main__":
    main()
