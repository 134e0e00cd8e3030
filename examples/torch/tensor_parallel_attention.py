#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The attention of Granite 3.3 8B over several cards, compared with the whole attention in float64 on the CPU.

    spyre-cosim exec --cards 4 -- torchrun --nproc-per-node 4 tensor_parallel_attention.py [TOKENS]

Each rank has its part of the heads: of the rows of the projections of query, key and value, and of the columns of the output
projection. So it attends alone, and one all-reduce adds the products of all ranks. TOKENS (64) are the rows of a prefill; the
rotary embedding is left out. docs/tensor-parallel.md explains what it costs.
"""
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from tensor_parallel import part, ranks, report, weight

HIDDEN, HEADS, KV_HEADS, HEAD = 4096, 32, 8, 128


def heads(x, shared):
    """[1, tokens, count * HEAD] to [1, count * shared, tokens, HEAD]: each head as often as queries share it."""
    tokens, count = x.shape[1], x.shape[2] // HEAD
    x = x.view(1, tokens, count, HEAD).transpose(1, 2)
    return x.unsqueeze(2).expand(1, count, shared, tokens, HEAD).reshape(1, count * shared, tokens, HEAD)


def attention(x, query, key, value, out):
    shared = HEADS // KV_HEADS
    q, k, v = F.linear(x, query), F.linear(x, key), F.linear(x, value)
    attended = F.scaled_dot_product_attention(heads(q, 1), heads(k, shared), heads(v, shared), is_causal=True)
    return F.linear(attended.transpose(1, 2).reshape(1, x.shape[1], q.shape[2]), out)


def main():
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    x = torch.randn(1, tokens, HIDDEN, generator=torch.Generator().manual_seed(1)).half()
    query, out = weight("query", HEADS * HEAD, HIDDEN), weight("out", HIDDEN, HEADS * HEAD)
    key, value = weight("key", KV_HEADS * HEAD, HIDDEN), weight("value", KV_HEADS * HEAD, HIDDEN)
    with ranks() as (rank, world, card):
        own = [x] + [part(rows, 0, rank, world) for rows in (query, key, value)] + [part(out, 1, rank, world)]
        result = torch.compile(attention)(*(tensor.to(card) for tensor in own))
        dist.all_reduce(result)
        whole = attention(*(t.double() for t in (x, query, key, value, out)))
        report(f"attention on {world} cards", rank, result, whole)


if __name__ == "__main__":
    main()
