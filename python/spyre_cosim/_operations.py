# SPDX-License-Identifier: Apache-2.0
"""What the operations of PyTorch are as operations of a list: for each a method of Importer or what it inherits, by PyTorch's name or
nearly so.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence

from ._dimensions import Unsupported, Value, elements
from ._products import Products

UNARY = {"relu": "relu", "gelu": "gelu", "silu": "silu", "sigmoid": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log",
         "sqrt": "sqrt", "rsqrt": "rsqrt", "neg": "neg", "abs": "abs", "reciprocal": "reciprocal", "floor": "floor", "mish": "mish",
         "relu6": "relu6"}
BINARY = {"add": "add", "sub": "sub", "mul": "mul", "maximum": "maximum", "minimum": "minimum", "eq": "equal",
          "ne": "notequal", "gt": "greaterthan", "ge": "greaterequal", "lt": "lesserthan", "le": "lesserequal"}
TRUTHS = {"logical_and": "mul", "logical_or": "maximum", "logical_xor": "notequal", "bitwise_and": "mul", "bitwise_or": "maximum",
          "bitwise_xor": "notequal", "__and__": "mul", "__or__": "maximum", "__xor__": "notequal"}
REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "amax", "amin": "amin", "prod": "prod"}
SAME = {"clone", "contiguous", "detach", "detach_", "alias", "to", "_to_copy", "lift_fresh_copy"}
VIEWS = {"view", "reshape", "_unsafe_view", "flatten", "unsqueeze", "squeeze", "unflatten"}


class Importer(Products):
    def softmax(self, x: Value, dim: int, *_: Any, **__: Any) -> Value:
        if not x.axes[dim]:
            return self.filled(x, 1)  # of one element
        return self.list.append("softmax", [x], x.axes, dim=x.axes[dim])

    def layer_norm(self, x: Value, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any) -> Value:
        return self.norm("layernorm", x, shape, [weight, bias], eps)

    def rms_norm(self, x: Value, shape: Sequence[int], weight: Any = None, eps: Optional[float] = None) -> Value:
        return self.norm("rmsnorm", x, shape, [weight], 2.0 ** -23 if eps is None else eps)

    def norm(self, op: str, x: Value, shape: Sequence[int], factors: Sequence[Optional[Value]], eps: float) -> Value:
        axes = x.axes[len(x.axes) - len(shape):]
        given = [one for one in factors if one is not None]
        for factor in given:
            self.broadcast([x, factor])
        if len(given) < len(factors) and factors[0] is None:
            y = self.list.append(op, [x], x.axes, dim=[dim for one in axes for dim in one], eps=eps)
            return self.elementwise("add", [y, factors[-1]]) if factors[-1] is not None else y
        return self.list.append(op, [x, *given], x.axes, dim=[dim for one in axes for dim in one], eps=eps)

    def power(self, x: Value, exponent: float) -> Value:
        if exponent == 1:
            return x
        if exponent in (3, 4):
            square = self.elementwise("mul", [x, x])
            return self.elementwise("mul", [square, x if exponent == 3 else square])
        if exponent == -1:
            return self.elementwise("reciprocal", [x])
        if exponent == 2:
            return self.elementwise("mul", [x, x])
        if abs(exponent) == 0.5:
            return self.elementwise("sqrt" if exponent > 0 else "rsqrt", [x])
        raise Unsupported(f"a power of {exponent}")

    def clamp(self, x: Value, min: Optional[float] = None, max: Optional[float] = None) -> Value:  # noqa: A002, names of PyTorch
        most = 2 ** 31 - 1 if self.whole else 65504
        return self.list.append("clip", [x], x.axes, min=-most if min is None else min, max=most if max is None else max)

    def divide(self, a: Any, b: Any, rounding_mode: Optional[str] = None) -> Value:
        if rounding_mode == "floor":
            return self.elementwise("floordiv", [a, b])
        if rounding_mode is not None:
            raise Unsupported(f"a division that rounds by {rounding_mode}")
        return self.elementwise("div", [a, b])

    def remainder(self, a: Value, b: Any) -> Value:
        whole = self.elementwise("mul", [self.elementwise("floordiv", [a, b]), b])
        return self.elementwise("sub", [a, whole])

    def invert(self, x: Value) -> Value:
        return self.elementwise("sub", [-1, x]) if self.whole else self.elementwise("equal", [x, 0])

    def dropout(self, x: Value, _: float, train: bool) -> Value:
        if train:
            raise Unsupported("dropout; export the program after eval()")
        return x

    def call(self, name: str, args: Sequence[Any], keys: Dict[str, Any]) -> Any:
        """A value, or a list of values."""
        others: Dict[str, Callable[..., Any]] = {
            "linear": self.linear, "addmm": self.addmm, "mm": self.matmul, "bmm": self.matmul, "matmul": self.matmul,
            "softmax": self.softmax, "_softmax": self.softmax, "layer_norm": self.layer_norm, "rms_norm": self.rms_norm,
            "scaled_dot_product_attention": self.scaled_dot_product_attention, "expand": self.expand, "slice": self.slice,
            "split": self.split, "split_with_sizes": self.split, "chunk": self.chunk, "select": self.select, "pow": self.power,
            "narrow": lambda x, dim, start, length: self.slice(x, dim, start, start + length),
            "square": lambda x: self.power(x, 2), "rsub": lambda a, b: self.elementwise("sub", [b, a]),
            "expand_as": lambda x, like: self.expand(x, like.shape()),
            "cat": self.cat, "concat": self.cat, "stack": self.stack, "pad": self.pad, "roll": self.roll, "repeat": self.repeat,
            "conv2d": self.conv2d, "_scaled_mm": self.scaled_mm, "adaptive_avg_pool2d": self.adaptive_avg_pool2d,
            "avg_pool2d": lambda x, *a: self.pool("mean", x, *a), "max_pool2d": lambda x, *a: self.pool("amax", x, *a),
            "repeat_interleave": self.repeat_interleave,
            "max": lambda *a, **k: self.extremum("maximum", "amax", "argmax", *a, **k),
            "min": lambda *a, **k: self.extremum("minimum", "amin", "argmin", *a, **k),
            "view_as": lambda x, like: self.view("view", x, like.shape()), "type_as": lambda x, _: x,
            "logical_not": lambda x: self.elementwise("equal", [x, 0]), "bitwise_not": self.invert, "div": self.divide,
            "floor_divide": lambda a, b: self.divide(a, b, "floor"), "remainder": self.remainder,
            "sin": lambda x: self.elementwise("sin", [x]), "cos": lambda x: self.elementwise("cos", [x]),
            "cumsum": lambda x, dim, **_: self.along("cumsum", x, dim), "sort": self.sort, "topk": self.topk,
            "argsort": lambda *a, **k: self.sort(*a, **k)[1], "scatter": self.scatter,
            "tril": lambda x, diagonal=0: self.triangle("tril", x, diagonal),
            "triu": lambda x, diagonal=0: self.triangle("triu", x, diagonal), "masked_scatter": self.masked_scatter,
            "argmax": lambda x, dim=None, keepdim=False: self.place("argmax", x, dim, keepdim),
            "argmin": lambda x, dim=None, keepdim=False: self.place("argmin", x, dim, keepdim),
            "any": lambda x, dim=None, keepdim=False: self.truths("amax", x, dim, keepdim),
            "all": lambda x, dim=None, keepdim=False: self.truths("amin", x, dim, keepdim),
            "zeros_like": lambda x, **_: self.filled(x, 0), "ones_like": lambda x, **_: self.filled(x, 1),
            "full_like": lambda x, value, **_: self.filled(x, value), "empty_like": lambda x, **_: self.filled(x, 0),
            "meshgrid": self.grid, "unbind": lambda x, dim=0: [self.select(x, dim, at) for at in range(elements(x.axes[dim]))],
            "unsafe_chunk": self.chunk, "unsafe_split": self.split,
            "index_select": self.index_select, "index_copy": self.index_copy, "embedding": self.embedding,
            "index": self.index, "gather": self.gather,
            "flip": self.flip,
            "constant_pad_nd": lambda x, sizes, value=0: self.pad(x, sizes, "constant", value),
            "where": lambda which, a, b: self.elementwise("where", [which, a, b]),
            "masked_fill": lambda x, mask, value: self.elementwise("where", [mask, value, x]),
            "clamp": self.clamp, "hardtanh": lambda x, low=-1.0, high=1.0: self.clamp(x, low, high), "dropout": self.dropout,
        }
        args = [int(one) if isinstance(one, bool) and name in BINARY else one for one in args]
        name = name[:-1] if name.endswith("_") and name[:-1] in {*UNARY, *BINARY, *others} else name
        if name in TRUTHS:
            bits = {"__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor"}.get(name, name)
            return self.elementwise(bits if self.whole else TRUTHS[name], list(args))
        if name in SAME:
            return args[0]
        if name in VIEWS:
            return self.view(name, *args)
        if name in ("permute", "transpose", "t"):
            return self.permute(name, *args)
        if name in UNARY:
            return self.elementwise(UNARY[name], [args[0]])
        if name in BINARY:
            factor = keys.pop("alpha", 1)
            if keys:
                raise Unsupported(f"aten.{name} with options")
            if factor != 1:
                args = [args[0], self.elementwise("mul", [args[1], factor]) if isinstance(args[1], Value) else args[1] * factor]
            return self.elementwise(BINARY[name], list(args))
        if name in REDUCTIONS:
            dims = args[1] if len(args) > 1 else None
            dims = [dims] if isinstance(dims, int) else dims
            return self.reduce(REDUCTIONS[name], args[0], dims, args[2] if len(args) > 2 else keys.get("keepdim", False))
        if name in others:
            return others[name](*args, **keys)
        raise Unsupported(f"aten.{name}")
