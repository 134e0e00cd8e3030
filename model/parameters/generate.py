# SPDX-License-Identifier: Apache-2.0
"""generate.py card.toml OUTDIR: writes the C++ structs, the table of keys and the preset file of the card's parameters.

Nothing is written if the specification is wrong. Files that would not change are left alone.
"""

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from base.specification import quoted, read_specification, run_generator, write_if_changed

SOURCES = ("public", "derived", "JEDEC", "fit", "assumed")
ROOTS = {"card": "CardParameters", "switch": "SwitchConfig"}


def enumerator(name):
    """read_first -> kReadFirst"""
    return "k" + "".join(word.capitalize() for word in name.split("_"))


@dataclass
class Parameter:
    key: str  # "card.core.lx_bytes"
    type: str  # of the member
    default: object
    unit: str = ""
    least: int = 0
    most: int = 0
    choice: str = ""  # the enumeration
    is_path: bool = False
    source: str = "choice"
    meaning: str = ""

    @property
    def name(self):
        return self.key.rpartition(".")[2]

    @property
    def comment(self):
        facts = [fact for fact in (self.unit, self.source) if fact not in ("", "choice")]
        return self.meaning + (f" ({', '.join(facts)})" if facts else "")

    @property
    def toml_default(self):
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return str(self.default) if isinstance(self.default, int) else quoted(self.default)

    @property
    def cpp_default(self):
        return f"{self.choice}::{enumerator(self.default)}" if self.choice else self.toml_default


@dataclass
class Struct:
    key: str  # "card.core"
    type: str  # "CoreConfig"
    parameters: list
    parts: list  # members that are structs

    @property
    def name(self):
        return self.key.rpartition(".")[2]


def check_names(entry, names):
    for name in names:
        if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
            raise entry.bad(f"{name!r} is not a name of small letters, digits and underscores")


def read_parameter(entry, enumerations):
    default = entry.table.get("default")
    if entry.has("choice"):
        entry.only(("default", "choice", "source", "meaning"))
        choice = entry.choice("choice", enumerations, "enumeration", "enumerations")
        entry.choice("default", enumerations[choice], "default", f"names of {choice}")
        parameter = Parameter(entry.what, choice, default, choice=choice)
    elif isinstance(default, bool):
        entry.only(("default", "source", "meaning"))
        parameter = Parameter(entry.what, "bool", default)
    elif isinstance(default, int):
        entry.only(("default", "range", "unit", "source", "meaning"))
        bounds = entry.table.get("range")
        if not (isinstance(bounds, list) and len(bounds) == 2 and all(type(bound) is int for bound in bounds)):
            raise entry.bad("'range' is missing or not [least, most]")
        if not 0 <= bounds[0] <= default <= bounds[1] < 1 << 63:
            raise entry.bad(f"'default' is {default}, which is outside 'range', {bounds}; both must be in 0 to 2^63 - 1")
        parameter = Parameter(entry.what, "uint64_t", default, entry.text("unit"), *bounds)
    else:
        entry.only(("default", "is_path", "source", "meaning"))
        parameter = Parameter(entry.what, "std::string", entry.text("default"), is_path=entry.flag("is_path"))
    if entry.has("source"):
        parameter.source = entry.choice("source", SOURCES, "source", "sources")
    parameter.meaning = entry.paragraph("meaning")
    return parameter


def read_struct(entry, struct_type, enumerations):
    """A table of tables is a struct of its own, any other is a parameter."""
    check_names(entry, entry.table)
    struct = Struct(entry.what, struct_type, [], [])
    for name, inner in entry.tables():
        if all(isinstance(value, dict) for value in inner.table.values()):
            struct.parts.append(read_struct(inner, name.capitalize() + "Config", enumerations))
        else:
            struct.parameters.append(read_parameter(inner, enumerations))
    return struct


def read(path):
    """The enumerations, each with its names, and the structs that nothing else has."""
    specification = read_specification(path, ("enumerations", *ROOTS))
    enumerations = specification.sub_table("enumerations")
    for name, names in enumerations.table.items():
        if not isinstance(names, list):
            raise enumerations.bad(f"{name} is not a list of names")
        check_names(enumerations, names)
    return enumerations.table, [
        read_struct(specification.sub_table(key), struct_type, enumerations.table) for key, struct_type in ROOTS.items()]


def member_lines(struct):
    text = "".join(map(member_lines, struct.parts)) + f"struct {struct.type} {{\n"
    for parameter in struct.parameters:
        unit = f"  // {parameter.unit}" if parameter.unit else ""
        text += f"  {parameter.type} {parameter.name} = {parameter.cpp_default};{unit}\n"
    text += "".join(f"  {part.type} {part.name};\n" for part in struct.parts)
    return text + "};\n\n"


HEADER = """\
// Generated by model/parameters/generate.py from model/parameters/card.toml. Do not edit.
// The card's parameters with their defaults and units; card.toml says what they mean.
#pragma once

#include <cstdint>
#include <string>

namespace spyre::model {

"""


def write_header(enumerations, roots):
    text = HEADER
    for name, values in enumerations.items():
        text += f"enum class {name} : uint8_t {{ {', '.join(map(enumerator, values))} }};\n"
    text += "\n"
    text += "".join(map(member_lines, roots))
    return text + "}  // namespace spyre::model\n"


SOURCE = """\
// Generated by model/parameters/generate.py from model/parameters/card.toml. Do not edit.
#include "model/parameters/parameter.h"

namespace spyre::model {
namespace {

"""


def list_lines(struct, member):
    text = ""
    for parameter in struct.parameters:
        at = f"{member}.{parameter.name}"
        value = f"ChoiceRef({at})" if parameter.choice else f"&{at}"
        names = f"k{parameter.choice}Names" if parameter.choice else "{}"
        text += (
            f"      {{{quoted(parameter.key)}, {value}, {quoted(parameter.unit)}, {quoted(parameter.source)},\n"
            f"       {quoted(parameter.meaning)},\n"
            f"       {parameter.least}, {parameter.most}, {names}, {str(parameter.is_path).lower()}}},\n")
    return text + "".join(list_lines(part, f"{member}.{part.name}") for part in struct.parts)


def write_source(enumerations, roots):
    text = SOURCE
    for name, values in enumerations.items():
        text += f"constexpr const char* k{name}List[] = {{{', '.join(map(quoted, values))}}};\n"
        text += f"constexpr ChoiceNames k{name}Names{{k{name}List, {len(values)}}};\n"
    text += "\n}  // namespace\n"
    for root in roots:
        text += f"\nstd::vector<Parameter> ParametersOf({root.type}& c) {{\n  return {{\n{list_lines(root, 'c')}  }};\n}}\n"
    return text + "\n}  // namespace spyre::model\n"


PRESET = """\
# The Spyre card, as far as it is public; every parameter of the model with its unit, the origin of the figure and why.
# public: documented or measured (docs/facts.md). derived: arithmetic on public facts. JEDEC: LPDDR5 standard.
# fit: to the public calibration (docs/accuracy.md). assumed: not public; the comment says what the value rests on.
# This is the preset "spyre", from which a run starts; its own [card] keys and --set go over it. A file like this with
# some of the keys is a preset, too. Generated from model/parameters/card.toml.
"""


def preset_lines(struct):
    text = f"\n[{struct.key}]\n"
    for parameter in struct.parameters:
        for line in textwrap.wrap(parameter.comment, 116, break_long_words=False, break_on_hyphens=False):
            text += f"# {line}\n"
        text += f"{parameter.name} = {parameter.toml_default}\n"
    return text + "".join(map(preset_lines, struct.parts))


def generate(specification, directory):
    enumerations, roots = read(specification)
    texts = {
        "card_parameters.h": write_header(enumerations, roots),
        "card_parameters.cc": write_source(enumerations, roots),
        "spyre.toml": PRESET + preset_lines(roots[0]),
    }
    Path(directory).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_if_changed(Path(directory) / name, text)


if __name__ == "__main__":
    sys.exit(run_generator("generate.py", "card.toml OUTDIR", generate))
