# SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch that move elements, as operations of a list: views, slices, joins. They call each other: a pad is a cat, a roll
two slices and a cat.
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, Optional, Sequence

import numpy as np

from ._dimensions import Dim, ListWriter, Unsupported, Value, align_inner, axis, elements, flat, regroup, unify


class Moves:
    def __init__(self, constant: Callable[[np.ndarray], Value]) -> None:
        self.list = ListWriter()
        self.constant = constant  # makes a tensor of it
        self.whole = False  # whether the operation at hand gives integers

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
            x = self.list.spread(x)  # an expanded axis
        return self.list.append(op, [x], axes, dim=summed)

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
            return self.index_select(x, dim, self.constant(np.arange(start, end, step)))
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

    # Each along its own axis of all.
    def grid(self, values: Sequence[Value], indexing: str = "ij") -> List[Value]:
        order = list(range(len(values)))
        if indexing == "xy":
            order[:2] = order[:2][::-1]
        sizes = [elements(values[place].axes[0]) if values[place].axes else 1 for place in order]
        return [self.expand(one.of([one.axes[0] if place == at and one.axes else [] for place in order]), sizes)
                for at, one in enumerate(values)]

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

    def repeat(self, x: Value, times: Sequence[int]) -> Value:
        axes = [[] for _ in range(len(times) - len(x.axes))] + x.axes
        return x.of([axis(count) + one for one, count in zip(axes, times)])
