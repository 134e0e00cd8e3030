# SPDX-License-Identifier: Apache-2.0
"""Programs that torch.export saves, as lists of operations: PyTorch on the CPU says what is right.

SPYRE_PROGRAM: spyre-cosim. The package comes from PYTHONPATH.
"""
import json
import os
import pathlib
import subprocess
import sys

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import random_programs

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples/torch"))
import model_parts as example  # noqa: E402
from spyre_cosim._dimensions import Unsupported
from spyre_cosim.import_torch import import_program


class Residual(nn.Module):
    """The columns of the product are the dimension that it sums over."""

    def __init__(self):
        super().__init__()
        self.square = nn.Linear(64, 64)

    def forward(self, x):
        return x + F.gelu(self.square(x))


class Block(nn.Module):
    def __init__(self, width=128, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.depth = heads, groups, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.depth, bias=False) for _ in range(2))
        self.before, self.behind = nn.RMSNorm(width), nn.LayerNorm(width)
        self.gate, self.up, self.down = nn.Linear(width, 256), nn.Linear(width, 256), nn.Linear(256, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        y = self.before(x)
        q = self.q(y).view(batch, tokens, self.heads, self.depth).transpose(1, 2)
        k, v = (f(y).view(batch, tokens, self.groups, self.depth).transpose(1, 2) for f in (self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, tokens, width))
        y = self.behind(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class FusedHeads(nn.Module):
    """Slices of one product, and the tokens as rows and as columns of the scores."""

    def __init__(self, width=64):
        super().__init__()
        self.qkv, self.width = nn.Linear(width, 3 * width), width

    def forward(self, x):
        q, k, v = self.qkv(x).split(self.width, -1)
        p = torch.softmax(q @ k.transpose(-2, -1) / 8, -1)
        return (p @ v).mean(1), p.amax(-1, keepdim=True)


class SharedHeads(nn.Module):
    def forward(self, q, k, v):
        k, v = (one[:, :, None].expand(-1, -1, 3, -1, -1).reshape(1, 6, 20, 64) for one in (k, v))
        return F.scaled_dot_product_attention(q, k, v)


class Masked(nn.Module):
    def forward(self, x, mask, w):
        scores = (x @ x.transpose(0, 1)).masked_fill(mask > 0, -100.0)
        return torch.softmax(scores, -1) @ w, (x - 1).clamp(min=-0.5).pow(2).sum(0).t(), x.flatten() * 2


class TruthMask(nn.Module):
    """True is a key that is seen; a mask of numbers is added."""

    def forward(self, q, k, v, m):
        return F.scaled_dot_product_attention(q, k, v, m > -0.5), F.hardtanh(q), F.dropout(k, 0.5, False)


class Joins(nn.Module):
    def forward(self, x, y):
        return (torch.cat((x, y), 1), torch.cat((x, 2 * x, x), 0), torch.stack((x, x + 1), 1), torch.stack((y, y), -1).sum(1),
                F.pad(y, (2, 3)), F.pad(y, (-1, 5, 1, 0), value=2.5) + 1, torch.cat((x[:, :1], y.expand(3, 70)), -1))


class Moves(nn.Module):
    def forward(self, x, y):
        return (x.roll(5, 1), y.roll((1, -3), (0, 1)), x.roll(7), x.repeat(2, 3), y.repeat(2, 1, 1), y.chunk(3, -1)[1] * 2,
                x.expand(4, 3, 64), x[:1].expand(5, 64).exp(), torch.cat([one.exp() for one in y.split([30, 33, 7], 1)], 1))


class Truths(nn.Module):
    def forward(self, x, y):
        a, b = x > 0.5, y < 0.25
        z = x * 2
        z.relu_()
        return (torch.where(a & b, x, 0.0), torch.where(torch.logical_or(a, ~b), 1.5, y), x.masked_fill(a ^ b, -2.0), x.max(),
                torch.max(x, y), y.view_as(x) + x, x[:, 1::3], x.repeat_interleave(2, 0), x.unbind(1)[3] + 1, z + y)


class Positions(nn.Module):
    """What depends on no input is worked out by PyTorch: positions, their tables, masks."""

    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(20, 64)
        self.register_buffer("frequencies", 10.0 ** -torch.arange(0, 1, 1 / 32))

    def forward(self, x):
        positions = torch.arange(x.shape[1])
        angles = positions[:, None] * self.frequencies
        cos, sin = (torch.cat((one, one), -1) for one in (angles.cos(), angles.sin()))
        one, other = x.chunk(2, -1)
        turned = x * cos + torch.cat((-other, one), -1) * sin
        causal = positions[None, :] > positions[:, None]
        scores = (turned @ turned.transpose(1, 2) / 8).masked_fill(causal, -1e4)
        return torch.softmax(scores, -1) @ (x + self.places(positions)), torch.zeros(3) + x[0, 0, :3]


class Patches(nn.Module):
    """Windows that do not overlap: the patches of a vision transformer, convolutions of one pixel, pools."""

    def __init__(self):
        super().__init__()
        self.patches, self.pixels = nn.Conv2d(3, 70, 4, stride=4), nn.Conv2d(70, 16, 1)
        self.step = nn.Conv2d(16, 8, 1, stride=2, bias=False)

    def forward(self, x, z):
        y = F.relu(self.patches(x))
        return y.flatten(2).transpose(1, 2), self.step(self.pixels(y)), F.max_pool2d(z, 2), F.avg_pool2d(z, 2), F.adaptive_avg_pool2d(y, 1)


class Choices(nn.Module):
    """Rows by indices, which are inputs, and whole dimensions turned round."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 96)
        self.register_buffer("rows", torch.tensor([4, 0, 2]))
        self.register_buffer("one", torch.tensor([69]))

    def forward(self, tokens, x):
        y = self.words(tokens)
        cache = y.view(2, 9, 4, 24) * 2
        cache.index_copy_(1, self.rows, y[:, :3].reshape(2, 3, 4, 24))
        return (cache + 1, x.index_copy(1, self.one, x[:, 2:3].exp()), x.index_copy(0, self.rows, x[1:4].exp()), y * 2, x.index_select(1, self.rows), x[self.rows] + 1, x.flip(0), x.flip(-1, 0).exp(), y.flip(1).sum(-1),
                x.gather(1, self.rows[None, :].expand(5, 3)), x[:, self.one], y.view(2, 9, 4, 24).flatten(2).flip(2))


class Rotary(nn.Module):
    """Heads turned in their halves, joined, and taken apart again by views."""

    def forward(self, x, cos, sin):
        batch, tokens, width = x.shape
        heads = x.view(batch, tokens, 2, width // 2).transpose(1, 2)
        one, other = heads.chunk(2, -1)
        turned = heads * cos + torch.cat((-other, one), -1) * sin
        joined = torch.cat((turned, heads), 1).transpose(1, 2).reshape(batch, tokens, 2 * width)
        return joined.view(batch, tokens, 8, width // 4).sum(-1), torch.cat((x, x), -1).view(batch, tokens, 4, width // 2)[:, :, 1:3]


class Integers(nn.Module):
    """The host computes with them, and what compares or converts them goes on on the card."""

    def forward(self, i, j, x):
        mask = (i + 2 * j) % 7 > 3
        places = torch.clamp(i - j, min=0, max=8)
        return (i + j, i // 3 - j, i.float() * x, torch.where(mask, i, j), torch.where(mask, x, 0.5), mask.sum(-1), mask.long() + i,
                x[:, places[0]], i.sum(), torch.stack((i, j)).amax(0), i & 12, ~j, i == j, (x > 0.5).to(torch.int64).sum(1), i[:, ::2],
                torch.cat((i, j), 1).flip(1), x.mean() + i.sum(-1).float(), torch.arange(9) + i, -j, (x * 4).int() * 2)


class OnTheHost(nn.Module):
    """What the card has no instruction for."""

    def forward(self, x, i):
        y = 3 * x.sigmoid()
        values, places = torch.sort(i, dim=1, descending=True, stable=True)
        largest, where = x.max(1)
        return (y.sin() + 1, torch.cos(x) * y, x.cumsum(1), y.tril(), x.triu(1), values, places, largest, where, x.argmin(0),
                *torch.topk(x, 3, 1), *torch.topk(x.sin(), 2, 0, largest=False), x.gather(1, i % 9), x.scatter(1, i.argsort(1), y), (x > 0.5).any(1), torch.remainder(i, 4))


class Windows(nn.Module):
    """Windows that overlap, with edges, and rows of a source where a mask is true."""

    def __init__(self):
        super().__init__()
        self.same, self.step = nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2, dilation=2)
        self.register_buffer("mask", torch.tensor([False, True, True, False, True]))

    def forward(self, z, rows, source):
        return (self.same(z), self.step(z), F.max_pool2d(z, 3, 2, 1), F.avg_pool2d(z, 3, 1),
                rows.masked_scatter((self.mask & (rows[:, 0] < 9))[:, None], source))


class Groups(nn.Module):
    """Convolutions of groups of channels, and pools whose windows reach beyond the edges or have no size of their own."""

    def __init__(self):
        super().__init__()
        self.deep, self.wide = nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.Conv2d(6, 12, 3, stride=2, groups=6, bias=False)
        self.pairs, self.same = nn.Conv2d(6, 8, 3, groups=2), nn.Conv2d(6, 4, (4, 3), padding="same")

    def forward(self, z, y, u):
        return (self.deep(z), self.wide(z), self.pairs(u), self.same(z), F.max_pool2d(z, 3, 2, 1, ceil_mode=True), F.max_pool2d(y, (2, 3), ceil_mode=True),
                F.avg_pool2d(z, 3, 2, 1, ceil_mode=True), F.avg_pool2d(z, 3, 2, 1, count_include_pad=False), F.avg_pool2d(y, (2, 3), divisor_override=3),
                F.adaptive_avg_pool2d(z, (3, 5)), F.adaptive_avg_pool2d(z, (5, 4)), F.adaptive_avg_pool2d(y, (6, 3)))


class ScaledProducts(nn.Module):
    """Products of float8, with a scale for each operand or for each row and column. What is rounded to float8 is exact before."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randn(128, 128).to(torch.float8_e4m3fn))
        self.register_buffer("columns", torch.rand(1, 128) + 0.5)
        self.register_buffer("bias", torch.randn(128).half())
        self.register_buffer("chosen", torch.eye(16, 128).to(torch.float8_e4m3fn))  # rows of the weights, which are rounded to float8 again

    def forward(self, x, quantised, rows):
        q, w = (x / 0.03125).to(torch.float8_e4m3fn), self.weight.t()
        one, half = torch.tensor(0.03125), torch.tensor(0.5)
        return (torch._scaled_mm(q, w, one, half, out_dtype=torch.float16), torch._scaled_mm(q, w, rows, self.columns, out_dtype=torch.bfloat16).float(),
                torch._scaled_mm(quantised, w, half, one, bias=self.bias, out_dtype=torch.float16), q.float() + 1,
                torch._scaled_mm(self.chosen, w, one, half).half())


def small(decode):
    """The example's block with heads of 64."""
    block = example.Decoder(128, 256, 4, 2, bias=True, residual=0.5, head=64)
    return lambda: (example.Decoding(block) if decode else block).float()


SEEN = lambda: torch.where(torch.arange(20) <= 11, 0.0, -65504.0).view(1, 1, 1, 20)  # noqa: E731


def whole(below, *shape):
    return lambda: torch.randint(0, below, shape)


PROGRAMS = [
    (Truths, [(5, 70), (5, 70)]),
    (Patches, [(1, 3, 24, 32), (2, 70, 6, 8)]),
    (Positions, [(2, 9, 64)]),
    (Choices, [whole(50, 2, 9), (5, 70)]),
    (Integers, [whole(50, 4, 9), whole(50, 4, 9), (4, 9)]),
    (OnTheHost, [(4, 9), lambda: torch.randint(0, 9, (4, 9))]),
    (Windows, [(2, 4, 12, 9), (5, 64), (5, 64)]),
    (Groups, [(2, 6, 12, 9)] * 3),
    (ScaledProducts, [lambda: torch.randint(-255, 256, (16, 128)) / 64, lambda: torch.randn(16, 128).to(torch.float8_e4m3fn), lambda: torch.rand(16, 1) / 16 + 0.03]),
    (small(False), [(1, 12, 128), lambda: example.rotary(0, 12, 64).float()]),
    (small(True), [(1, 1, 128), lambda: example.rotary(11, 1, 64).float(), (1, 2, 20, 64), (1, 2, 20, 64), lambda: torch.tensor([11]), SEEN]),
    (lambda: example.Vit(64, 2, 128, 64, 16).float(), [(1, 16, 768)]),
    (Joins, [(3, 64), (3, 70)]),
    (Moves, [(3, 64), (3, 70)]),
    (Rotary, [(2, 5, 128), (5, 64), (5, 64)]),
    (Residual, [(3, 64)]),
    (Block, [(1, 12, 128)]),
    (FusedHeads, [(2, 9, 64)]),
    (SharedHeads, [(1, 6, 10, 64), (1, 2, 20, 64), (1, 2, 20, 64)]),
    (TruthMask, [(2, 10, 64), (2, 20, 64), (2, 20, 64), (10, 20)]),
    (Masked, [(20, 70), (20, 20), (20, 1)]),
]


@pytest.mark.parametrize("module, shapes", PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_list_computes_what_pytorch_does(module, shapes, tmp_path):
    torch.manual_seed(0)
    program, inputs = module().eval(), tuple(one() if callable(one) else torch.randn(one) for one in shapes)
    torch.export.save(torch.export.export(program, inputs), tmp_path / "program.pt2")
    subprocess.run([sys.executable, "-m", "spyre_cosim.import_torch", tmp_path / "program.pt2", "-o", tmp_path / "list"], check=True)
    report = subprocess.run([os.environ["SPYRE_PROGRAM"], "run", "list/list.json", "--out", "out", "--no-progress"], cwd=tmp_path,
                            capture_output=True, text=True)
    assert report.returncode == 0, report.stderr
    expected = program(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    names = json.loads((tmp_path / "list/list.json").read_text())["outputs"]
    assert len(names) == len(expected)
    for name, right in zip(names, expected):
        got = np.load(tmp_path / f"out/{name}.npy").astype(np.float64).reshape(right.shape)
        right = right.detach().numpy()
        assert np.abs(got - right).max() <= 0.01 * max(1, np.abs(right).max())


@pytest.mark.parametrize("seed", range(5))
def test_random_programs_give_the_numbers_of_pytorch(seed):
    outcome, reason = random_programs.run(seed, os.environ["SPYRE_PROGRAM"])
    assert outcome != "wrong", reason


REFUSED = {
    "aten.histc": lambda x: torch.histc(x, 4),
    "trunc": lambda x: torch.div(x, 2.0, rounding_mode="trunc"),
    "beyond int32": lambda x: x.to(torch.int64) + torch.tensor([2 ** 40, 1, 1, 1]),
    "complex": lambda x: torch.view_as_complex(x.view(4, 2, 2)).real,
    "in place": lambda x: (lambda y: (y.view(16), y.relu_()))(x + 1),
    "beyond": lambda x: x * torch.tensor([1e5, 1.0, 1.0, 1.0]),
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "float8_e5m2": lambda x: x.to(torch.float8_e5m2).float(),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_a_list_cannot_say_is_named(says, tmp_path):
    class Program(nn.Module):
        def forward(self, x):
            return REFUSED[says](x)

    program = torch.export.export(Program(), (torch.randn(4, 4),))
    with pytest.raises(Unsupported, match=says):
        import_program(program, str(tmp_path))
