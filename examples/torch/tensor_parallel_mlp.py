#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MLP of Granite 3.3 8B over several cards, compared with the whole MLP in float64 on the CPU.

    spyre-cosim exec --cards 4 -- torchrun --nproc-per-node 4 tensor_parallel_mlp.py [TOKENS]

Each rank has its part of the columns of gate and up, and the same rows of down. So it multiplies alone, and one all-reduce adds
the products of all ranks. TOKENS (64) are the rows. docs/tensor-parallel.md explains what it costs.
"""
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from tensor_parallel import part, ranks, report, weight

HIDDEN, MLP = 4096, 12800


def mlp(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def main():
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    x = torch.randn(tokens, HIDDEN, generator=torch.Generator().manual_seed(1)).half()
    gate, up, down = weight("gate", MLP, HIDDEN), weight("up", MLP, HIDDEN), weight("down", HIDDEN, MLP)
    with ranks() as (rank, world, card):
        own = [x, part(gate, 0, rank, world), part(up, 0, rank, world), part(down, 1, rank, world)]
        result = torch.compile(mlp)(*(tensor.to(card) for tensor in own))
        dist.all_reduce(result)
        report(f"MLP on {world} cards", rank, result, mlp(*(t.double() for t in (x, gate, up, down))))


if __name__ == "__main__":
    main()
