# SPDX-License-Identifier: Apache-2.0
"""Types of an exported program in a list of operations: float16, int32, and truth values, which are 1 or 0 in float16.

The host computes with integers between kernels, and the card with the rest. A list converts where a program says so, and PyTorch
also where an operation takes operands of several types: then its operands are converted to what the result, or the comparison, is of.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ._dimensions import Unsupported, Value

INDICES = {"index_select": 2, "index_copy": 2, "embedding": 1, "index": 1, "gather": 2, "scatter": 2}  # the argument that has them
CONDITIONS = {"where": 0, "masked_fill": 1, "masked_scatter": 1}
COMPARISONS = {"eq", "ne", "gt", "ge", "lt", "le"}
LOGICAL = {"logical_and", "logical_or", "logical_xor", "logical_not"}
CONVERSIONS = {"to", "_to_copy", "type_as"}

FLOAT, WHOLE, TRUTH = "float", "whole", "truth"


def kind_of(dtype: Any) -> Optional[str]:
    import torch

    if dtype is None:
        return None
    if dtype == torch.bool:
        return TRUTH
    if dtype.is_complex:
        raise Unsupported("complex numbers")
    return FLOAT if dtype.is_floating_point else WHOLE


def wanted(name: str, result: Optional[str], operands: List[str]) -> Optional[str]:
    """What the operands of an operation are converted to that are of another type. None: they stay as they are."""
    if name in LOGICAL:
        return TRUTH
    if name in COMPARISONS:
        return FLOAT if FLOAT in operands else WHOLE if WHOLE in operands else TRUTH
    if name in {"argmax", "argmin", "any", "all"} or name in CONVERSIONS:
        return None
    if name in {"max", "min", "sort", "topk"}:
        return None
    return result


def convert(importer: Any, value: Value, own: str, kind: str) -> Value:
    if own == kind or (own, kind) == (TRUTH, FLOAT):  # a truth value is 1 or 0 already
        return value
    if kind == TRUTH:
        return importer.elementwise("notequal", [value, 0])
    return importer.list.append("convert", [value], value.axes, dtype="int32" if kind == WHOLE else "float16")


def in_float8(importer: Any, value: Value, own: Any, dtype: Any) -> Value:
    """The numbers that float8 keeps of the value, if `dtype` is one, and `own`, of the value, is another type. They are float16.

    The card converts whole sticks of float8, 128 elements: the list's compiler refuses what ends within one.
    """
    import torch

    if dtype == own or not str(dtype).startswith("torch.float8"):
        return value
    if dtype != torch.float8_e4m3fn:
        raise Unsupported(f"{str(dtype)[len('torch.'):]}: the card has float8_e4m3fn")
    kept = importer.list.append("convert", [value], value.axes, dtype="float8_e4m3fn")
    return importer.list.append("convert", [kept], kept.axes, dtype="float16")


class Types:
    """Values of nodes, converted once."""

    def __init__(self, importer: Any) -> None:
        self.importer = importer
        self.converted: Dict[Any, Value] = {}

    def of(self, node: Any, value: Value, own: Optional[str], kind: Optional[str]) -> Value:
        if kind is None or own is None or own == kind:
            return value
        key = (node, value.tensor, kind)  # what is written in place has another tensor
        if key not in self.converted:
            self.converted[key] = convert(self.importer, value, own, kind)
        return self.converted[key].of(value.axes)
