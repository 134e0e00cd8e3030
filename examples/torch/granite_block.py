#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One block of Granite-8B, compiled by torch-spyre and compared with PyTorch on the CPU.

    spyre-cosim exec -- python granite_block.py [TOKENS]

TOKENS (64) are the rows of a prefill. Weights are random, query, key and value are one product, as gate and up are; the rotary
embedding is left out. Prints the largest difference and the largest result. docs/torch.md says what is needed.
"""
import sys

import torch
import torch.nn.functional as F

HIDDEN, MLP, HEADS, KV_HEADS, HEAD = 4096, 12800, 32, 8, 128
WIDTHS = [HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD]


def heads(x, count):
    """[1, tokens, count * HEAD] to [1, HEADS, tokens, HEAD]: each head as often as queries share it."""
    tokens, shared = x.shape[1], HEADS // count
    x = x.view(1, tokens, count, HEAD).transpose(1, 2)
    return x.unsqueeze(2).expand(1, count, shared, tokens, HEAD).reshape(1, HEADS, tokens, HEAD)


def block(x, norm1, qkv, out, norm2, gate_up, down):
    tokens = x.shape[1]
    q, k, v = F.linear(F.rms_norm(x, (HIDDEN,), norm1, 1e-5), qkv).split(WIDTHS, -1)
    attended = F.scaled_dot_product_attention(heads(q, HEADS), heads(k, KV_HEADS), heads(v, KV_HEADS), is_causal=True)
    x = x + F.linear(attended.transpose(1, 2).reshape(1, tokens, WIDTHS[0]), out)
    gate, up = F.linear(F.rms_norm(x, (HIDDEN,), norm2, 1e-5), gate_up).split(MLP, -1)
    return x + F.linear(F.silu(gate) * up, down)


def weight(outputs, inputs):
    return (torch.randn(outputs, inputs) / inputs**0.5).half()


def main():
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    torch.manual_seed(0)
    inputs = [torch.randn(1, tokens, HIDDEN).half()]
    inputs += [torch.ones(HIDDEN).half(), weight(sum(WIDTHS), HIDDEN), weight(HIDDEN, WIDTHS[0])]
    inputs += [torch.ones(HIDDEN).half(), weight(2 * MLP, HIDDEN), weight(HIDDEN, MLP)]
    result = torch.compile(block)(*(t.to("spyre") for t in inputs)).cpu().float()
    expected = block(*(t.float() for t in inputs))
    print(f"difference at most {(result - expected).abs().max():.3g}, results at most {expected.abs().max():.3g}")


if __name__ == "__main__":
    main()
