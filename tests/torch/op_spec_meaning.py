# SPDX-License-Identifier: Apache-2.0
"""What a program that torch-spyre has compiled computes by its OpSpecs, in float64.

An OpSpec says which points an operation walks, how they are divided over cores, and for each operand where in device memory or in a core's LX
the element of a point is. This file reads them with NumPy, point by point and operand by operand, and shares nothing with the card, the compiler
of bundles or their reference. Where the card's numbers are those of the OpSpecs and not those of PyTorch, torch-spyre has compiled the program
into another one: it reads a tensor's padding as data, or an LX that another core has written.

What nothing was written to is NaN here: such elements may have any value on the card.
"""
import json
import math
import pathlib

import numpy as np
import sympy

BYTES_OF_STICK = 128
BYTES_OF_LX = 1 << 21


class NotRead(Exception):
    """The OpSpecs have something that this file does not read."""


class Impossible(Exception):
    """The OpSpecs ask for what no vector unit does, so that torch-spyre describes something else to the compiler of bundles."""


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


ELEMENTWISE = {
    "identity": lambda a: a, "ReStickifyOpHBM": lambda a: a, "dl16tofp32": lambda a: a, "fp32todl16": lambda a: a,
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "gelufwd": gelu,
    "rsqrt": lambda a: 1 / np.sqrt(a), "reciprocal": lambda a: 1 / a, "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "silu": lambda a: a / (1 + np.exp(-a)), "relufwd": lambda a: np.maximum(a, 0),
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "realdiv": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    **{name: lambda a, b, function=function: np.where(np.isnan(a + b), np.nan, function(a, b))
       for name, function in {"greaterthan": np.greater, "lesserthan": np.less, "greaterequal": np.greater_equal, "lesserequal": np.less_equal,
                              "equal": np.equal, "notequal": np.not_equal}.items()},
    "where3": lambda c, a, b: np.where(np.isnan(c), np.nan, np.where(c != 0, a, b)),
}
REDUCTIONS = {"sum": (np.add, 0.0), "mean": (np.add, 0.0), "max": (np.maximum, -np.inf), "min": (np.minimum, np.inf), "prod": (np.multiply, 1.0),
              "batchmatmul": (np.add, 0.0), "exx2": (np.add, 0.0)}


def evaluate(expression, values, indirect):
    """The integers of a coordinate at each point."""
    names = {}
    for number, access in enumerate(sorted((one for one in expression.atoms(sympy.Function) if type(one).__name__ == "IndirectAccess"), key=str)):
        symbol = sympy.Symbol(f"indirect_{number}")
        expression = expression.subs(access, symbol)
        names[symbol] = indirect[str(access.args[0])]
    names.update(values)
    symbols = sorted(expression.free_symbols, key=str)
    function = sympy.lambdify(symbols, expression, modules=[{"floor": np.floor, "Mod": np.mod}, "numpy"])
    return np.rint(function(*(names[symbol] for symbol in symbols))).astype(np.int64)


def places_of(layout, tensor):
    """For each element of a tensor, in order, its position in device memory: device_size and stride_map of a SpyreTensorLayout."""
    sizes, strides = list(layout.device_size), list(layout.stride_map)
    position = np.zeros(tuple(tensor.shape), dtype=np.int64)
    steps = [math.prod(sizes[at + 1:]) for at in range(len(sizes))]
    used = set()
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if size == 1:
            continue
        index = np.arange(size)
        if stride == strides[-1] and len(sizes) - 1 not in used:  # in the sticks
            used.add(len(sizes) - 1)
            part = index % sizes[-1]
            for at, (count, of) in enumerate(zip(sizes[:-1], strides[:-1])):
                if at not in used and of == stride * sizes[-1] and count == -(-size // sizes[-1]):
                    used.add(at)
                    part = part + index // sizes[-1] * steps[at]
                    break
            else:
                if size > sizes[-1]:
                    raise NotRead(f"layout {layout} of {tuple(tensor.shape)}")
        else:
            at = next((at for at, (count, of) in enumerate(zip(sizes[:-1], strides[:-1])) if at not in used and of == stride and count >= size), None)
            if at is None:
                raise NotRead(f"layout {layout} of {tuple(tensor.shape)}")
            used.add(at)
            part = index * steps[at]
        position = position + part.reshape([-1 if one == dim else 1 for one in range(tensor.dim())])
    return position


class Memory:
    """Device memory of each argument and of the pool, and every core's LX; two planes, for the pairs of numbers that exx2 makes."""

    def __init__(self, tensors, layouts, pool_bytes):
        self.places = [places_of(layout, tensor) for layout, tensor in zip(layouts, tensors)]
        self.arguments = []
        for tensor, layout, places in zip(tensors, layouts, self.places):
            memory = np.full((2, math.prod(layout.device_size)), np.nan)
            memory[0][places] = tensor.double().numpy()
            self.arguments.append(memory)
        self.pool = np.full((2, pool_bytes), np.nan)
        self.lx = {}

    def of(self, argument, position, core):
        """(array, index) of the elements at `position` in the operand."""
        width = BYTES_OF_STICK // argument.device_size[-1]
        if "hbm" in argument.allocation:
            return self.arguments[argument.arg_index], position
        if "hbm_pool" in argument.allocation:
            return self.pool, argument.allocation["hbm_pool"] + position * width
        if "lx" in argument.allocation:
            place = argument.allocation["lx"] + position * width
            if place.size and place.max() >= BYTES_OF_LX:
                raise NotRead("beyond LX")
            return self.lx.setdefault(core, np.full((2, BYTES_OF_LX), np.nan)), place
        raise NotRead(f"allocation {argument.allocation}")


def slots_of_cores(spec, described):
    """[core] -> the slice that it has of each symbol that is divided. torch-spyre writes it beside its own names of the dimensions, in order."""
    divided = [(symbol, int(slices)) for symbol, (_, slices) in spec.iteration_space.items() if int(slices) > 1]
    names = [(name, slices) for name, slices in described["numWkSlicesPerDim_"].items() if slices > 1]
    if [slices for _, slices in names] != [slices for _, slices in divided]:
        raise NotRead("the bundle divides other dimensions than the OpSpec")
    given = described["coreIdToWkSlice_"]
    return [{symbol: given[str(core)][name] for (symbol, _), (name, _) in zip(divided, names)} for core in range(len(given))]


def rounded(values):
    """To as many digits as a number of the card has."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.round(fraction * 1024) / 1024, exponent)


def run(spec, described, memory, rounds):
    sizes = [int(size) for size, _ in spec.iteration_space.values()]
    symbols = list(spec.iteration_space)
    grid = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), dtype=np.int64)
    division = dict(zip(symbols, (slices for _, slices in spec.iteration_space.values())))
    owners = slots_of_cores(spec, described)
    points = dict(zip(symbols, grid))
    count = grid.shape[1]
    constants = spec.op_info.get("constants", {})
    sticks = {str(one.device_coordinates[-1].free_symbols.pop()): int(one.device_size[-1]) for one in spec.args if one.device_coordinates[-1].free_symbols}

    def owned(slices, slots):
        """The points of a core that has these of the slices."""
        mask = np.ones(count, dtype=bool)
        for symbol, size in zip(symbols, sizes):
            parts = int(slices.get(symbol, 1))
            whole = sticks.get(str(symbol), 1)  # elements that stay together
            if parts > 1:
                mask &= points[symbol] // (-(-size // whole // parts) * whole) == slots[symbol]
        return np.flatnonzero(mask)

    def cores_of(argument):
        """(core, points) pairs that cover all points, as the operand is divided."""
        if argument is not None and argument.work_division is not None:
            slots = argument.work_division.to_core_slices(len(owners))
            slices = argument.work_division.work_slices
            return [(core, owned(slices, {symbol: slots[str(core)][str(symbol)] for symbol in slices})) for core in range(len(owners))]
        return [(core, owned(division, slots)) for core, slots in enumerate(owners)]

    def coordinates(argument, indirect):
        return [np.broadcast_to(evaluate(sympy.sympify(one), points, indirect), (count,)) for one in argument.device_coordinates]

    def access(argument, indirect):
        """(core, points, array, index) for each part of the operand."""
        at = coordinates(argument, indirect)
        for one, size in zip(at, argument.device_size):
            if one.size and one.max() >= int(size):
                raise Impossible(f"{spec.op} reaches {one.max()} of {size} in {[str(one) for one in argument.device_coordinates]}")
        if "lx" not in argument.allocation:
            position = np.zeros(count, dtype=np.int64)
            for one, size in zip(at, argument.device_size):
                position = position * int(size) + one
            yield (None, np.arange(count), *memory.of(argument, position, None))
            return
        for core, own in cores_of(argument):
            if not own.size:
                continue
            position = np.zeros(own.size, dtype=np.int64)
            for number, one in enumerate(at):
                last = number == len(at) - 1
                low = 0 if last else one[own].min()
                extent = int(argument.device_size[-1]) if last else one[own].max() - low + 1
                position = position * extent + one[own] - low
            yield (core, own, *memory.of(argument, position, core))

    def read(argument, indirect=None):
        values = np.full((2, count), np.nan)
        for _, own, array, index in access(argument, indirect or {}):
            if index.size and (index.min() < 0 or index.max() >= array.shape[1]):
                raise NotRead("reads beyond its operand")
            values[:, own] = array[:, index]
        return values

    indices = {one.name: np.nan_to_num(read(one)[0]) for one in spec.args if one.name is not None and one.is_input}
    indirect = {name: value for name, value in indices.items()
                if any(name in str(coordinate) for one in spec.args for coordinate in one.device_coordinates)}
    inputs = [read(one, indirect) for one in spec.args if one.is_input and one.name not in indirect]
    outputs = [one for one in spec.args if not one.is_input]
    if len(outputs) != 1:
        raise NotRead(f"{len(outputs)} results")
    with np.errstate(all="ignore"):
        if spec.op in ELEMENTWISE:
            result = np.stack([ELEMENTWISE[spec.op](*(one[0] for one in inputs)), np.full(count, np.nan)])
        elif spec.op == "clip":
            result = np.stack([np.clip(inputs[0][0], constants["clipMin"], constants["clipMax"]), inputs[0][1]])
        elif spec.op == "batchmatmul":
            result = np.stack([inputs[0][0] * inputs[1][0], np.full(count, np.nan)])
        elif spec.op == "exx2":
            result = np.stack([inputs[0][0] * constants["exx2scale"], inputs[0][0] ** 2 * constants["exx2scale"]])
        elif spec.op == "layernormscale":
            mean, square = inputs[0]
            result = np.stack([1 / np.sqrt(square - mean * mean + constants["eps"]), np.full(count, np.nan)])
        elif spec.op == "layernormnorm":
            x, mean, scale, weight, bias = (one[0] for one in inputs)
            result = np.stack([(x - mean) * scale * weight + bias, np.full(count, np.nan)])
        elif spec.op in REDUCTIONS:
            result = np.stack([inputs[0][0] * (constants.get("scaling_factor", 1.0) if spec.op == "mean" else 1.0), np.full(count, np.nan)])
        else:
            raise NotRead(f"operation {spec.op}")
        if rounds and spec.op not in REDUCTIONS:
            result = rounded(result)
        for _, own, array, index in access(outputs[0], indirect):
            if index.size and (index.min() < 0 or index.max() >= array.shape[1]):
                raise NotRead("writes beyond its operand")
            if spec.op in REDUCTIONS:
                function, first = REDUCTIONS[spec.op]
                array[:, index] = first
                for plane in (0, 1):
                    function.at(array[plane], index, result[plane][own])
                if rounds:
                    array[:, index] = rounded(array[:, index])
            else:
                array[:, index] = result[:, own]


CHANGES_STICKS = {"ReStickifyOpHBM", "batchmatmul", "exx2", "layernormscale", "layernormnorm", "dl16tofp32", "fp32todl16"} | set(REDUCTIONS)


def check_sticks(spec):
    """What goes element by element through a stick has the same elements of it in the result and in each operand that is not the same number
    for all of them. Raises Impossible."""
    if spec.op in CHANGES_STICKS:
        return
    within = [str(one.device_coordinates[-1]) for one in spec.args if one.name is None]
    if any(one not in ("0", within[-1]) for one in within[:-1]):
        raise Impossible(f"{spec.op} of elements {within[:-1]} of sticks into {within[-1]}")


def computed(kernel_directory, specs, tensors, layouts, pool_bytes, rounds=False):
    """{argument: what it holds afterwards, as float64 of its shape} of those that are written; if `rounds`, each operation's result
    has as many digits as on the card. Raises NotRead, Impossible."""
    memory = Memory(tensors, layouts, pool_bytes)
    for number, spec in enumerate(specs):
        if not hasattr(spec, "iteration_space"):
            raise NotRead(type(spec).__name__)
        check_sticks(spec)
        described = json.loads((pathlib.Path(kernel_directory) / f"sdsc_{number}.json").read_text())
        run(spec, next(iter(described.values())), memory, rounds)
    written = {one.arg_index for spec in specs for one in spec.args if not one.is_input and "hbm" in one.allocation}
    return {number: memory.arguments[number][0][memory.places[number]] for number in written}


class Watch:
    """Within `with Watch() as watch:` every launch is compared with its OpSpecs. differences: a text for each argument that differs; imprecise:
    whether rounding after each operation makes more than 2 % of the largest number."""

    def __init__(self):
        self.launches = 0
        self.differences = []
        self.imprecise = False

    def __enter__(self):
        from torch_spyre.execution.async_compile import SpyreAsyncCompile
        self.kept = SpyreAsyncCompile.sdsc
        watch = self

        def sdsc(compiler, kernel_name, specs, pool_size=0):
            runner = watch.kept(compiler, kernel_name, specs, pool_size=pool_size)
            launch = runner.run

            def compared(*tensors, **keywords):
                from torch_spyre._C import get_spyre_tensor_layout
                layouts = [get_spyre_tensor_layout(one) for one in tensors]
                before = [one.cpu() for one in tensors]
                launch(*tensors, **keywords)
                watch.launches += 1
                exact, rough = (computed(runner.code_dir, specs, before, layouts, pool_size, rounds) for rounds in (False, True))
                for place, said in exact.items():
                    card = tensors[place].cpu().double().numpy()
                    finite = ~np.isnan(said)
                    most = 0.02 * max(1, np.abs(said[finite]).max(initial=0))
                    rounding = np.abs(rough[place] - said)[finite].max(initial=0)
                    watch.imprecise |= bool(rounding > most)
                    wrong = finite & ~(np.abs(card - said) <= most + 4 * rounding)
                    if wrong.any():
                        watch.differences.append(f"{kernel_name}, argument {place}: {wrong.sum()} of {said.size} elements, up to {np.abs(card - said)[wrong].max():.3g}")

            runner.run = compared
            return runner

        SpyreAsyncCompile.sdsc = sdsc
        return self

    def __exit__(self, *_):
        from torch_spyre.execution.async_compile import SpyreAsyncCompile
        SpyreAsyncCompile.sdsc = self.kept
