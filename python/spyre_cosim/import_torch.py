# SPDX-License-Identifier: Apache-2.0
"""A list of operations of a program that torch.export has saved: ``python -m spyre_cosim.import_torch program.pt2 -o DIR``.

It needs PyTorch. DIR gets list.json, which ``spyre-cosim run DIR/list.json`` runs, the parameters as .npy files, and the example
inputs if the program has some. Numbers are float16, integers int32 (_types.py). Views, transposes and broadcasts cost nothing in the list: its dimensions
are those that no view of the program takes apart (_dimensions.py), so an output may have more dimensions than in the program;
its bytes are the same. What depends on no input and no parameter is worked out by PyTorch now. What a list cannot say is refused with the
operation's name.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import sys
import zipfile
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from ._dimensions import Unsupported, Value, flat
from ._operations import VIEWS, Importer
from ._types import CONDITIONS, CONVERSIONS, INDICES, Types, convert, in_float8, kind_of, wanted

ALIASES = {"permute", "transpose", "t", "expand", "slice", "select", "split", "split_with_sizes", "chunk", "narrow", "unbind", "getitem",
           "expand_as", "view_as", "detach", "detach_", "alias", "contiguous", "to", "dropout"}


def import_program(program: Any, directory: str) -> Dict[str, Any]:
    """Writes list.json and .npy files of a torch.export.ExportedProgram into `directory`, and returns the list.

    Raises Unsupported with the node for what a list of operations cannot say.
    """
    import torch

    os.makedirs(directory, exist_ok=True)

    def given(name: str, tensor: Any) -> Value:
        if tensor.numel() == 0:
            raise Unsupported("a tensor without elements")
        whole = kind_of(tensor.dtype) == "whole"
        narrow = tensor.detach().to(torch.int32 if whole else torch.float16)
        if whole and not torch.equal(narrow.to(tensor.dtype), tensor):
            raise Unsupported("integers beyond int32")
        if not whole and not torch.equal(narrow.isfinite(), tensor.detach().float().isfinite()):  # float8 has no isfinite
            raise Unsupported("numbers beyond those of float16")
        files[name] = narrow.cpu().numpy()
        return importer.list.given(name, tensor.shape, file=f"{name}.npy", **({"dtype": "int32"} if whole else {}))

    importer = Importer(lambda array: given(importer.list.name("table"), torch.from_numpy(np.ascontiguousarray(array))))
    types = Types(importer)

    files: Dict[str, np.ndarray] = {}
    signature = program.graph_signature
    parameters = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    constants = getattr(signature, "inputs_to_lifted_tensor_constants", {})
    examples = list((program.example_inputs or ((), {}))[0])
    values: Dict[Any, Any] = {}

    known: Dict[Any, Any] = {}  # what depends on no input and no parameter, by its node

    def known_of(argument: Any) -> Any:
        return torch.fx.node.map_arg(argument, lambda node: known[node])

    # Whether PyTorch has worked it out: positions, tables of them, masks.
    def fold(node: Any) -> bool:
        if node.op != "call_function" or not all(one in known for one in node.all_input_nodes):
            return False
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return False
        keys = {key: known_of(value) for key, value in node.kwargs.items()}
        if keys.get("device") is not None:
            keys["device"] = "cpu"
        known[node] = node.target(*known_of(node.args), **keys)
        return True

    def value_of(node: Any) -> Any:
        if node not in values:
            whole = once = known[node]
            for dim, stride in enumerate(whole.stride()):
                once = once.narrow(dim, 0, 1) if stride == 0 and whole.shape[dim] > 1 else once
            values[node] = importer.expand(given(node.name, once), list(whole.shape))
        return values[node]

    def read(argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            return value_of(argument)
        return [read(one) for one in argument] if isinstance(argument, (list, tuple)) else argument

    outputs: List[Value] = []
    def kind(node: Any) -> Optional[Any]:
        return getattr(node.meta.get("val"), "dtype", None) if isinstance(node, torch.fx.Node) else None

    # The arguments of an operation, in the types that it computes in.
    def operands(node: Any, name: str) -> List[Any]:
        name = name[:-1] if name.endswith("_") and not name.startswith("_") else name
        apart = (INDICES.get(name), CONDITIONS.get(name))
        found: List[str] = []
        for place, argument in enumerate(node.args):
            if place not in apart:
                torch.fx.node.map_arg(argument, lambda one: found.append(kind_of(kind(one)) or ""))
        into = wanted(name, kind_of(kind(node)), found)

        def typed(argument: Any, place: int) -> Any:
            if isinstance(argument, (list, tuple)):
                return [typed(one, place) for one in argument]
            value = read(argument)
            if not isinstance(argument, torch.fx.Node) or not isinstance(value, Value):
                return value
            if place == INDICES.get(name) and kind_of(kind(argument)) != "whole":
                raise Unsupported("indices that are truth values")
            return types.of(argument, value, kind_of(kind(argument)), None if place in apart else into)

        return [typed(argument, place) for place, argument in enumerate(node.args)]

    def target(node: Any) -> str:
        return getattr(node.target, "__name__", "").split(".")[0] if node.op == "call_function" else ""

    # Whoever reads the operand from now on has the result; views of it would have it too.
    def write_in_place(node: Any) -> None:
        written = node.args[0]
        beside = [one for one in written.users if one is not node] + [written]
        if any(target(one) in ALIASES | VIEWS for one in beside):
            raise Unsupported("an operation in place of which there are views")
        values[written] = values[node]

    for node in program.graph.nodes:
        try:
            if fold(node):
                continue
            if node.op != "output" and not node.users and not target(node).endswith("_"):
                if node.op == "placeholder" and node.name not in parameters and node.name not in constants and examples:
                    examples.pop(0)
                continue
            if node.op == "placeholder":
                if node.name in parameters:
                    name = parameters[node.name]
                    tensor = program.state_dict.get(name, program.constants.get(name))
                    if node.name in signature.inputs_to_buffers:
                        known[node] = tensor.clone()
                    else:
                        values[node] = given(node.name, tensor)
                elif node.name in constants:
                    known[node] = program.constants[constants[node.name]].clone()
                else:
                    example = examples.pop(0) if examples else None
                    shape = node.meta["val"].shape
                    if example is None and kind_of(kind(node)) == "whole":
                        values[node] = importer.list.given(node.name, shape, dtype="int32")
                    else:
                        values[node] = given(node.name, example) if example is not None else importer.list.given(node.name, shape)
            elif node.op == "call_function":
                if node.target is operator.getitem:
                    values[node] = value_of(node.args[0])[node.args[1]]
                else:
                    name = node.target.__name__.split(".")[0]
                    importer.whole = kind_of(kind(node)) == "whole"
                    arguments, keys = operands(node, name), {key: read(value) for key, value in node.kwargs.items()}
                    if name in CONVERSIONS:
                        arguments[0] = convert(importer, arguments[0], kind_of(kind(node.args[0])), kind_of(kind(node)))
                        arguments[0] = in_float8(importer, arguments[0], kind(node.args[0]), kind(node))
                    if name == "scaled_dot_product_attention":
                        mask = node.args[3] if len(node.args) > 3 else node.kwargs.get("attn_mask")
                        if kind(mask) == torch.bool:  # where it is true, keys are seen; the list adds a mask
                            keys["attn_mask"] = importer.elementwise("where", [value_of(mask), 0.0, -65504.0])
                            keys.update(zip(("dropout_p", "is_causal"), arguments[4:]))
                            arguments = arguments[:3]
                    values[node] = importer.call(name, arguments, keys)
                    if name == "_scaled_mm":
                        values[node] = in_float8(importer, values[node], None, kind(node))
                    if name.endswith("_") and not name.startswith("_"):
                        write_in_place(node)
            elif node.op == "output":
                for one in read(node.args[0]):
                    outputs.append(one)
        except (Unsupported, TypeError, IndexError) as error:
            raise Unsupported(f"{node.format_node()}: {error}") from error
    made = {op["output"]: op for op in importer.list.ops if isinstance(op, dict) and op["op"] != "slice"}
    last = []
    for one in outputs:
        one = importer.list.spread(one)
        dims = flat(dim for group in one.axes for dim in group)
        if one.tensor not in made or flat(one.dims) != dims or one.tensor in [other.tensor for other in last]:
            one = importer.list.append("copy", [one], one.axes, hint="out")
        last.append(one)
    text = importer.list.finish(last)
    for tensor in text["tensors"]:
        if "file" in tensor:
            order = importer.list.given_order.get(tensor["name"], tensor["dims"])
            values = files[tensor["name"]].reshape([text["dims"][dim] for dim in order])
            places = [order.index(dim) for dim in tensor["dims"]]
            np.save(os.path.join(directory, tensor["file"]), np.ascontiguousarray(values.transpose(places)).reshape([values.shape[place] for place in places]))
    with open(os.path.join(directory, "list.json"), "w", encoding="utf-8") as file:
        json.dump(text, file, indent=1)
        file.write("\n")
    return text


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m spyre_cosim.import_torch", description=__doc__.split("\n", 1)[0])
    parser.add_argument("program", help="what torch.export.save wrote")
    parser.add_argument("-o", "--out", default="out/imported", help="directory for list.json and the parameters [%(default)s]")
    options = parser.parse_args(arguments)
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # no device is needed
    import torch

    if not zipfile.is_zipfile(options.program):
        print(f"import_torch: {options.program}: this is no file that torch.export.save wrote", file=sys.stderr)
        return 2
    try:
        program = torch.export.load(options.program)
    except (OSError, RuntimeError, ValueError, KeyError, AssertionError) as error:
        print(f"import_torch: {options.program}: {error}", file=sys.stderr)
        return 2
    try:
        text = import_program(program, options.out)
    except Unsupported as error:
        print(f"import_torch: {error}: a list of operations cannot say this; `spyre-cosim exec` runs PyTorch as it is",
              file=sys.stderr)
        return 2
    print(f"{os.path.join(options.out, 'list.json')}: {len(text['ops'])} operations, {len(text['tensors'])} tensors; outputs "
          f"{', '.join(text['outputs'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
