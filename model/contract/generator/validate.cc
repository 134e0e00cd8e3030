// SPDX-License-Identifier: Apache-2.0
// Rules that span entries. Each message names the entry and what would be right.
#include <map>
#include <set>

#include "base/error.h"
#include "model/contract/generator/spec.h"
#include "model/contract/generator/writers.h"

namespace spyre::generator {
namespace {

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

void RequireNew(std::set<std::string>& seen, const std::string& kind, const std::string& name) {
  if (!seen.insert(name).second) throw BadInput("{} {}: duplicate name", kind, name);
}

void CheckFields(const Block& block, const Register& reg) {
  std::set<std::string> names;
  uint32_t used = 0;
  for (const Field& field : reg.fields) {
    const std::string where = fmt::format("field {}.{}.{}", block.name, reg.name, field.name);
    if (!names.insert(field.name).second) throw BadInput("{}: duplicate name", where);
    if ((used & field.mask()) != 0) {
      throw BadInput("{}: bits {}:{} overlap an earlier field", where, field.msb, field.lsb);
    }
    used |= field.mask();
  }
  if ((reg.reset & ~reg.mask()) != 0) {
    throw BadInput("register {}.{}: reset {:#x} sets bits outside its fields ({:#x})", block.name,
                   reg.name, reg.reset, reg.mask());
  }
}

// A name that ends in _LO promises its other half, so that accessors can offer the 64-bit value.
void CheckPairs(const Block& block) {
  std::set<std::string> paired;
  for (const Pair& pair : PairsOf(block)) {
    paired.insert(pair.low->name);
    paired.insert(pair.high->name);
  }
  for (const Register& reg : block.registers) {
    const std::string end = reg.name.size() < 3 ? "" : reg.name.substr(reg.name.size() - 3);
    if ((end == "_LO" || end == "_HI") && paired.count(reg.name) == 0) {
      throw BadInput(
          "register {}.{}: no other half; NAME_LO needs NAME_HI four bytes on, with the same "
          "access",
          block.name, reg.name);
    }
  }
}

void CheckRegisters(const Spec& spec) {
  std::set<std::string> block_names;
  std::set<std::string> names;
  std::set<std::string> accessors;
  std::map<uint32_t, std::string> at;  // address -> register
  uint64_t bar0 = 0;
  for (const Bar& bar : spec.bars) {
    if (bar.index == 0) bar0 = bar.size;
  }
  const auto check = [&](const Block& block) {
    RequireNew(block_names, "block", block.name);
    for (const Register& reg : block.registers) {
      const std::string full = block.name + "." + reg.name;
      if (reg.address % 4 != 0) {
        throw BadInput("register {}: misaligned at {:#x}; offsets are multiples of 4", full,
                       reg.address);
      }
      const uint64_t limit = block.pf_only() ? bar0 : spec.pci.vf_bar0_size;
      if (block.scope != Scope::kController && uint64_t{reg.address} + 4 > limit) {
        throw BadInput("register {}: address {:#x} is outside BAR0 of {:#x} bytes", full,
                       reg.address, limit);
      }
      if (const auto [it, fresh] = at.emplace(reg.address, full); !fresh) {
        throw BadInput("register {}: overlaps {} at {:#x}", full, it->second, reg.address);
      }
      RequireNew(names, "register", reg.name);
      RequireNew(accessors, "accessor of register", PascalFromUpper(reg.name));
      CheckFields(block, reg);
      for (const Field& field : reg.fields) {
        RequireNew(accessors, "accessor of field", PascalFromUpper(reg.name + "_" + field.name));
      }
    }
    CheckPairs(block);
    for (const Pair& pair : PairsOf(block)) {
      RequireNew(accessors, "accessor of register pair", PascalFromUpper(pair.name));
    }
  };
  for (const Block& block : spec.blocks) check(block);
  at.clear();  // another address space
  for (const Block& block : spec.controller_blocks) check(block);
}

void CheckLayout(const Layout& layout) {
  std::set<std::string> names;
  unsigned next = 0;
  for (const LayoutField& field : layout.fields) {
    const std::string where = fmt::format("layout field {}.{}", layout.name, field.name);
    if (!names.insert(field.name).second) throw BadInput("{}: duplicate name", where);
    if (field.offset % (field.bits / 8) != 0) {
      throw BadInput("{}: misaligned at {}; a u{} lies at a multiple of {}", where, field.offset,
                     field.bits, field.bits / 8);
    }
    if (field.offset < next) {
      throw BadInput("{}: offset {} overlaps the field before, which ends at {}", where,
                     field.offset, next);
    }
    if (field.offset > next) {
      throw BadInput("{}: bytes {} to {} before it are not described", where, next,
                     field.offset - 1);
    }
    next = field.offset + field.size();
  }
  if (next != layout.size) {
    throw BadInput("layout {}: size is {} but its fields end at {}", layout.name, layout.size,
                   next);
  }
}

void CheckEnum(const Enum& item) {
  std::set<std::string> names;
  std::set<uint64_t> values;
  for (const EnumValue& value : item.values) {
    RequireNew(names, fmt::format("enum {} value", item.name), value.name);
    if (!values.insert(value.value).second) {
      throw BadInput("enum {} value {}: duplicate value {}", item.name, value.name, value.value);
    }
  }
  if (item.values.empty()) throw BadInput("enum {}: has no values", item.name);
}

}  // namespace

void Validate(const Spec& spec) {
  std::set<unsigned> bars;  // 64-bit BARs take two slots
  for (const Bar& bar : spec.bars) {
    if (bar.index % 2 != 0) throw BadInput("bar {}: 64-bit BARs are 0, 2 and 4", bar.index);
    if (!bars.insert(bar.index).second) throw BadInput("bar {}: duplicate index", bar.index);
    if (!IsPowerOfTwo(bar.size) || bar.size < 4096) {
      throw BadInput("bar {}: size {:#x} is not a power of two of at least 4096", bar.index,
                     bar.size);
    }
  }
  if (bars.count(0) == 0) throw BadInput("bar 0: missing; registers live there");
  if (!IsPowerOfTwo(spec.pci.vf_bar0_size) || spec.pci.vf_bar0_size < 4096) {
    throw BadInput("pci: vf_bar0_size {:#x} is not a power of two of at least 4096",
                   spec.pci.vf_bar0_size);
  }
  if (!IsPowerOfTwo(spec.pci.msi_vectors)) {
    throw BadInput("pci: msi_vectors {} is not a power of two from 1 to 32", spec.pci.msi_vectors);
  }
  std::set<std::string> types;
  for (const Enum& item : spec.enums) {
    RequireNew(types, "enum", item.name);
    CheckEnum(item);
  }
  for (const Layout& layout : spec.layouts) {
    RequireNew(types, "layout", layout.name);
    CheckLayout(layout);
  }
  for (const Constant& constant : spec.constants) RequireNew(types, "constant", constant.name);
  CheckRegisters(spec);
}

}  // namespace spyre::generator
