// SPDX-License-Identifier: Apache-2.0
// The register specification as data, and its reading from TOML. Build-time only: spec_gen is the
// one user. Everything the rest of the program knows about the spec comes from the files spec_gen
// writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::generator {

enum class Access { kRo, kRw, kRw1c, kWo, kRc };
const char* AccessName(Access access);  // as the spec writes it: "RO", "RW", ...
bool IsReadable(Access access);
bool IsWritable(Access access);

struct Field {
  std::string name;
  std::string description;
  unsigned lsb = 0;
  unsigned msb = 0;
  unsigned width() const { return msb - lsb + 1; }
  uint32_t mask() const { return static_cast<uint32_t>(((uint64_t{1} << width()) - 1) << lsb); }
};

struct Register {
  std::string name;
  std::string description;
  uint32_t offset = 0;   // in its block
  uint32_t address = 0;  // in BAR0, or in the controller's address space
  Access access = Access::kRo;
  uint32_t reset = 0;
  bool dynamic = false;
  std::vector<Field> fields;
  uint32_t mask() const;  // bits that exist: those of the fields, or all if there are none
};

// Who sees a block, and where its addresses are.
enum class Scope {
  kAll,         // BAR0 of the PF and of every VF
  kPf,          // BAR0 of the PF only
  kController,  // the management controller's own address space
};
const char* ScopeNote(Scope scope);  // for a heading: "", " (PF only)", " (controller)"

struct Block {
  std::string name;
  std::string description;
  uint32_t base = 0;
  Scope scope = Scope::kAll;
  bool pf_only() const { return scope == Scope::kPf; }
  std::vector<Register> registers;  // by offset
};

struct EnumValue {
  std::string name;
  std::string description;
  uint64_t value = 0;
};

struct Enum {
  std::string name;
  std::string description;
  unsigned bits = 32;
  std::vector<EnumValue> values;
};

struct LayoutField {
  std::string name;
  std::string description;
  unsigned offset = 0;
  unsigned bits = 32;  // of one element
  unsigned count = 0;  // 0: a scalar
  unsigned size() const { return bits / 8 * (count == 0 ? 1 : count); }
};

struct Layout {
  std::string name;
  std::string description;
  unsigned size = 0;
  std::vector<LayoutField> fields;  // contiguous, in offset order
};

// A number that several languages need.
struct Constant {
  std::string name;
  std::string description;
  unsigned bits = 32;
  uint64_t value = 0;
};

struct Bar {
  unsigned index = 0;
  uint64_t size = 0;
  std::string description;
};

struct Pci {
  uint32_t vendor_id = 0;
  uint32_t pf_device_id = 0;
  uint32_t vf_device_id = 0;
  uint32_t revision = 0;
  uint32_t class_code = 0;
  uint32_t msi_vectors = 0;
  uint32_t total_vfs = 0;
  uint64_t vf_bar0_size = 0;
};

struct Spec {
  std::string name;
  uint32_t version = 0;
  Pci pci;
  std::vector<Bar> bars;
  std::vector<Enum> enums;
  std::vector<Layout> layouts;
  std::vector<Constant> constants;
  std::vector<Block> blocks;             // of BAR0, by base
  std::vector<Block> controller_blocks;  // scope kController, by base
};

// Reads and validates. Throws spyre::Error(kBadInput) naming file, line and entry.
Spec ReadSpec(const std::string& path);

// Checks what a single entry cannot show: overlaps, duplicates, sizes, pairs. Called by ReadSpec.
void Validate(const Spec& spec);

}  // namespace spyre::generator
