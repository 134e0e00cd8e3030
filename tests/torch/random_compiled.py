# SPDX-License-Identifier: Apache-2.0
"""Random programs of PyTorch, compiled by torch-spyre and run on the modelled card: random_compiled.py [--seconds N] [--first SEED].

Each is a graph of operations on numbers of random shapes, strides and types, with views, integers and truth values among them. The same
program on the CPU in float64 says what is right; the same in float16 says how far rounding goes. What torch-spyre or the compiler of bundles
refuses is counted by its reason. Where a number is wrong, the program runs again, and its launches are compared with what torch-spyre's
OpSpecs say (op_spec_meaning.py): if the card did that, torch-spyre has compiled it wrongly, or rounding after each operation explains it. Every program is a line of --results. Programs run in processes of --batch each, for a failure may spoil
what follows. The environment is that of `spyre-cosim exec`. Ends with status 1 if a number was wrong.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import time

import op_spec_meaning

BELOW = 8  # indices
SIZES = [1, 2, 3, 5, 8, 16, 31, 64, 65, 96, 128, 130, 192]
LARGEST = 20000  # elements of a tensor


class Pick:
    """Decisions of a seed. PyTorch traces it; it does not trace the state of random.Random."""

    def __init__(self, seed):
        self.state = seed * 2654435761 + 12345

    def randrange(self, count):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (self.state >> 33) % count

    def randint(self, first, last):
        return first + self.randrange(last - first + 1)

    def choice(self, options):
        return options[self.randrange(len(options))]

    def sample(self, options, count):
        left = list(options)
        return [left.pop(self.randrange(len(left))) for _ in range(count)]


class Program:
    """Steps are decided by the seed and by the shapes that there are, so that every call takes the same."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, x, y, w, i, m):
        pick = Pick(self.seed)
        values = [x, y]
        results = []
        for _ in range(pick.randint(1, 5)):
            t = pick.choice(values[-2:])
            t = t if t.dim() else t[None]
            for _ in range(20):  # until one fits
                step = pick.choice(STEPS)(pick, t, values, w, i, m)
                if step is not None:
                    break
            if step.numel() <= LARGEST:
                values.append(step)
            if pick.randrange(5) == 0:
                results.append(step)
        return (*results, values[-1])


def elementwise(pick, t, values, w, i, m):
    import torch
    same = [one for one in values if one.shape == t.shape] or [t]
    return pick.choice([
        lambda: t + pick.choice(same), lambda: t * pick.choice(same), lambda: t - 0.5 * pick.choice(same), lambda: -t, lambda: t.abs(), lambda: t * t,
        lambda: torch.relu(t), lambda: torch.sigmoid(t), lambda: torch.tanh(t), lambda: torch.exp(t.clamp(-3, 3)), lambda: torch.maximum(t, pick.choice(same)),
        lambda: torch.minimum(t, pick.choice(same)), lambda: torch.clamp(t, -0.5, 0.75), lambda: torch.nn.functional.silu(t),
        lambda: torch.nn.functional.gelu(t), lambda: torch.sqrt(t.abs() + 0.25), lambda: 1.0 / (t.abs() + 0.5), lambda: torch.rsqrt(t.abs() + 0.5),
        lambda: t + 1, lambda: t * 0.25, lambda: 2 - t, lambda: t / (pick.choice(same).abs() + 1), lambda: torch.log(t.abs() + 0.5),
        lambda: torch.where(pick.choice(same) > 20, t, t * 0.5), lambda: torch.where(t > 0.5, t, 0.5)])()


def masked(pick, t, values, w, i, m):
    import torch
    if m.shape != t.shape:
        return None
    return pick.choice([lambda: torch.where(m, t, t * 0.5), lambda: torch.where(~m, t, 0.25), lambda: t.masked_fill(m, -1.0),
                        lambda: t * m, lambda: torch.where(m & (t < 100), t, -t)])()


def reduction(pick, t, values, w, i, m):
    import torch
    dims = pick.sample(range(t.dim()), pick.randint(1, min(2, t.dim())))
    keep = pick.randrange(2) == 0
    count = 1
    for dim in dims:
        count *= t.shape[dim]
    return pick.choice([
        lambda: t.mean(dims, keepdim=keep), lambda: t.sum(dims, keepdim=keep) * (1.0 / count), lambda: t.amax(dims, keepdim=keep),
        lambda: t.amin(dims, keepdim=keep), lambda: torch.softmax(t, dims[0]), lambda: t - t.mean(dims, keepdim=True),
        lambda: t.amax(dims, keepdim=True) - t, lambda: t * torch.rsqrt((t * t).mean(dims, keepdim=True) + 0.25),
        lambda: (t * 0.25 + 1).prod(dims[0], keepdim=keep) if count <= 8 else t.sum(dims[0], keepdim=keep) / t.shape[dims[0]],
        lambda: torch.nn.functional.layer_norm(t, t.shape[-1:], eps=0.1),
        lambda: torch.log_softmax(t, dims[0])])()


def view(pick, t, values, w, i, m):
    import torch
    dim, other = pick.randrange(t.dim()), pick.randrange(t.dim())
    size = t.shape[dim]
    last = pick.randint(1, size)
    options = [lambda: t.transpose(dim, other) * 1, lambda: t.transpose(dim, other), lambda: t.narrow(dim, size - last, last) + 0,
               lambda: t.narrow(dim, 0, last) * 2, lambda: torch.cat((t, t * 0.5), dim), lambda: t.transpose(dim, other).contiguous(), lambda: t.flatten() + 1,
               lambda: torch.cat((t.narrow(dim, 0, last), t), dim), lambda: torch.nn.functional.pad(t, (0, last)), lambda: t.narrow(dim, size - last, last)]
    if t.dim() < 4:
        options += [lambda: t.unsqueeze(dim), lambda: t.unsqueeze(dim).expand(*t.shape[:dim], 2, *t.shape[dim:]) + 1, lambda: torch.stack((t, -t), dim)]
    if t.dim() > 1:
        options += [lambda: t.select(dim, last - 1) + 0, lambda: t.reshape(t.shape[0], -1) * 0.5, lambda: t.reshape(-1, t.shape[-1]) + 0]
    if size % 2 == 0:
        options += [lambda: t.chunk(2, dim)[1] * t.chunk(2, dim)[0], lambda: t.unflatten(dim, (2, size // 2)) + 0 if t.dim() < 4 else t + 0]
    return pick.choice(options)()


def product(pick, t, values, w, i, m):
    import torch
    size = t.shape[-1]
    if t.dim() == 1 or size > w.shape[0]:
        return None
    part = w[:size]
    return pick.choice([lambda: t @ part / size ** 0.5, lambda: t @ part / size ** 0.5, lambda: (t @ t.transpose(-1, -2)) / size,
                        lambda: torch.nn.functional.linear(t, part.t()) / size ** 0.5,
                        lambda: torch.nn.functional.scaled_dot_product_attention(t[None], t[None], t[None]) if t.dim() == 3 else t @ part / size ** 0.5])()


def chosen(pick, t, values, w, i, m):
    import torch
    dim = pick.randrange(t.dim())
    if t.shape[dim] < BELOW:
        return torch.nn.functional.embedding(i, w)
    return pick.choice([lambda: t.index_select(dim, i), lambda: t[i] if t.shape[0] >= BELOW else t + 2, lambda: torch.nn.functional.embedding(i, w),
                        lambda: t.index_copy(0, i[:1], t[:1] * 2) if t.shape[0] >= BELOW else -t])()


def typed(pick, t, values, w, i, m):
    import torch
    if t.shape[-1] % 64 != 0:  # torch-spyre computes with half of the sticks of float32 that the conversion of a last one in part makes
        return t * 0.75
    if t.dtype == torch.float64:  # what is right has no types
        return t * 0.75
    other = torch.float32 if t.dtype == torch.float16 else torch.float16
    return (t.to(other) * 0.75).to(t.dtype)


STEPS = [elementwise] * 5 + [masked] + [reduction] * 4 + [view] * 5 + [product] * 2 + [chosen] + [typed]


def inputs_of(seed):
    import torch
    pick = random.Random(seed * 7919 + 1)
    torch.manual_seed(seed)
    shape = [pick.choice(SIZES) for _ in range(pick.randint(1, 4))]
    count = 1
    for place in range(len(shape) - 1, -1, -1):
        while count * shape[place] > LARGEST // 2:
            shape[place] = max(1, shape[place] // 2)
        count *= shape[place]
    def number(*of):
        tensor = torch.rand(of) * 2 - 1
        kind = pick.randrange(4)
        if kind == 0 and len(of) > 1:  # strides
            order = pick.sample(range(len(of)), len(of))
            tensor = tensor.permute(order).contiguous().permute([order.index(place) for place in range(len(of))])
        bits = tensor.half().contiguous().view(torch.int16) if kind else None
        half = ((bits + 1) & ~1).view(torch.float16) if kind else tensor.half()
        return half
    x, y = number(*shape), number(*shape)
    w = number(pick.choice([64, 128, 200]), pick.choice([1, 40, 64, 128]))
    index = torch.randint(0, BELOW, (pick.randint(1, 9),))
    mask = torch.rand(shape) < 0.5
    return x, y, w, index, mask


def again(said):
    """What dxp_standalone said of a bundle that it has refused: torch-spyre passes on only its status."""
    directory = re.search(r"'dxp_standalone', '-d', '([^']*)'", said)
    if not directory:
        return ""
    return "\n" + subprocess.run(["dxp_standalone", "-d", directory.group(1)], capture_output=True, text=True).stderr


def run(seed, device):
    """(outcome, reason)"""
    import torch
    torch._dynamo.reset()
    program = Program(seed)
    inputs = inputs_of(seed)
    exact = [one.double() if one.dtype.is_floating_point else one for one in inputs]
    right = program(*exact)
    rough = program(*inputs)
    compiled = torch.compile(program.__call__, dynamic=False)
    try:
        got = [one.cpu() for one in compiled(*(one.to(device) for one in inputs))]
    except (op_spec_meaning.Impossible, op_spec_meaning.NotRead):
        raise
    except Exception as error:  # whatever refuses it
        return "refused", f"{type(error).__name__}: {error}{again(str(error))}"
    for place, (one, wanted, half) in enumerate(zip(got, right, rough)):
        if one.shape != wanted.shape:
            return "wrong", f"result {place} has shape {tuple(one.shape)} for {tuple(wanted.shape)}"
        if not wanted.numel():
            continue
        one, wanted, half = one.double(), wanted.double(), half.double()
        limit = 0.02 * max(1, wanted.abs().max()) + 8 * (half - wanted).abs().max()
        difference = (one - wanted).abs()
        if not (difference <= limit).all():
            many = int((~(difference <= limit)).sum())
            return "wrong", f"result {place}, {tuple(one.shape)}: {many} elements, up to {difference.max():.4g} off, limit {limit:.3g}"
    return "right", ""


def judged(seed, device):
    """(outcome, reason). Where the card computed what the OpSpecs say, a wrong number is "imprecise" or "compiled wrong"."""
    import torch
    outcome, reason = run(seed, device)
    if outcome != "wrong":
        return outcome, reason
    try:
        with op_spec_meaning.Watch() as watch, torch._inductor.config.patch(force_disable_caches=True):
            again = run(seed, device)
    except op_spec_meaning.Impossible as impossible:
        return "compiled wrong", f"{impossible}: {reason}"
    except op_spec_meaning.NotRead as not_read:
        return "wrong", f"{not_read}: {reason}"
    if again[0] == "wrong" and watch.launches and not watch.differences:
        return "imprecise" if watch.imprecise else "compiled wrong", reason
    return "wrong", "; ".join([f"again: {again[0]}", *watch.differences, reason])


def worker(first, count):
    import torch
    for seed in range(first, first + count):
        print(json.dumps({"begins": seed}), flush=True)
        begin = time.monotonic()
        try:
            outcome, reason = judged(seed, torch.device("spyre"))
        except Exception as error:  # a fault of this script's program itself
            outcome, reason = "no program", f"{type(error).__name__}: {error}"
        print(json.dumps({"seed": seed, "outcome": outcome, "reason": reason[-1500:], "seconds": round(time.monotonic() - begin, 2)}), flush=True)


def cause(reason):
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    for pattern in (r"^dxp_standalone: .*", r"stream \d+: .*", r"(Unsupported|NotImplementedError|LoweringException|InductorError)\W.*"):
        for line in lines:
            found = re.search(pattern, line)
            if found:
                return re.sub(r"\d+", "N", re.sub(r"\S*/\S+", "PATH", found.group(0)))[:160]
    return re.sub(r"\d+", "N", lines[0] if lines else "")[:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--first", type=int, default=0, help="the first seed [%(default)s]")
    parser.add_argument("--batch", type=int, default=50, help="programs of a process [%(default)s]")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("random_compiled.jsonl"))
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--table", action="store_true", help="print the results; run nothing")
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.worker, options.batch)
        return
    end = time.monotonic() + options.seconds
    seed = options.first
    with open(options.results, "a", encoding="utf-8") as results:
        while not options.table and time.monotonic() < end:
            command = [sys.executable, __file__, "--worker", str(seed), "--batch", str(options.batch)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            last = seed - 1
            running = None
            for line in process.stdout:
                if not line.startswith("{"):
                    continue
                said = json.loads(line)
                if "begins" in said:
                    running = said["begins"]
                    if time.monotonic() > end:
                        process.kill()
                        break
                else:
                    last, running = said["seed"], None
                    results.write(line)
                    results.flush()
            process.wait()
            if running is not None and time.monotonic() < end:  # the process died of it
                last = running
                results.write(json.dumps({"seed": running, "outcome": "dies", "reason": f"status {process.returncode}", "seconds": 0}) + "\n")
            seed = last + 1
    counts, reasons = collections.Counter(), collections.Counter()
    for line in options.results.read_text().splitlines():
        one = json.loads(line)
        counts[one["outcome"]] += 1
        if one["outcome"] != "right":
            reasons[f"{one['outcome']}: {cause(one['reason'])}"] += 1
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    sys.exit(counts["wrong"] != 0)


if __name__ == "__main__":
    main()
