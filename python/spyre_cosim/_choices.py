# SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch that choose, order and compare elements along a dimension, as operations of a list."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import numpy as np

from ._dimensions import Dim, Unsupported, Value, elements, flat, unify
from ._moves import Moves


MOST_OF_A_TABLE = 2 ** 29  # elements, of which each of at least four cores reaches at most 256 MiB
MOST_POSITIONS = 1024  # that SEN169_FP16 has


class Choices(Moves):
    # Of all elements, along one dimension, or of two tensors.
    def extremum(self, op: str, reduction: str, place: str, x: Value, *args: Any, **keys: Any) -> Any:
        if args and isinstance(args[0], Value):
            return self.elementwise(op, [x, args[0]])
        if not args and not keys:
            return self.reduce(reduction, x, None, False)
        dim, keep = (*args, *keys.values(), False)[:2]
        return [self.reduce(reduction, x, [dim], keep), self.place(place, x, dim, keep)]

    def truths(self, reduction: str, x: Value, dim: Any, keep: bool) -> Value:
        return self.reduce(reduction, x, [dim] if isinstance(dim, int) else dim, keep)

    def filled(self, x: Value, value: Any) -> Value:
        shape = x.shape()
        one = self.constant(np.full([1] * len(shape), value, np.int32 if self.whole else np.float16))
        return self.expand(one, shape)

    # Whole, and with its dimensions in the order of its axes.
    def ordered(self, x: Value) -> Value:
        x = self.list.spread(x)
        dims = flat(dim for one in x.axes for dim in one)
        return x if [one for one in flat(x.dims) if one.size != 1] == dims else self.list.append("copy", [x], x.axes)

    def along(self, op: str, x: Value, dim: int) -> Value:
        x = self.ordered(x)
        one = flat(x.axes[dim])
        if len(one) > 1:
            raise Unsupported(f"{op} along a dimension that a view has taken apart")
        if not one:
            return x if op != "argsort" else self.filled_whole(x)
        return self.list.append(op, [x], x.axes, dim=one)

    def filled_whole(self, x: Value) -> Value:
        return self.expand(self.constant(np.zeros([1] * len(x.axes), np.int32)), x.shape())

    def sort(self, x: Value, dim: int = -1, descending: bool = False, **_: Any) -> List[Value]:
        if descending:  # of equal ones, the first is the first
            x = self.elementwise("neg", [x])
        values = self.along("sort", x, dim)
        return [self.elementwise("neg", [values]) if descending else values, self.along("argsort", x, dim)]

    # Values, and where they stand. Positions of more rows would be rounded in float16: the host finds them.
    def topk(self, x: Value, k: int, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> List[Value]:
        dim %= len(x.axes)
        x = self.ordered(x)
        if not flat(x.axes[dim]):
            return [x, self.filled_whole(x)]
        if len(flat(x.axes[dim])) != 1:
            raise Unsupported("the largest along a dimension that a view has taken apart")
        if not largest:
            x = self.elementwise("neg", [x])
        source, into = flat(x.axes[dim])[0], Dim(k)
        axes = x.axes[:dim] + [[into]] + x.axes[dim + 1:]
        values = self.list.ranks("topkvalue", x, source, into, axes)
        if source.size <= MOST_POSITIONS:
            places = self.list.ranks("topkindex", x, source, into, axes)
            places = self.list.append("convert", [places], places.axes, dtype="int32")
        else:
            places = self.slice(self.sort(x, dim, True)[1], dim, 0, k)
        return [values if largest else self.elementwise("neg", [values]), places]

    def triangle(self, op: str, x: Value, diagonal: int) -> Value:
        x = self.ordered(x)
        rows, columns = flat(x.axes[-2]), flat(x.axes[-1])
        if len(rows) != 1 or len(columns) != 1:
            raise Unsupported("a triangle of one row or column, or of dimensions that views have taken apart")
        return self.list.append(op, [x], x.axes, dim=rows + columns, diagonal=diagonal)

    # Where the first of the largest or smallest stands.
    def place(self, op: str, x: Value, dim: Optional[int], keep: bool) -> Value:
        x = self.ordered(x)
        rank = len(x.axes)
        gone = range(rank) if dim is None else [dim % rank]
        axes = [[] if place in gone else one for place, one in enumerate(x.axes) if keep or place not in gone]
        along = [one for place in gone for one in flat(x.axes[place])]
        if not along:
            return self.filled_whole(x).of(axes)
        return self.list.append(op, [x], axes, dim=along)

    # By an index for each element: the host does it.
    def scatter(self, x: Value, dim: int, index: Value, source: Any) -> Value:
        x, index = self.list.spread(x), self.list.spread(index)
        dim %= len(x.axes)
        index = self.same_beside(x, index, dim)
        chosen = flat(x.axes[dim])
        if len(chosen) != 1:
            raise Unsupported("writing along a dimension that has one element, or that a view has taken apart")
        if isinstance(source, Value):
            if source.shape() != index.shape():
                raise Unsupported("a source that is larger than its indices")
            source = self.list.rename(source, source.axes[dim], flat(dim for one in x.axes for dim in one))
            for one, other in zip(index.axes, source.axes):
                unify(one, other)
        return self.list.append("scatter", [x, index, source], x.axes, dim=chosen)

    # Indices that have the dimensions of x, but for the one that they choose along: that is their own.
    def same_beside(self, x: Value, index: Value, dim: int) -> Value:
        index = self.list.rename(index, index.axes[dim], flat(part for one in x.axes for part in one))
        for place, (one, other) in enumerate(zip(x.axes, index.axes)):
            if place == dim:
                continue
            if elements(one) != elements(other):
                raise Unsupported("indices for a part of the elements")
            unify(one, other)
        return index

    # Rows of the source, in order, where the mask is true for whole rows of x: as torch-spyre does it.
    def masked_scatter(self, x: Value, mask: Value, source: Value) -> Value:
        mask = mask.of([[] for _ in range(len(x.axes) - len(mask.axes))] + mask.axes)
        width = elements(x.axes[-1])
        if elements(mask.axes[-1]) != 1 and flat(mask.axes[-1])[0] in flat(mask.dims):
            raise Unsupported("a mask of single elements")
        rows = mask.of([*mask.axes[:-1], []])
        if [len(flat(one)) for one in rows.axes if one] != [1] or elements(source.axes[-1]) != width:
            raise Unsupported("a mask of rows in several dimensions")
        dim = next(place for place, one in enumerate(rows.axes) if one)
        count = self.list.append("convert", [rows], rows.axes, dtype="int32")
        count = self.list.append("cumsum", [count], rows.axes, dim=flat(rows.axes[dim]))
        first = self.elementwise("maximum", [self.elementwise("sub", [count, 1]), 0])
        table = source.of([one for one in source.axes if one])
        if len(table.axes) != 2:
            raise Unsupported("rows of a source in several dimensions")
        chosen = self.index_select(table, 0, first.of([first.axes[dim]]))
        chosen = chosen.of([chosen.axes[0] if place == dim else [] for place in range(len(x.axes) - 1)] + [chosen.axes[-1]])
        return self.elementwise("where", [rows, chosen, x])

    def index_select(self, x: Value, dim: int, index: Value) -> Value:
        dim %= len(x.axes)
        index = self.list.rename(index, flat(index.dims), flat(part for one in x.axes for part in one))
        axes = x.axes[:dim] + index.axes + x.axes[dim + 1:]
        chosen = flat(x.axes[dim])
        if not set(chosen) & set(flat(x.dims)):  # all of it is the same
            return x.of(axes)
        if len(chosen) != 1:
            raise Unsupported("indices of a dimension that a view has taken apart")
        if elements(flat(x.dims)) > MOST_OF_A_TABLE and chosen[0].size > 1:
            return self.select_in_halves(x, dim, index, axes)
        return self.list.append("index_select", [x, index], axes, dim=chosen)

    # Of a table that the cores cannot copy: each half by the indices that are in it, and by its first or last one elsewhere.
    def select_in_halves(self, x: Value, dim: int, index: Value, axes: Sequence[Any]) -> Value:
        size = elements(x.axes[dim])
        half = size // 2
        below = self.elementwise("minimum", [index, half - 1])  # an index that is below 0 or too large stays so
        above = self.elementwise("maximum", [self.elementwise("sub", [index, half]), 0])
        first = self.index_select(self.slice(x, dim, 0, half), dim, below)
        second = self.index_select(self.slice(x, dim, half, size), dim, above)
        in_first = self.elementwise("lesserthan", [index, half])
        in_first = in_first.of([[]] * dim + in_first.axes + [[]] * (len(axes) - dim - len(in_first.axes)))
        return self.elementwise("where", [in_first, first, second])

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
        beside = [place for place in range(len(x.axes)) if place != dim]
        if all(elements(index.axes[place]) == elements(x.axes[place]) and not set(flat(index.axes[place])) & set(own)
               for place in beside):  # indices of whole blocks, expanded
            return self.index_select(x, dim, index.of([index.axes[dim]]))
        x, index = self.list.spread(x), self.list.spread(index)
        index = self.same_beside(x, index, dim)
        chosen = flat(x.axes[dim])
        if not chosen:
            return x.of(x.axes[:dim] + [index.axes[dim]] + x.axes[dim + 1:])
        if len(chosen) != 1:
            raise Unsupported("indices of a dimension that a view has taken apart")
        return self.list.append("gather", [x, index], index.axes, dim=chosen)

    def flip(self, x: Value, dims: Sequence[int]) -> Value:
        for dim in dims:
            for place in range(len(flat(x.axes[dim]))):
                one = flat(x.axes[dim])[place]
                parts = x.of(x.axes[:dim % len(x.axes)] + [[part] for part in flat(x.axes[dim])] + x.axes[dim % len(x.axes) + 1:])
                turned = self.index_select(parts, dim % len(x.axes) + place, self.constant(np.arange(one.size)[::-1]))
                first, last = dim % len(x.axes), dim % len(x.axes) + len(flat(x.axes[dim]))
                x = turned.of(turned.axes[:first] + [flat(part for one in turned.axes[first:last] for part in one)] + turned.axes[last:])
        return x
