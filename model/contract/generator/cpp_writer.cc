// SPDX-License-Identifier: Apache-2.0
// registers.h: constants, enumerations, queue-entry layouts and the register table, for C++.
#include <fmt/format.h>

#include <iterator>

#include "model/contract/generator/writers.h"

namespace spyre::generator {
namespace {

class Writer {
 public:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

void Constants(Writer& out, const Spec& spec) {
  out.Line("inline constexpr uint32_t kSpecVersion = {};", spec.version);
  out.Line("inline constexpr const char* kSpecName = {};\n", Quoted(spec.name));
  out.Line("inline constexpr uint16_t kPciVendorId = {:#06x};", spec.pci.vendor_id);
  out.Line("inline constexpr uint16_t kPciPfDeviceId = {:#06x};", spec.pci.pf_device_id);
  out.Line("inline constexpr uint16_t kPciVfDeviceId = {:#06x};", spec.pci.vf_device_id);
  out.Line("inline constexpr uint8_t kPciRevision = {:#04x};", spec.pci.revision);
  out.Line("inline constexpr uint32_t kPciClassCode = {:#08x};", spec.pci.class_code);
  out.Line("inline constexpr int kMsiVectors = {};", spec.pci.msi_vectors);
  out.Line("inline constexpr int kTotalVfs = {};\n", spec.pci.total_vfs);
  for (const Bar& bar : spec.bars) {
    out.Line("// {}", bar.description);
    out.Line("inline constexpr uint64_t kBar{}Bytes = {:#x};", bar.index, bar.size);
  }
  out.Line("// BAR0 of a virtual function: the first part of the register map");
  out.Line("inline constexpr uint64_t kVfBar0Bytes = {:#x};\n", spec.pci.vf_bar0_size);
  for (const Constant& constant : spec.constants) {
    out.Line("inline constexpr uint{}_t k{} = {:#x};  // {}", constant.bits,
             PascalFromUpper(constant.name), constant.value, constant.description);
  }
  out.Line("");
}

void Enums(Writer& out, const Spec& spec) {
  out.Line("template <class E>\nstruct EnumName {{");
  out.Line("  E value;\n  const char* name;\n  const char* description;\n}};\n");
  for (const Enum& item : spec.enums) {
    out.Line("// {}\nenum class {} : uint{}_t {{", item.description, item.name, item.bits);
    for (const EnumValue& value : item.values) {
      out.Line("  {} = {},  // {}", value.name, value.value, value.description);
    }
    out.Line("}};\ninline constexpr EnumName<{0}> k{0}Names[] = {{", item.name);
    for (const EnumValue& value : item.values) {
      out.Line("    {{{}::{}, {}, {}}},", item.name, value.name, Quoted(value.name),
               Quoted(value.description));
    }
    out.Line("}};\n");
  }
}

void Layouts(Writer& out, const Spec& spec) {
  for (const Layout& layout : spec.layouts) {
    out.Line("// {}\nstruct {} {{", layout.description, layout.name);
    for (const LayoutField& field : layout.fields) {
      const std::string type = fmt::format("uint{}_t", field.bits);
      if (field.count == 0) {
        out.Line("  {} {} = 0;  // {}", type, field.name, field.description);
      } else {
        out.Line("  {} {}[{}] = {{}};  // {}", type, field.name, field.count, field.description);
      }
    }
    out.Line("}};\nstatic_assert(sizeof({}) == {});", layout.name, layout.size);
    for (const LayoutField& field : layout.fields) {
      out.Line("static_assert(offsetof({}, {}) == {});", layout.name, field.name, field.offset);
    }
    out.Line("static_assert(std::is_trivially_copyable_v<{}>);\n", layout.name);
  }
}

void BlockOffsets(Writer& out, const Block& block) {
  out.Line("\n// {}{}: {}", block.name, ScopeNote(block.scope), block.description);
  for (const Register& reg : block.registers) {
    out.Line("inline constexpr uint32_t {} = {:#06x};  // {}: {}", reg.name, reg.address,
             AccessName(reg.access), reg.description);
    for (const Field& field : reg.fields) {
      out.Line("inline constexpr uint32_t {}_{}_SHIFT = {};  // {}", reg.name, field.name,
               field.lsb, field.description);
      out.Line("inline constexpr uint32_t {}_{}_MASK = {:#x};", reg.name, field.name, field.mask());
    }
  }
}

void Registers(Writer& out, const Spec& spec) {
  out.Line(
      "// Offsets in BAR0 (MC_*: in the management controller's address space), and fields as "
      "shift and mask\n// (the mask is in place, not shifted down).");
  out.Line("namespace regs {{");
  for (const Block& block : spec.blocks) BlockOffsets(out, block);
  for (const Block& block : spec.controller_blocks) BlockOffsets(out, block);
  out.Line("");
}

const char* AccessConstant(Access access) {
  switch (access) {
    case Access::kRo:
      return "kReadOnly";
    case Access::kRw:
      return "kReadWrite";
    case Access::kRw1c:
      return "kWriteOneToClear";
    case Access::kWo:
      return "kWriteOnly";
    case Access::kRc:
      return "kReadToClear";
  }
  return "?";
}

void Tables(Writer& out, const Spec& spec) {
  out.Line("enum class Access : uint8_t {{");
  out.Line("  kReadOnly,         // RO");
  out.Line("  kReadWrite,        // RW");
  out.Line("  kWriteOneToClear,  // RW1C");
  out.Line("  kWriteOnly,        // WO: reads 0");
  out.Line("  kReadToClear,      // RC\n}};\n");
  out.Line("struct RegisterInfo {{\n  const char* name;\n  const char* block;");
  out.Line("  uint32_t offset;  // in BAR0\n  Access access;\n  uint32_t reset;");
  out.Line("  uint32_t mask;  // bits that exist; a write leaves the others 0");
  out.Line("  bool pf_only;   // a VF reads 0, its writes are ignored");
  out.Line("  bool dynamic;   // the card supplies the value when it is read");
  out.Line("  const char* description;\n}};\n");
  out.Line("// By offset.\ninline constexpr RegisterInfo kRegisters[] = {{");
  for (const Block& block : spec.blocks) {
    for (const Register& reg : block.registers) {
      out.Line("    {{{}, {}, {:#06x}, Access::{}, {:#x}, {:#x}, {}, {},\n     {}}},",
               Quoted(reg.name), Quoted(block.name), reg.address, AccessConstant(reg.access),
               reg.reset, reg.mask(), block.pf_only(), reg.dynamic, Quoted(reg.description));
    }
  }
  out.Line("}};\n");
  out.Line("struct FieldInfo {{\n  uint32_t offset;  // of its register, in BAR0");
  out.Line("  const char* name;\n  uint32_t shift;\n  uint32_t mask;  // in place");
  out.Line("  const char* description;\n}};\n");
  out.Line("// By offset of the register; registers without fields have no entry.");
  out.Line("inline constexpr FieldInfo kRegisterFields[] = {{");
  for (const Block& block : spec.blocks) {
    for (const Register& reg : block.registers) {
      for (const Field& field : reg.fields) {
        out.Line("    {{{:#06x}, {}, {}, {:#x}, {}}},", reg.address, Quoted(field.name), field.lsb,
                 field.mask(), Quoted(field.description));
      }
    }
  }
  out.Line("}};\n");
}

}  // namespace

std::string WriteCppHeader(const Spec& spec) {
  Writer out;
  out.Line("// Generated by spec_gen from model/contract/registers.toml. Do not edit.");
  out.Line(
      "// The card's software-visible contract: PCI identity, queue entries, registers of BAR0.");
  out.Line("#pragma once\n\n#include <cstddef>\n#include <cstdint>\n#include <type_traits>\n");
  out.Line(
      "static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, \"layouts are little endian\");");
  out.Line("\nnamespace spyre {{\n");
  Constants(out, spec);
  Enums(out, spec);
  Layouts(out, spec);
  Registers(out, spec);
  Tables(out, spec);
  out.Line("}}  // namespace regs\n");
  out.Line("}}  // namespace spyre");
  return out.Take();
}

}  // namespace spyre::generator
