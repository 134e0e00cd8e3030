# SPDX-License-Identifier: Apache-2.0
"""The register specification as data, and its reading from TOML: each entry on its own (keys, kinds, ranges, names).

Everything that the rest of the program knows about the specification comes from the files that spec_gen writes.
"""

import re
from dataclasses import dataclass, field

from base.specification import read_specification

ALL_BITS = 0xFFFFFFFF
ACCESS_KINDS = ("RO", "RW", "RW1C", "WO", "RC")
TYPES = ("u8", "u16", "u32", "u64")


@dataclass
class Field:
    """Bits of a register."""

    name: str
    description: str
    msb: int
    lsb: int

    @property
    def width(self):
        return self.msb - self.lsb + 1

    @property
    def mask(self):
        return ((1 << self.width) - 1) << self.lsb


@dataclass
class Register:
    name: str
    description: str
    offset: int  # in its block
    address: int  # in BAR0, or in the controller's address space
    access: str
    reset: int
    dynamic: bool
    fields: list = field(default_factory=list)

    @property
    def mask(self):
        """Bits that exist: those of the fields, or all if there are none."""
        return sum(item.mask for item in self.fields) if self.fields else ALL_BITS

    @property
    def readable(self):
        return self.access != "WO"

    @property
    def writable(self):
        return self.access in ("RW", "RW1C", "WO")


@dataclass
class Pair:
    """A 64-bit quantity in two registers: NAME_LO and, four bytes on, NAME_HI."""

    name: str
    low: Register
    high: Register


@dataclass
class Block:
    """Registers that belong together, by offset. Who sees them: "all" (PF and every VF), "pf", or "controller", the
    management controller in an address space of its own."""

    name: str
    description: str
    base: int
    scope: str
    registers: list = field(default_factory=list)

    @property
    def pf_only(self):
        return self.scope == "pf"

    @property
    def scope_note(self):
        """For a heading."""
        return {"all": "", "pf": " (PF only)", "controller": " (management controller)"}[self.scope]

    @property
    def pairs(self):
        by_name = {register.name: register for register in self.registers}
        for low in self.registers:
            name = low.name.removesuffix("_LO")
            high = by_name.get(name + "_HI")
            if name not in ("", low.name) and high and high.offset == low.offset + 4 and high.access == low.access:
                yield Pair(name, low, high)


@dataclass
class EnumValue:
    name: str
    description: str
    value: int


@dataclass
class Enum:
    name: str
    description: str
    bits: int
    values: list = field(default_factory=list)


@dataclass
class LayoutField:
    name: str
    description: str
    offset: int
    bits: int  # of one element
    count: int  # 0: a scalar

    @property
    def size(self):
        return self.bits // 8 * (self.count or 1)

    @property
    def extent(self):
        """As C and the reference write it."""
        return f"[{self.count}]" if self.count else ""


@dataclass
class Layout:
    """A structure in memory; its fields are contiguous and in order."""

    name: str
    description: str
    size: int
    fields: list = field(default_factory=list)


@dataclass
class Constant:
    """A number that several languages need."""

    name: str
    description: str
    bits: int
    value: int


@dataclass
class Bar:
    index: int
    size: int
    description: str


@dataclass
class Pci:
    vendor_id: int
    pf_device_id: int
    vf_device_id: int
    revision: int
    class_code: int
    msi_vectors: int
    total_vfs: int
    vf_bar0_size: int


@dataclass
class Spec:
    name: str
    version: int
    pci: Pci
    bars: list
    enums: list
    layouts: list
    constants: list
    blocks: list  # of BAR0, by base
    controller_blocks: list  # by base


def _type_bits(entry):
    return int(entry.choice("type", TYPES, "type", "types")[1:])


def _value(entry, bits):
    """TOML's integers are signed, of 64 bits."""
    return entry.number("value", (1 << min(bits, 63)) - 1)


def _field(entry):
    bits = entry.text("bits")
    match = re.fullmatch("([0-9]{1,2}):([0-9]{1,2})", bits)
    if not match or int(match[1]) > 31 or int(match[2]) > 31:
        raise entry.bad(f"bits '{bits}' are not \"msb:lsb\" within 31:0")
    if int(match[1]) < int(match[2]):
        raise entry.bad(f"bits '{bits}' are not in the order msb:lsb")
    return Field(entry.text("name"), entry.text("description"), int(match[1]), int(match[2]))


def _register(entry, base):
    offset = entry.number("offset", ALL_BITS)
    if base + offset > ALL_BITS:
        raise entry.bad("offset is beyond 32 bits")
    return Register(
        entry.text("name"),
        entry.text("description"),
        offset,
        base + offset,
        entry.choice("access", ACCESS_KINDS, "access kind", "kinds"),
        entry.number("reset", ALL_BITS),
        entry.flag("dynamic"),
        [_field(item) for item in entry.each("fields", f"{entry.what}: field", ("name", "bits", "description"))],
    )


def _block(entry):
    block = Block(
        entry.text("name"),
        entry.text("description"),
        entry.number("base", ALL_BITS),
        entry.choice("scope", ("all", "pf", "controller"), "scope", "scopes"),
    )
    keys = ("name", "offset", "access", "reset", "dynamic", "description", "fields")
    for item in entry.each("registers", f"block {block.name}: register", keys):
        block.registers.append(_register(item, block.base))
    block.registers.sort(key=lambda register: register.offset)
    return block


def _enum(entry):
    result = Enum(entry.text("name"), entry.text("description"), _type_bits(entry))
    for item in entry.each("values", f"{entry.what}: value", ("name", "value", "description")):
        result.values.append(EnumValue(item.text("name"), item.text("description"), _value(item, result.bits)))
    return result


def _constant(entry):
    bits = _type_bits(entry)
    return Constant(entry.text("name"), entry.text("description"), bits, _value(entry, bits))


def _layout(entry):
    layout = Layout(entry.text("name"), entry.text("description"), entry.number("size", 4096))
    for item in entry.each("fields", f"{entry.what}: field", ("name", "offset", "type", "count", "description")):
        count = item.number("count", 4096) if item.has("count") else 0
        if item.has("count") and count == 0:
            raise item.bad("'count' is 0; leave it out for a scalar")
        layout.fields.append(
            LayoutField(
                item.text("name"), item.text("description"), item.number("offset", 4096), _type_bits(item), count
            )
        )
    return layout


def _pci(root):
    limits = {
        "vendor_id": 0xFFFF,
        "pf_device_id": 0xFFFF,
        "vf_device_id": 0xFFFF,
        "revision": 0xFF,
        "class_code": 0xFFFFFF,
        "msi_vectors": 32,
        "total_vfs": 0xFFFF,
        "vf_bar0_size": 1 << 40,
    }
    entry = root.sub_table("pci", limits)
    return Pci(**{key: entry.number(key, limit) for key, limit in limits.items()})


def read_spec(path):
    """The specification in the file, each entry of which is right by itself (validate.py has the rest)."""
    root = read_specification(path, ("version", "name", "pci", "bar", "enum", "layout", "constant", "block"))
    blocks = [_block(item) for item in root.each("block", "block", ("name", "base", "scope", "description", "registers"))]
    blocks.sort(key=lambda block: block.base)
    return Spec(
        root.text("name"),
        root.number("version", ALL_BITS),
        _pci(root),
        [
            Bar(item.number("index", 5), item.number("size", 1 << 48), item.text("description"))
            for item in root.each("bar", "bar", ("index", "size", "description"))
        ],
        [_enum(item) for item in root.each("enum", "enum", ("name", "type", "description", "values"))],
        [_layout(item) for item in root.each("layout", "layout", ("name", "size", "description", "fields"))],
        [_constant(item) for item in root.each("constant", "constant", ("name", "type", "value", "description"))],
        [block for block in blocks if block.scope != "controller"],
        [block for block in blocks if block.scope == "controller"],
    )
