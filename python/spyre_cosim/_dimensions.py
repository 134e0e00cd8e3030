# SPDX-License-Identifier: Apache-2.0
"""Dimensions that no reshape of a program takes apart, and the list of operations that is written with them.

Tensors of PyTorch have axes, a list of operations has named dimensions. An axis is a list of dimensions, outermost first, and
empty if its size is 1: then a view only groups dimensions in another way, and moves nothing. Views that cut an axis cut its
dimension; operations on two tensors make their axes the same dimensions.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Optional, Sequence


class Unsupported(Exception):
    """What a list of operations cannot say."""


class Dim:
    def __init__(self, size: int) -> None:
        self.size = size
        self._same: Optional[Dim] = None
        self._parts: Optional[List[Dim]] = None

    def flat(self) -> List["Dim"]:
        if self._same is not None:
            return self._same.flat()
        if self._parts is not None:
            return flat(self._parts)
        return [self]

    def cut(self, inner: int) -> None:
        self._parts = [Dim(self.size // inner), Dim(inner)]

    def become(self, other: "Dim") -> None:
        self._same = other


Axis = List[Dim]


def flat(dims: Iterable[Dim]) -> Axis:
    return [part for dim in dims for part in dim.flat()]


def axis(size: int) -> Axis:
    return [Dim(size)] if size != 1 else []


def elements(dims: Iterable[Dim]) -> int:
    size = 1
    for dim in dims:
        size *= dim.size
    return size


def _pairs(first: Iterable[Dim], second: Iterable[Dim]) -> Iterable[tuple]:
    """Dimensions of both, innermost first, cut until they have the same sizes."""
    a, b = ([dim for dim in flat(dims) if dim.size != 1] for dims in (first, second))
    while a and b:
        if a[-1].size == b[-1].size:
            yield a.pop(), b.pop()
            continue
        large, small = (a, b) if a[-1].size > b[-1].size else (b, a)
        if large[-1].size % small[-1].size != 0:
            break
        dim = large.pop()
        dim.cut(small[-1].size)
        large.extend(dim.flat())
        a, b = flat(a), flat(b)
    if a or b:
        raise Unsupported(f"dimensions of {elements(flat(first))} and {elements(flat(second))} elements do not fit")


def align(first: Iterable[Dim], second: Iterable[Dim]) -> None:
    """Cuts both in the same places."""
    for _ in _pairs(list(first), list(second)):
        pass


def unify(first: Iterable[Dim], second: Iterable[Dim]) -> None:
    """Makes both the same dimensions."""
    for one, other in list(_pairs(list(first), list(second))):
        if one is not other and other.flat() != one.flat():
            other.become(one)


def align_inner(first: Iterable[Dim], second: Iterable[Dim]) -> None:
    """Makes all but the outermost dimensions of both the same."""
    a, b = flat(first), flat(second)
    while len(a) > 1 or len(b) > 1:
        if len(a) > 1 and len(b) > 1 and a[-1].size == b[-1].size:
            unify([a.pop()], [b.pop()])
            continue
        large, small = (a, b) if len(b) > 1 and (len(a) == 1 or a[-1].size > b[-1].size) else (b, a)
        if large[-1].size % small[-1].size != 0:
            raise Unsupported(f"parts of {large[-1].size} and {small[-1].size} elements of a dimension")
        dim = large.pop()
        dim.cut(small[-1].size)
        large.extend(dim.flat())


def regroup(axes: Sequence[Axis], shape: Sequence[int]) -> List[Axis]:
    """The axes of a view."""
    dims = flat(dim for one in axes for dim in one)
    groups: List[Axis] = []
    for size in shape:
        group: Axis = []
        while elements(group) < size:
            if not dims:
                raise Unsupported(f"a view of {list(shape)}")
            rest = size // elements(group)
            if dims[0].size > rest:
                if dims[0].size % rest != 0:
                    raise Unsupported(f"a view of {list(shape)} cuts a dimension of {dims[0].size}")
                whole = dims.pop(0)
                whole.cut(whole.size // rest)
                dims = whole.flat() + dims
            group.append(dims.pop(0))
        if elements(group) != size:
            raise Unsupported(f"a view of {list(shape)} cuts a dimension")
        groups.append(group)
    return groups


class Value:
    """A tensor of the list as the program sees it: `axes` may have dimensions that the tensor lacks, and broadcasts over."""

    def __init__(self, tensor: str, dims: Sequence[Dim], axes: Sequence[Axis]) -> None:
        self.tensor = tensor
        self.dims = list(dims)
        self.axes = [list(one) for one in axes]

    def shape(self) -> List[int]:
        return [elements(one) for one in self.axes]

    def of(self, axes: Sequence[Axis]) -> "Value":
        return Value(self.tensor, self.dims, axes)


class Rename:
    """`target` is `source` under another name, so that one tensor can have both; nothing where no tensor has both."""

    def __init__(self, operand: Value, source: Axis, beside: Sequence[Dim]) -> None:
        self.operand = operand
        self.source = source
        self.beside = list(beside)
        self.target = [Dim(dim.size) for dim in flat(source)]
        dims = flat(operand.dims)
        self.result = [self.target[flat(source).index(dim)] if dim in flat(source) else dim for dim in dims]

    def settle(self) -> None:
        align(self.source, self.target)
        others = set(flat(self.beside))
        if not others & set(flat(self.source)) and not others & set(flat(self.target)):
            unify(self.source, self.target)


class Part:
    """Parts of tensors, along `dims`, become or come from `into`: views may cut all of them in the same places only."""

    def __init__(self, dims: Iterable[Dim], into: Dim) -> None:
        self.dims = list(dims)
        self.into = into

    def settle(self) -> None:
        for dim in self.dims + self.dims[:1]:
            align_inner([dim], [self.into])

    def parts(self) -> int:
        return len(flat([*self.dims, self.into]))


class ListWriter:
    """Collects operations, and names their dimensions when all are known."""

    def __init__(self) -> None:
        self.tensors: Dict[str, Dict[str, Any]] = {}
        self.ops: List[Any] = []
        self._parts: List[Part] = []
        self._count = 0
        self.given_order: Dict[str, List[str]] = {}  # of tensors of which finish() has changed the order of dimensions

    def name(self, hint: str = "t") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def given(self, name: str, shape: Sequence[int], **keys: Any) -> Value:
        axes = [axis(size) for size in shape]
        dims = [dim for one in axes for dim in one]
        if "dtype" in keys and not dims:  # indices have a dimension
            dims = [Dim(1)]
        self.tensors[name] = {"dims": dims, **keys}
        return Value(name, dims, axes)

    def stick(self, x: Value, along: Sequence[Dim]) -> None:
        """Puts a dimension of a given tensor inside its sticks, so that slices of it begin with one."""
        if x.tensor in self.tensors and len(flat(along)) == 1:
            self.tensors[x.tensor]["stick"] = flat(along)

    def append(self, op: str, inputs: Sequence[Any], axes: Sequence[Axis], hint: str = "t", **keys: Any) -> Value:
        """`inputs`: values or numbers. The output has those dimensions of `axes` that some operand has."""
        output = self.name(hint)
        values = [one for one in inputs if isinstance(one, Value)]
        has = lambda: {dim for one in values for dim in flat(one.dims)}  # noqa: E731
        record = {"op": op, "inputs": list(inputs), "axes": [list(one) for one in axes], "output": output, "keys": keys,
                  "has": has}
        self.ops.append(record)
        dims = [dim for one in axes for dim in flat(one) if dim in has()]
        return Value(output, dims, axes)

    def slice(self, x: Value, source: Dim, start: int, into: Dim, axes: Sequence[Axis]) -> Value:
        """Elements of `source` from `start` on, as many as `into` has."""
        dims = [into if one is source else one for one in flat(x.dims)]
        part = Part([source], into)
        self._parts.append(part)
        output = self.name()
        self.ops.append({"op": "slice", "inputs": [x], "axes": [], "output": output, "keys": {"start": start}, "part": part})
        return Value(output, dims, axes)

    def join(self, inputs: Sequence[Any], joined: Sequence[Dim], into: Dim, axes: Sequence[Axis]) -> Value:
        """`inputs` one behind the other along `into`, each with its own dimension of `joined`; numbers, and values without it, fill
        that. `axes`: of the result, with `into`."""
        output = self.name()
        values = [one for one in inputs if isinstance(one, Value)]
        part = Part(joined, into)
        self._parts.append(part)
        outermost = lambda dims: {flat([dim])[0] for dim in dims}  # noqa: E731
        has = lambda: ({dim for one in values for dim in flat(one.dims)} - outermost(joined)) | set(flat([into]))  # noqa: E731
        self.ops.append({"op": "cat", "inputs": list(inputs), "axes": [list(one) for one in axes], "output": output, "keys": {},
                         "has": has, "part": part})
        return Value(output, [dim for one in axes for dim in flat(one) if dim in has()], axes)

    def ranks(self, op: str, x: Value, source: Dim, into: Dim, axes: Sequence[Axis]) -> Value:
        """The largest along `source`, or where they stand, as many as `into` has."""
        part = Part([source], into)
        self._parts.append(part)
        output = self.name()
        has = lambda: ({dim for dim in flat(x.dims)} - {flat([source])[0]}) | set(flat([into]))  # noqa: E731
        self.ops.append({"op": op, "inputs": [x], "axes": [list(one) for one in axes], "output": output, "keys": {}, "has": has,
                         "part": part})
        return Value(output, [dim for one in axes for dim in flat(one) if dim in has()], axes)

    def spread(self, value: Value) -> Value:
        """`value`, of which no dimension is a repetition."""
        dims = flat(value.dims)
        for dim in flat(dim for one in value.axes for dim in one):
            if dim in dims:
                continue
            dims.append(dim)
            whole = self.join([value], [Dim(dim.size)], dim, [[part for part in flat(one) if part in dims] for one in value.axes])
            value = Value(whole.tensor, whole.dims, value.axes)
        return value

    def rename(self, operand: Value, source: Axis, beside: Sequence[Dim]) -> Value:
        """`operand` with other dimensions for `source`, if `beside` has those as well."""
        rename = Rename(operand, source, beside)
        output = self.name("r")
        self.ops.append((rename, output))
        where = flat(source)
        axes = [[rename.target[where.index(dim)] if dim in where else dim for dim in flat(one)] for one in operand.axes]
        return Value(output, rename.result, axes)

    # Of a weight in several dimensions, the rows that a matmul reads one after the other follow each other on the device if the dimension
    # that the matmul sums over along its first operand's sticks is the outermost of the host.
    def order_weights(self, tensors: List[Dict[str, Any]], ops: List[Dict[str, Any]], sizes: Dict[str, int]) -> None:
        readers: Dict[str, List[Dict[str, Any]]] = {}
        for op in ops:
            for one in op["inputs"]:
                readers.setdefault(one, []).append(op)
        for tensor in tensors:
            of = readers.get(tensor["name"], [])
            if len(tensor["dims"]) < 3 or "file" not in tensor or len(of) != 1 or of[0]["op"] != "matmul" or of[0]["inputs"][1] != tensor["name"]:
                continue
            summed = of[0]["dim"] if isinstance(of[0]["dim"], list) else [of[0]["dim"]]
            first = ([dim for dim in summed if sizes[dim] % 64 == 0] or summed)[-1]
            self.given_order[tensor["name"]] = tensor["dims"]
            tensor["dims"] = [first] + [dim for dim in tensor["dims"] if dim != first]

    def finish(self, outputs: Sequence[Value]) -> Dict[str, Any]:
        renames = [op[0] for op in self.ops if isinstance(op, tuple)]
        before = -1
        while before != (now := sum(part.parts() for part in self._parts) + sum(len(flat(one.target)) for one in renames)):
            before = now
            for rename in renames:
                align(rename.source, rename.target)
            for part in self._parts:
                part.settle()
        for rename in renames:
            rename.settle()
        names: Dict[Dim, str] = {}

        def named(dims: Iterable[Dim]) -> List[str]:
            parts = flat(dims)
            if len(set(parts)) != len(parts):
                raise Unsupported("a tensor that has a dimension twice")
            return [names.setdefault(dim, f"d{len(names)}") for dim in parts]

        tensors = []
        for name, given in self.tensors.items():
            keys = {key: named(value)[0] if key == "stick" else value for key, value in given.items() if key != "dims"}
            tensors.append({"name": name, "dims": named(given["dims"]), **keys})
        ops: List[Dict[str, Any]] = []
        called: Dict[str, str] = {}
        text = lambda one: called.get(one.tensor, one.tensor) if isinstance(one, Value) else one  # noqa: E731
        for op in self.ops:
            if isinstance(op, tuple):
                rename, output = op
                last = text(rename.operand)
                for number, (source, target) in enumerate(zip(flat(rename.source), flat(rename.target))):
                    if source is target:
                        continue
                    name = f"{output}_{number}"
                    ops.append({"op": "slice", "inputs": [last], "dim": named([source])[0], "start": 0,
                                "into": named([target])[0], "output": name})
                    last = name
                called[output] = last
                continue
            record: Dict[str, Any] = {"op": op["op"], "inputs": [text(one) for one in op["inputs"]], "output": op["output"]}
            if "part" in op:
                dims = [named([flat([dim])[0]])[0] for dim in op["part"].dims]
                record["dim"] = dims if op["op"] == "cat" else dims[0]
                record["into"] = named([flat([op["part"].into])[0]])[0]
            for key, value in op["keys"].items():
                if key == "start":
                    inner = elements(flat([op["part"].into])[1:])
                    if value % inner != 0:
                        raise Unsupported(f"a slice from {value} on of a dimension that is cut into parts of {inner}")
                    value //= inner
                elif key == "is_causal":  # names one dimension
                    value = named(value)[0]
                elif key == "dim":
                    value = named(value)
                    value = value[0] if len(value) == 1 else value
                record[key] = value
            if op["op"] != "slice":
                has = op["has"]()
                record["dims"] = named(dim for one in op["axes"] for dim in flat(one) if dim in has)
                if not record["dims"]:
                    del record["dims"]
            ops.append(record)
        self.order_weights(tensors, ops, {name: dim.size for dim, name in names.items()})
        used = {one for op in ops for one in op["inputs"]}
        tensors = [tensor for tensor in tensors if tensor["name"] in used]
        text_of = json.dumps([tensors, ops])
        sizes = {name: dim.size for dim, name in names.items() if f'"{name}"' in text_of}
        return {"dims": sizes, "tensors": tensors, "ops": ops, "outputs": [text(one) for one in outputs]}
