# SPDX-License-Identifier: Apache-2.0
"""What the operations of PyTorch are as operations of a list: for each a method of Importer, by PyTorch's name or nearly so.

They are in one file because they call each other: a pad is a cat, a roll two slices and a cat.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from ._dimensions import Dim, ListWriter, Unsupported, Value, align_inner, axis, elements, flat, regroup, unify

UNARY = {"relu": "relu", "gelu": "gelu", "silu": "silu", "sigmoid": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log",
         "sqrt": "sqrt", "rsqrt": "rsqrt", "neg": "neg", "abs": "abs", "reciprocal": "reciprocal", "floor": "floor", "mish": "mish",
         "relu6": "relu6"}
BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "maximum", "minimum": "minimum", "eq": "equal",
          "ne": "notequal", "gt": "greaterthan", "ge": "greaterequal", "lt": "lesserthan", "le": "lesserequal"}
TRUTHS = {"logical_and": "mul", "logical_or": "maximum", "logical_xor": "notequal", "bitwise_and": "mul", "bitwise_or": "maximum",
          "bitwise_xor": "notequal", "__and__": "mul", "__or__": "maximum", "__xor__": "notequal"}
REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "amax", "amin": "amin", "prod": "prod"}
SAME = {"clone", "contiguous", "detach", "detach_", "alias", "to", "_to_copy", "lift_fresh_copy"}
VIEWS = {"view", "reshape", "_unsafe_view", "flatten", "unsqueeze", "squeeze", "unflatten"}


class Importer:
    def __init__(self, indices: Callable[[np.ndarray], Value]) -> None:
        self.list = ListWriter()
        self.indices = indices  # makes a tensor of them

    # Axes of PyTorch's broadcasting, and of both operands in them.
    def broadcast(self, values: Sequence[Value]) -> List[List[Dim]]:
        rank = max(len(value.axes) for value in values)
        axes: List[List[Dim]] = [[] for _ in range(rank)]
        for value in values:
            for place, one in enumerate(value.axes, rank - len(value.axes)):
                if not one:
                    continue
                if axes[place]:
                    unify(axes[place], one)
                else:
                    axes[place] = one
        return axes

    def elementwise(self, op: str, inputs: Sequence[Any], **keys: Any) -> Value:
        values = [one for one in inputs if isinstance(one, Value)]
        return self.list.append(op, inputs, self.broadcast(values), **keys)

    def reduce(self, op: str, x: Value, dims: Optional[Sequence[int]], keep: bool) -> Value:
        rank = len(x.axes)
        along = sorted({dim % rank for dim in dims}) if dims else list(range(rank))
        summed = [dim for place in along for dim in x.axes[place]]
        axes = [[] if place in along else one for place, one in enumerate(x.axes) if keep or place not in along]
        if not summed:
            return self.list.append("copy", [x], axes)
        if any(dim not in flat(x.dims) for dim in flat(summed)):
            raise Unsupported("a reduction along an expanded axis")
        return self.list.append(op, [x], axes, dim=summed)

    # a [.., M, K] by b [.., K, N].
    def matmul(self, a: Value, b: Value) -> Value:
        vector_a, vector_b = len(a.axes) == 1, len(b.axes) == 1
        if vector_a:
            a = a.of([[]] + a.axes)
        if vector_b:
            b = b.of(b.axes + [[]])
        b = self.list.rename(b, b.axes[-2], [dim for one in a.axes[:-1] for dim in one])
        unify(a.axes[-1], b.axes[-2])
        batch = self.broadcast([a.of(a.axes[:-2]), b.of(b.axes[:-2])])
        columns = b.axes[-1]
        b = self.list.rename(b, columns, [dim for one in a.axes for dim in one])
        columns = b.axes[-1]
        if not a.axes[-1]:
            product = self.elementwise("mul", [a, b])
        else:
            product = self.list.append("matmul", [a, b], batch + [a.axes[-2], columns], dim=a.axes[-1])
        # A residual makes the columns of the result the contracted dimension: the result has them under a name of its own.
        beside = [dim for value in (a, b) for one in value.axes for dim in one if dim not in columns]
        product = self.list.rename(product, columns, beside)
        axes = list(product.axes)
        if vector_b:
            del axes[-1]
        if vector_a:
            del axes[-1 if vector_b else -2]
        return product.of(axes)

    def linear(self, x: Value, weight: Value, bias: Optional[Value] = None) -> Value:
        y = self.matmul(x, weight.of([weight.axes[1], weight.axes[0]]))
        return self.elementwise("add", [y, bias]) if bias is not None else y

    def addmm(self, bias: Value, a: Value, b: Value, **_: Any) -> Value:
        return self.elementwise("add", [self.matmul(a, b), bias])

    def softmax(self, x: Value, dim: int, *_: Any, **__: Any) -> Value:
        if not x.axes[dim]:
            raise Unsupported("a softmax of one element")
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

    def scaled_dot_product_attention(self, q: Value, k: Value, v: Value, attn_mask: Optional[Value] = None, dropout_p: float = 0,
                                     is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False) -> Value:
        if enable_gqa:  # heads of q in groups, one for each head of k
            heads, groups = elements(k.axes[-3]), elements(q.axes[-3]) // elements(k.axes[-3])
            cut = regroup([q.axes[-3]], [heads, groups])
            if heads > 1:
                unify(cut[0], k.axes[-3])
                unify(k.axes[-3], v.axes[-3])
            batch = self.broadcast([one.of(one.axes[:-3]) for one in (q, k, v)]) + [q.axes[-3]]
        else:
            batch = self.broadcast([one.of(one.axes[:-2]) for one in (q, k, v)])
        unify(q.axes[-1], k.axes[-1])
        unify(k.axes[-2], v.axes[-2])
        beside = [dim for one in q.axes for dim in one]
        keys = k.axes[-2]
        k = self.list.rename(k, keys, beside)
        v = self.list.rename(v, keys, beside)
        unify(k.axes[-2], v.axes[-2])
        inputs: List[Any] = [q, k, v]
        if dropout_p:
            raise Unsupported("dropout")
        if attn_mask is not None:
            for place, one in ((-1, k.axes[-2]), (-2, q.axes[-2])):
                if attn_mask.axes[place]:
                    unify(one, attn_mask.axes[place])
            self.broadcast([attn_mask.of(attn_mask.axes[:-2]), q.of(batch)])
            inputs.append(attn_mask)
        keys_of: Dict[str, Any] = {"scale": scale} if scale is not None else {}
        if is_causal:
            keys_of["is_causal"] = q.axes[-2]
        return self.list.append("attention", inputs, batch + [q.axes[-2], v.axes[-1]], **keys_of)

    def view(self, name: str, x: Value, *args: Any) -> Value:
        shape = x.shape()
        if name == "flatten":
            start, end = (list(args) + [0, -1][len(args):])[:2]
            start, end = start % len(shape), end % len(shape)
            target = shape[:start] + [math.prod(shape[start:end + 1])] + shape[end + 1:]
        elif name == "unsqueeze":
            place = args[0] % (len(shape) + 1)
            return x.of(x.axes[:place] + [[]] + x.axes[place:])
        elif name == "squeeze":
            dims = range(len(shape)) if not args else [args[0]] if isinstance(args[0], int) else args[0]
            gone = {dim % len(shape) for dim in dims}
            return x.of([one for place, one in enumerate(x.axes) if place not in gone or elements(one) != 1])
        elif name == "unflatten":
            place = args[0] % len(shape)
            target = shape[:place] + list(args[1]) + shape[place + 1:]
        else:
            target = list(args[0])
        if -1 in target:
            target[target.index(-1)] = math.prod(shape) // -math.prod(target)
        return x.of(regroup(x.axes, target))

    def permute(self, name: str, x: Value, *args: Any) -> Value:
        order = list(range(len(x.axes)))
        if name == "permute":
            order = [dim % len(order) for dim in args[0]]
        else:
            one, other = args if name == "transpose" else (0, len(order) - 1)
            order[one], order[other] = order[other], order[one]
        return x.of([x.axes[dim] for dim in order])

    def expand(self, x: Value, shape: Sequence[int], *_: Any, **__: Any) -> Value:
        axes = [[] for _ in range(len(shape) - len(x.axes))] + x.axes
        return x.of([axis(size) if not one and size not in (-1, 1) else one for one, size in zip(axes, shape)])

    def slice(self, x: Value, dim: int = 0, start: Optional[int] = None, end: Optional[int] = None, step: int = 1) -> Value:
        size = elements(x.axes[dim])
        start = min(max((start or 0) + (size if (start or 0) < 0 else 0), 0), size)
        end = size if end is None else min(end + (size if end < 0 else 0), size)
        if step != 1:
            return self.index_select(x, dim, self.indices(np.arange(start, end, step)))
        if (start, end) == (0, size):
            return x
        source, axes = flat(x.axes[dim]), list(x.axes)
        inner = elements(source[1:])
        if start % inner or end % inner:
            raise Unsupported("a slice that cuts a dimension which a view has taken apart")
        if source[0] not in flat(x.dims):  # all of it is the same
            axes[dim] = axis((end - start) // inner) + source[1:]
            return x.of(axes)
        into = Dim((end - start) // inner)
        axes[dim] = ([into] if into.size != 1 else []) + source[1:]
        return self.list.slice(x, source[0], start // inner, into, axes)

    def split(self, x: Value, sizes: Any, dim: int = 0) -> List[Value]:
        size = elements(x.axes[dim])
        if isinstance(sizes, int):
            sizes = [min(sizes, size - start) for start in range(0, size, sizes)]
        starts = np.cumsum([0] + list(sizes)).tolist()
        return [self.slice(x, dim, start, end) for start, end in zip(starts, starts[1:])]

    def chunk(self, x: Value, count: int, dim: int = 0) -> List[Value]:
        return self.split(x, -(-elements(x.axes[dim]) // count), dim)

    def select(self, x: Value, dim: int, index: int) -> Value:
        index += elements(x.axes[dim]) if index < 0 else 0
        y = self.slice(x, dim, index, index + 1)
        return y.of([one for place, one in enumerate(y.axes) if place != dim % len(y.axes)])

    # `parts`: values, of which one is not a number, and numbers with the elements that they fill.
    def join(self, parts: Sequence[Any], dim: int) -> Value:
        values = [part for part in parts if isinstance(part, Value)]
        rank = len(values[0].axes)
        dim %= rank
        if len(parts) == 1:
            return values[0]
        axes = self.broadcast([one.of([axis for place, axis in enumerate(one.axes) if place != dim]) for one in values])
        along = [flat(one.axes[dim]) for one in values]
        for one in along[1:]:
            align_inner(along[0] or [Dim(1)], one or [Dim(1)])
        inner = flat(along[0])[1:]
        joined: List[Dim] = []
        for part in parts:
            size = elements(part.axes[dim]) if isinstance(part, Value) else part[1]
            if size % elements(inner) != 0:
                raise Unsupported("joining parts of a dimension that a view has taken apart")
            joined.append(flat(part.axes[dim])[0] if isinstance(part, Value) and part.axes[dim] else Dim(size // elements(inner)))
        into = Dim(sum(one.size for one in joined))
        inputs = [part if isinstance(part, Value) else part[0] for part in parts]
        return self.list.join(inputs, joined, into, axes[:dim] + [[into, *inner]] + axes[dim:])

    def cat(self, values: Sequence[Value], dim: int = 0) -> Value:
        return self.join([one for one in values if one.shape() != [0]], dim)

    def stack(self, values: Sequence[Value], dim: int = 0) -> Value:
        place = dim % (len(values[0].axes) + 1)
        return self.join([one.of(one.axes[:place] + [[]] + one.axes[place:]) for one in values], place)

    def pad(self, x: Value, sizes: Sequence[int], mode: str = "constant", value: Optional[float] = 0) -> Value:
        if mode != "constant":
            raise Unsupported(f"padding that is {mode}")
        for place in range(len(sizes) // 2):
            before, behind = sizes[2 * place:2 * place + 2]
            dim = len(x.axes) - 1 - place
            x = self.slice(x, dim, max(-before, 0), elements(x.axes[dim]) - max(-behind, 0))
            x = self.join([*[(value or 0, before)] * (before > 0), x, *[(value or 0, behind)] * (behind > 0)], dim)
        return x

    def roll(self, x: Value, shifts: Any, dims: Any = ()) -> Value:
        shifts = [shifts] if isinstance(shifts, int) else shifts
        dims = [dims] if isinstance(dims, int) else dims
        if not dims:
            return self.roll_all(x, len(x.axes), shifts[0])
        for shift, dim in zip(shifts, dims):
            size = elements(x.axes[dim])
            if shift % size:
                x = self.join([self.slice(x, dim, size - shift % size, size), self.slice(x, dim, 0, size - shift % size)], dim)
        return x

    # Of the elements of the first `rank` axes in their order: what leaves a row enters the next one.
    def roll_all(self, x: Value, rank: int, shift: int) -> Value:
        if rank == 1:
            return self.roll(x, shift, 0)
        size = elements(x.axes[rank - 1])
        rows, rest = divmod(shift, size)
        low = self.roll_all(x, rank - 1, rows)
        if rest == 0:
            return low
        high = self.roll_all(x, rank - 1, rows + 1)
        return self.join([self.slice(high, rank - 1, size - rest, size), self.slice(low, rank - 1, 0, size - rest)], rank - 1)

    def repeat_interleave(self, x: Value, times: int, dim: Optional[int] = None, **_: Any) -> Value:
        if not isinstance(times, int):
            raise Unsupported("repetitions by a tensor")
        if dim is None:
            x, dim = self.view("flatten", x), 0
        dim %= len(x.axes)
        return x.of(x.axes[:dim] + [x.axes[dim] + axis(times)] + x.axes[dim + 1:])

    # Of all elements, along one dimension, or of two tensors.
    def extremum(self, op: str, reduction: str, x: Value, *args: Any, **keys: Any) -> Any:
        if args and isinstance(args[0], Value):
            return self.elementwise(op, [x, args[0]])
        if args or keys:
            raise Unsupported("where the largest or smallest stands")
        return self.reduce(reduction, x, None, False)

    def index_select(self, x: Value, dim: int, index: Value) -> Value:
        dim %= len(x.axes)
        axes = x.axes[:dim] + index.axes + x.axes[dim + 1:]
        chosen = flat(x.axes[dim])
        if not set(chosen) & set(flat(x.dims)):  # all of it is the same
            return x.of(axes)
        if len(chosen) != 1:
            raise Unsupported("indices of a dimension that a view has taken apart")
        return self.list.append("index_select", [x, index], axes, dim=chosen)

    def index_copy(self, x: Value, dim: int, index: Value, source: Value) -> Value:
        dim %= len(x.axes)
        chosen, positions = flat(x.axes[dim]), flat(index.dims)
        if len(chosen) != 1 or len(positions) != 1:
            raise Unsupported("writing by indices along a dimension that has one element, or that a view has taken apart")
        x = self.list.spread(x)
        for place, (one, other) in enumerate(zip(x.axes, source.axes)):
            if place != dim:
                unify(one, other)
        if source.axes[dim]:
            unify(index.axes[0], source.axes[dim])
        else:  # one row
            source = self.list.join([source], [Dim(1)], positions[0], source.axes[:dim] + [positions] + source.axes[dim + 1:])
        source = self.list.spread(source)
        return self.list.append("index_copy", [x, index, source], x.axes, dim=chosen)

    def embedding(self, weight: Value, index: Value, *_: Any, **__: Any) -> Value:
        return self.index_select(weight, 0, index)

    def index(self, x: Value, indices: Sequence[Optional[Value]]) -> Value:
        given = [place for place, one in enumerate(indices) if one is not None]
        if len(given) != 1:
            raise Unsupported("indices of several dimensions")
        return self.index_select(x, given[0], indices[given[0]])

    def gather(self, x: Value, dim: int, index: Value, **_: Any) -> Value:
        dim %= len(x.axes)
        own = flat(index.dims)
        for place, one in enumerate(index.axes):
            if place != dim and (any(part in own for part in flat(one)) or elements(one) != elements(x.axes[place])):
                raise Unsupported("an index for each element; those of whole blocks are expanded")
        return self.index_select(x, dim, index.of([index.axes[dim]]))

    def flip(self, x: Value, dims: Sequence[int]) -> Value:
        for dim in dims:
            for place in range(len(flat(x.axes[dim]))):
                one = flat(x.axes[dim])[place]
                parts = x.of(x.axes[:dim % len(x.axes)] + [[part] for part in flat(x.axes[dim])] + x.axes[dim % len(x.axes) + 1:])
                turned = self.index_select(parts, dim % len(x.axes) + place, self.indices(np.arange(one.size)[::-1]))
                first, last = dim % len(x.axes), dim % len(x.axes) + len(flat(x.axes[dim]))
                x = turned.of(turned.axes[:first] + [flat(part for one in turned.axes[first:last] for part in one)] + turned.axes[last:])
        return x

    def repeat(self, x: Value, times: Sequence[int]) -> Value:
        axes = [[] for _ in range(len(times) - len(x.axes))] + x.axes
        return x.of([axis(count) + one for one, count in zip(axes, times)])

    # The last two axes as windows that do not overlap: [.., rows, in a window, columns, in a window].
    def windows(self, x: Value, kernel: Any, stride: Any, padding: Any = 0, dilation: Any = 1) -> Value:
        kernel, stride, padding, dilation = ([one] * 2 if isinstance(one, int) else list(one) * (3 - len(one))
                                             for one in (kernel, stride or kernel, padding, dilation))
        if any(padding) or any(size > 1 and (step != size or apart != 1) for size, step, apart in zip(kernel, stride, dilation)):
            raise Unsupported("windows that overlap, or with padding")
        first = len(x.axes) - 2
        for place in (0, 1):
            size = elements(x.axes[first + place])
            if kernel[place] == 1:
                x = self.slice(x, first + place, 0, size, stride[place])
            else:
                x = self.slice(x, first + place, 0, size - size % kernel[place])
        rows, columns = x.shape()[first:]
        return x.of(regroup(x.axes, x.shape()[:first] + [rows // kernel[0], kernel[0], columns // kernel[1], kernel[1]]))

    def conv2d(self, x: Value, weight: Value, bias: Optional[Value] = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
               groups: int = 1) -> Value:
        if groups != 1 or isinstance(padding, str):
            raise Unsupported("a convolution in groups, or with a padding by name")
        filters, _, *kernel = weight.shape()
        x = self.windows(x, kernel, stride, padding, dilation)
        batch, channels, rows, above, columns, beside = ([x.axes[:-5]] + x.axes[-5:])
        summed = [part for one in (channels, above, beside) for part in one]
        y = self.matmul(x.of([*batch, rows, columns, summed]), self.view("view", weight, [filters, -1]).of(
            [[part for one in weight.axes[1:] for part in one], weight.axes[0]]))
        y = self.elementwise("add", [y, bias]) if bias is not None else y
        return y.of(y.axes[:-3] + [y.axes[-1]] + y.axes[-3:-1])

    def pool(self, op: str, x: Value, kernel: Any, stride: Any = None, padding: Any = 0, *others: Any) -> Value:
        dilation = others[0] if op == "amax" and others else 1
        if any(other is True for other in others):
            raise Unsupported("windows beyond the edge")
        if op == "mean" and len(others) > 2 and others[2] is not None:
            raise Unsupported("a mean with a divisor of its own")
        x = self.windows(x, kernel, stride, padding, dilation)
        return self.reduce(op, x, [-3, -1], False)

    def adaptive_avg_pool2d(self, x: Value, size: Any) -> Value:
        if list([size] * 2 if isinstance(size, int) else size) != [1, 1]:
            raise Unsupported("adaptive pooling into several windows")
        return self.reduce("mean", x, [-2, -1], True)

    def power(self, x: Value, exponent: float) -> Value:
        if exponent == 2:
            return self.elementwise("mul", [x, x])
        if abs(exponent) == 0.5:
            return self.elementwise("sqrt" if exponent > 0 else "rsqrt", [x])
        raise Unsupported(f"a power of {exponent}")

    def clamp(self, x: Value, min: Optional[float] = None, max: Optional[float] = None) -> Value:  # noqa: A002, names of PyTorch
        return self.list.append("clip", [x], x.axes, min=-65504 if min is None else min, max=65504 if max is None else max)

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
            "cat": self.cat, "concat": self.cat, "stack": self.stack, "pad": self.pad, "roll": self.roll, "repeat": self.repeat, "conv2d": self.conv2d, "adaptive_avg_pool2d": self.adaptive_avg_pool2d,
            "avg_pool2d": lambda x, *a: self.pool("mean", x, *a), "max_pool2d": lambda x, *a: self.pool("amax", x, *a),
            "repeat_interleave": self.repeat_interleave,
            "max": lambda *a, **k: self.extremum("maximum", "amax", *a, **k),
            "min": lambda *a, **k: self.extremum("minimum", "amin", *a, **k),
            "view_as": lambda x, like: self.view("view", x, like.shape()), "type_as": lambda x, _: x,
            "logical_not": lambda x: self.elementwise("equal", [x, 0.0]), "bitwise_not": lambda x: self.elementwise("equal", [x, 0.0]),
            "unbind": lambda x, dim=0: [self.select(x, dim, at) for at in range(elements(x.axes[dim]))],
            "unsafe_chunk": self.chunk, "unsafe_split": self.split,
            "index_select": self.index_select, "index_copy": self.index_copy, "embedding": self.embedding, "index": self.index, "gather": self.gather,
            "flip": self.flip,
            "constant_pad_nd": lambda x, sizes, value=0: self.pad(x, sizes, "constant", value),
            "where": lambda which, a, b: self.elementwise("where", [which, a, b]),
            "masked_fill": lambda x, mask, value: self.elementwise("where", [mask, value, x]),
            "clamp": self.clamp, "hardtanh": lambda x, low=-1.0, high=1.0: self.clamp(x, low, high), "dropout": self.dropout,
        }
        name = name[:-1] if name.endswith("_") and name[:-1] in {*UNARY, *BINARY, *others} else name
        if name in TRUTHS:
            return self.elementwise(TRUTHS[name], list(args))
        if name in SAME:
            return args[0]
        if name in VIEWS:
            return self.view(name, *args)
        if name in ("permute", "transpose", "t"):
            return self.permute(name, *args)
        if name in UNARY:
            return self.elementwise(UNARY[name], [args[0]])
        if name in BINARY:
            if keys.pop("alpha", 1) != 1 or keys:  # as rounding_mode
                raise Unsupported(f"aten.{name} with options")
            return self.elementwise(BINARY[name], list(args))
        if name in REDUCTIONS:
            dims = args[1] if len(args) > 1 else None
            dims = [dims] if isinstance(dims, int) else dims
            return self.reduce(REDUCTIONS[name], args[0], dims, args[2] if len(args) > 2 else keys.get("keepdim", False))
        if name in others:
            return others[name](*args, **keys)
        raise Unsupported(f"aten.{name}")
