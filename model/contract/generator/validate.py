# SPDX-License-Identifier: Apache-2.0
"""Rules of the register specification that span entries. Each message names the entry and what would be right."""

from base.specification import SpecificationError, pascal_from_upper


def _require_new(seen, kind, name):
    if name in seen:
        raise SpecificationError(f"{kind} {name}: duplicate name")
    seen.add(name)


def _power_of_two(value):
    return value > 0 and value & (value - 1) == 0


def _require_size(what, size):
    if not _power_of_two(size) or size < 4096:
        raise SpecificationError(f"{what} {size:#x} is not a power of two of at least 4096")


def _check_fields(block, register):
    names = set()
    used = 0
    for field in register.fields:
        _require_new(names, "field", f"{block.name}.{register.name}.{field.name}")
        if used & field.mask:
            raise SpecificationError(
                f"field {block.name}.{register.name}.{field.name}: bits {field.msb}:{field.lsb} overlap an earlier field"
            )
        used |= field.mask
    if register.reset & ~register.mask:
        raise SpecificationError(
            f"register {block.name}.{register.name}: reset {register.reset:#x} sets bits outside its fields "
            f"({register.mask:#x})"
        )


def _check_pairs(block):
    """A name that ends in _LO promises its other half, so that accessors can offer the 64-bit value."""
    paired = {half.name for pair in block.pairs for half in (pair.low, pair.high)}
    for register in block.registers:
        if register.name.endswith(("_LO", "_HI")) and register.name not in paired:
            raise SpecificationError(
                f"register {block.name}.{register.name}: no other half; NAME_LO needs NAME_HI four bytes on, with the "
                "same access"
            )


def _check_address(spec, block, register, at):
    full = f"{block.name}.{register.name}"
    if register.address % 4:
        raise SpecificationError(f"register {full}: misaligned at {register.address:#x}; offsets are multiples of 4")
    if block.scope != "controller":
        bar0 = next(bar.size for bar in spec.bars if bar.index == 0)
        limit = bar0 if block.pf_only else spec.pci.vf_bar0_size
        if register.address + 4 > limit:
            raise SpecificationError(
                f"register {full}: address {register.address:#x} is outside BAR0 of {limit:#x} bytes"
            )
    if register.address in at:
        raise SpecificationError(f"register {full}: overlaps {at[register.address]} at {register.address:#x}")
    at[register.address] = full


def _check_registers(spec):
    block_names, names, accessors = set(), set(), set()
    for blocks in (spec.blocks, spec.controller_blocks):
        at = {}  # address -> register, in one of the two address spaces
        for block in blocks:
            _require_new(block_names, "block", block.name)
            for register in block.registers:
                _check_address(spec, block, register, at)
                _require_new(names, "register", register.name)
                _require_new(accessors, "accessor of register", pascal_from_upper(register.name))
                _check_fields(block, register)
                for field in register.fields:
                    accessor = pascal_from_upper(f"{register.name}_{field.name}")
                    _require_new(accessors, "accessor of field", accessor)
            _check_pairs(block)
            for pair in block.pairs:
                _require_new(accessors, "accessor of register pair", pascal_from_upper(pair.name))


def _check_layout(layout):
    names = set()
    end = 0
    for field in layout.fields:
        where = f"layout field {layout.name}.{field.name}"
        _require_new(names, "layout field", f"{layout.name}.{field.name}")
        size = field.bits // 8
        if field.offset % size:
            raise SpecificationError(
                f"{where}: misaligned at {field.offset}; a u{field.bits} lies at a multiple of {size}"
            )
        if field.offset < end:
            raise SpecificationError(f"{where}: offset {field.offset} overlaps the field before, which ends at {end}")
        if field.offset > end:
            raise SpecificationError(f"{where}: bytes {end} to {field.offset - 1} before it are not described")
        end = field.offset + field.size
    if end != layout.size:
        raise SpecificationError(f"layout {layout.name}: size is {layout.size} but its fields end at {end}")


def _check_enum(enum):
    names, values = set(), set()
    for value in enum.values:
        _require_new(names, f"enum {enum.name} value", value.name)
        if value.value in values:
            raise SpecificationError(f"enum {enum.name} value {value.name}: duplicate value {value.value}")
        values.add(value.value)
    if not enum.values:
        raise SpecificationError(f"enum {enum.name}: has no values")


def _check_bars(spec):
    seen = set()
    for bar in spec.bars:
        if bar.index % 2:
            raise SpecificationError(f"bar {bar.index}: 64-bit BARs are 0, 2 and 4")  # they take two slots
        if bar.index in seen:
            raise SpecificationError(f"bar {bar.index}: duplicate index")
        seen.add(bar.index)
        _require_size(f"bar {bar.index}: size", bar.size)
    if 0 not in seen:
        raise SpecificationError("bar 0: missing; registers live there")
    _require_size("pci: vf_bar0_size", spec.pci.vf_bar0_size)
    if not _power_of_two(spec.pci.msi_vectors):
        raise SpecificationError(f"pci: msi_vectors {spec.pci.msi_vectors} is not a power of two from 1 to 32")


def validate(spec):
    """Overlaps, duplicates, sizes and pairs: what a single entry cannot show."""
    _check_bars(spec)
    types = set()
    for enum in spec.enums:
        _require_new(types, "enum", enum.name)
        _check_enum(enum)
    for layout in spec.layouts:
        _require_new(types, "layout", layout.name)
        _check_layout(layout)
    for constant in spec.constants:
        _require_new(types, "constant", constant.name)
    _check_registers(spec)
