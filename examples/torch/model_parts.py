#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of known models, of their real sizes, in plain PyTorch: compiled by torch-spyre, or exported for a list of operations.

    spyre-cosim exec -- python model_parts.py NAME [--tokens N]
    python model_parts.py NAME --export program.pt2
    python model_parts.py NAME --compare out/program/list.json out/list

NAME: granite (a block of Granite 3.3 8B), mistral (Mistral 7B), qwen (Qwen2.5 7B), vit (ViT-B/16, with its patches), convnet (a small one).
With --tokens, decoders prefill so many (512); with --decode, one token comes to a cache of as many. Weights are random and the same in
each run. The results, or with --compare those of a list that was run, are compared with PyTorch on the CPU: the largest difference and the
largest result are printed, and the status is 1 if they differ by more than a hundredth of that. docs/torch.md says what is needed.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ROOM = 64  # places in the cache behind what it has


def weight(outputs, inputs):
    return nn.Parameter((torch.randn(outputs, inputs) / inputs**0.5).half())


class Decoder(nn.Module):
    """A block of a decoder, in which heads of queries share those of keys and values. Gate and up are one product."""

    def __init__(self, hidden, mlp, heads, kv_heads, bias=False, residual=1.0, scale=None, head=128):
        super().__init__()
        self.heads, self.kv_heads, self.head, self.mlp = heads, kv_heads, head, mlp
        self.residual, self.scale = residual, scale
        self.norm1, self.norm2 = (nn.Parameter((1 + torch.randn(hidden) / 10).half()) for _ in range(2))
        widths = {"q": heads * head, "k": kv_heads * head, "v": kv_heads * head}
        self.weights = nn.ParameterDict({name: weight(width, hidden) for name, width in widths.items()})
        self.biases = nn.ParameterDict({name: torch.randn(width).half() / 4 for name, width in widths.items()} if bias else {})
        self.out = weight(hidden, heads * head)
        self.gate_up, self.down = weight(2 * mlp, hidden), weight(hidden, mlp)

    def split(self, x, count):
        """[1, tokens, count * head] to [1, count, tokens, head]."""
        return x.view(1, x.shape[1], count, self.head).transpose(1, 2)

    def turn(self, x, count, turns):
        """Heads with the rotary embedding: halves of a head as pairs, which a matrix of two by two turns at each position."""
        pairs = x.view(1, x.shape[1], count, 1, 2, self.head // 2)
        return (turns * pairs).sum(4).flatten(3).transpose(1, 2)

    def shared(self, x):
        """Keys or values as often as queries share them."""
        times = self.heads // self.kv_heads
        return x.unsqueeze(2).expand(1, self.kv_heads, times, x.shape[2], self.head).reshape(1, self.heads, x.shape[2], self.head)

    def qkv_of(self, x, turns):
        normed = F.rms_norm(x, x.shape[-1:], self.norm1, 1e-5)
        q, k, v = (F.linear(normed, self.weights[name], self.biases[name] if name in self.biases else None) for name in "qkv")
        return self.turn(q, self.heads, turns), self.turn(k, self.kv_heads, turns), self.split(v, self.kv_heads)

    def behind(self, x, attended):
        attended = attended.transpose(1, 2).reshape(1, x.shape[1], self.heads * self.head)
        x = x + self.residual * F.linear(attended, self.out)
        gate, up = F.linear(F.rms_norm(x, x.shape[-1:], self.norm2, 1e-5), self.gate_up).split(self.mlp, -1)
        return x + self.residual * F.linear(F.silu(gate) * up, self.down)

    def forward(self, x, turns):
        q, k, v = self.qkv_of(x, turns)
        return self.behind(x, F.scaled_dot_product_attention(q, self.shared(k), self.shared(v), is_causal=True, scale=self.scale))


class Decoding(nn.Module):
    """One token more: its key and value take their place in the caches, of which the mask shows what there is."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x, turns, keys, values, place, mask):
        q, k, v = self.block.qkv_of(x, turns)
        keys, values = keys.index_copy(2, place, k), values.index_copy(2, place, v)
        attended = F.scaled_dot_product_attention(q, self.block.shared(keys), self.block.shared(values), mask, scale=self.block.scale)
        return self.block.behind(x, attended), keys, values


class Vit(nn.Module):
    """Patches of an image, and the first block of ViT-B/16."""

    def __init__(self, width=768, heads=12, mlp=3072, side=224, patch=16):
        super().__init__()
        self.heads, self.patch = heads, patch
        self.patches = weight(width, 3 * patch * patch)
        self.first = nn.Parameter(torch.randn(1, 1, width).half())
        self.places = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width).half() / 4)
        self.norm1, self.bias1, self.norm2, self.bias2 = (nn.Parameter((one + torch.randn(width) / 10).half()) for one in (1, 0, 1, 0))
        self.qkv, self.out, self.up, self.down = weight(3 * width, width), weight(width, width), weight(mlp, width), weight(width, mlp)

    def forward(self, patches):
        x = torch.cat((self.first, F.linear(patches, self.patches)), 1) + self.places
        tokens, width = x.shape[1:]
        q, k, v = F.linear(F.layer_norm(x, (width,), self.norm1, self.bias1, 1e-6), self.qkv).split(width, -1)
        q, k, v = (one.view(1, tokens, self.heads, -1).transpose(1, 2).contiguous() for one in (q, k, v))
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, tokens, width)
        x = x + F.linear(attended, self.out)
        return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), self.norm2, self.bias2, 1e-6), self.up)), self.down)


class ConvNet(nn.Module):
    """Convolutions of windows that overlap, of one pixel and with a stride, a residual, and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.down = nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 128, 3, stride=2, padding=1)
        self.narrow, self.window, self.widen = nn.Conv2d(128, 64, 1), nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, 128, 1)
        self.classes = nn.Linear(128, 10)
        self.half()

    def forward(self, x):
        x = F.relu(self.down(F.relu(self.stem(x))))
        x = x + self.widen(F.relu(self.window(F.relu(self.narrow(x)))))
        return self.classes(F.relu(x).mean((2, 3)))


def rotary(first, tokens, head=128, base=10000.0):
    """A matrix for each pair of a head at the positions from `first` on, [tokens, 1, 2, 2, head / 2]."""
    rates = base ** (-torch.arange(0, head, 2).float() / head)
    angles = torch.arange(first, first + tokens)[:, None] * rates
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((torch.stack((cos, -sin), 1), torch.stack((sin, cos), 1)), 1).half().unsqueeze(1)


DECODERS = {
    "granite": lambda: Decoder(4096, 12800, 32, 8, residual=0.22, scale=0.0078125),
    "mistral": lambda: Decoder(4096, 14336, 32, 8),
    "qwen": lambda: Decoder(3584, 18944, 28, 4, bias=True),
}


def made(options):
    """The module and its inputs."""
    torch.manual_seed(0)
    if options.name == "convnet":
        return ConvNet(), [torch.randn(1, 3, 128, 128).half()]
    if options.name == "vit":
        image = torch.randn(3, 14, 16, 14, 16).half()
        return Vit(), [image.permute(1, 3, 0, 2, 4).reshape(1, 196, 768)]
    block = DECODERS[options.name]()
    hidden = block.norm1.shape[0]
    if not options.decode:
        return block, [torch.randn(1, options.tokens, hidden).half(), rotary(0, options.tokens)]
    length = options.tokens + ROOM
    caches = [torch.randn(1, block.kv_heads, length, 128).half() for _ in range(2)]
    mask = torch.where(torch.arange(length) <= options.tokens, 0.0, -65504.0).half().view(1, 1, 1, length)
    return Decoding(block), [torch.randn(1, 1, hidden).half(), rotary(options.tokens, 1), *caches, torch.tensor([options.tokens]), mask]


def several(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*DECODERS, "vit", "convnet"])
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--decode", action="store_true")
    parser.add_argument("--export", metavar="FILE", help="write the program for `python -m spyre_cosim.import_torch`")
    parser.add_argument("--compare", nargs=2, metavar=("LIST", "OUT"), help="the list, and the directory of its run")
    options = parser.parse_args()
    module, inputs = made(options)
    module.eval()
    if options.export:
        torch.export.save(torch.export.export(module, tuple(inputs)), options.export)
        return
    with torch.no_grad():
        right = several(module.float()(*(one.float() if one.is_floating_point() else one for one in inputs)))
        if options.compare:
            names = json.loads(pathlib.Path(options.compare[0]).read_text())["outputs"]
            got = [torch.from_numpy(np.load(f"{options.compare[1]}/{name}.npy")) for name in names]
        else:
            module = module.half().to("spyre")
            got = several(torch.compile(module)(*(one.to("spyre") for one in inputs)))
    status = 0
    for one, wanted in zip(got, right, strict=True):
        off, most = (one.cpu().float().view_as(wanted) - wanted).abs().max(), wanted.abs().max()
        print(f"difference at most {off:.3g}, results at most {most:.3g}")
        status |= int(not off <= 0.01 * most)
    sys.exit(status)


if __name__ == "__main__":
    main()
