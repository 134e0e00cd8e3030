# SPDX-License-Identifier: Apache-2.0
"""What the tensor-parallel examples share: the process group, weights of which each rank has its part, and the comparison."""
import contextlib
import os

import torch
import torch.distributed as dist


@contextlib.contextmanager
def ranks():
    """The process group of torchrun's ranks. Gives the rank, the number of ranks, and the rank's card."""
    dist.init_process_group("cpu:gloo,spyre:spyreccl")
    try:
        yield dist.get_rank(), dist.get_world_size(), f"spyre:{os.environ['LOCAL_RANK']}"
    finally:
        dist.destroy_process_group()


def weight(name, outputs, inputs):
    """Random, and the same on every rank: nobody has to send it."""
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    return (torch.randn(outputs, inputs, generator=generator) / inputs**0.5).half()


def part(whole, dim, rank, world):
    """The rank's part of a tensor that is divided along a dimension."""
    return whole.chunk(world, dim)[rank].contiguous()


def report(what, rank, result, expected):
    """Prints how far a rank's result is from that of one CPU. More than rounding explains is an error."""
    difference = (result.cpu().double() - expected).abs().max().item()
    largest = expected.abs().max().item()
    print(f"rank {rank}: {what}: difference at most {difference:.3g}, results at most {largest:.3g}", flush=True)
    if not difference < 0.01 * largest:
        raise SystemExit(f"rank {rank}: {what} is wrong")
