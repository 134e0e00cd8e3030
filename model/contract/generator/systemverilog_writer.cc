// SPDX-License-Identifier: Apache-2.0
// spyre_pkg.sv: the contract for RTL.

#include <fmt/format.h>

#include <set>

#include "model/contract/generator/writers.h"

namespace spyre::generator {
namespace {

// Words of IEEE 1800-2017 that a field may want as its name; such a field gets a trailing
// underscore.
std::string Identifier(const std::string& name) {
  static const std::set<std::string> reserved = {
      "alias",      "always",    "and",           "assert",    "assign",      "automatic",
      "begin",      "bind",      "bit",           "break",     "buf",         "byte",
      "case",       "cell",      "chandle",       "checker",   "class",       "clocking",
      "config",     "const",     "context",       "continue",  "cover",       "cross",
      "default",    "design",    "disable",       "dist",      "do",          "edge",
      "else",       "end",       "enum",          "event",     "expect",      "export",
      "extends",    "extern",    "final",         "for",       "force",       "foreach",
      "forever",    "fork",      "function",      "generate",  "genvar",      "global",
      "if",         "iff",       "import",        "include",   "initial",     "inout",
      "input",      "inside",    "instance",      "int",       "integer",     "interconnect",
      "interface",  "intersect", "join",          "large",     "let",         "liblist",
      "library",    "local",     "logic",         "longint",   "macromodule", "matches",
      "medium",     "modport",   "module",        "nand",      "negedge",     "nettype",
      "new",        "nexttime",  "nor",           "not",       "null",        "or",
      "output",     "package",   "packed",        "parameter", "posedge",     "primitive",
      "priority",   "process",   "program",       "property",  "protected",   "pure",
      "rand",       "randc",     "real",          "ref",       "reg",         "reject_on",
      "release",    "repeat",    "restrict",      "return",    "rtran",       "scalared",
      "sequence",   "shortint",  "signed",        "small",     "soft",        "solve",
      "specify",    "static",    "string",        "strong",    "struct",      "super",
      "supply0",    "supply1",   "table",         "tagged",    "task",        "this",
      "throughout", "time",      "timeprecision", "timeunit",  "tran",        "tri",
      "type",       "typedef",   "union",         "unique",    "unsigned",    "until",
      "untyped",    "use",       "uwire",         "var",       "vectored",    "virtual",
      "void",       "wait",      "wand",          "weak",      "while",       "wildcard",
      "wire",       "with",      "within",        "wor",       "xnor",        "xor"};
  return reserved.count(name) != 0 ? name + "_" : name;
}

std::string EnumText(const Enum& item) {
  const std::string name = SnakeFromPascal(item.name);
  std::string text =
      fmt::format("\n  // {}\n  typedef enum logic [{}:0] {{\n", item.description, item.bits - 1);
  for (size_t i = 0; i < item.values.size(); ++i) {
    const EnumValue& value = item.values[i];
    text += fmt::format("    {}_{} = {}'d{}{}  // {}\n", UpperCase(name), value.name, item.bits,
                        value.value, i + 1 < item.values.size() ? "," : "", value.description);
  }
  return text + fmt::format("  }} {}_e;\n", name);
}

// A packed struct lists its most significant part first, so bytes at offset 0 come last.
std::string LayoutText(const Layout& layout) {
  const std::string name = SnakeFromPascal(layout.name);
  std::string text = fmt::format("\n  // {}\n  typedef struct packed {{\n", layout.description);
  for (auto field = layout.fields.rbegin(); field != layout.fields.rend(); ++field) {
    const std::string extent = field->count == 0 ? "" : fmt::format("[{}:0]", field->count - 1);
    text += fmt::format("    logic {}[{}:0] {};  // byte {}: {}\n", extent, field->bits - 1,
                        Identifier(field->name), field->offset, field->description);
  }
  return text + fmt::format("  }} {}_t;\n  localparam int unsigned {}_BYTES = {};\n", name,
                            UpperCase(name), layout.size);
}

std::string BlockText(const Block& block) {
  std::string text =
      fmt::format("\n  // {}{}: {}\n", block.name, ScopeNote(block.scope), block.description);
  for (const Register& reg : block.registers) {
    text += fmt::format("  localparam logic [31:0] REG_{} = 32'h{:08X};  // {}: {}\n", reg.name,
                        reg.address, AccessName(reg.access), reg.description);
    text +=
        fmt::format("  localparam logic [31:0] REG_{}_RESET = 32'h{:08X};\n", reg.name, reg.reset);
    for (const Field& field : reg.fields) {
      text += fmt::format("  localparam int unsigned REG_{}_{}_SHIFT = {};  // {}\n", reg.name,
                          field.name, field.lsb, field.description);
      text += fmt::format("  localparam logic [31:0] REG_{}_{}_MASK = 32'h{:08X};\n", reg.name,
                          field.name, field.mask());
    }
  }
  return text;
}

}  // namespace

std::string WriteSystemVerilog(const Spec& spec) {
  std::string text =
      "// Generated by spec_gen from model/contract/registers.toml. Do not edit.\n"
      "// Register offsets are in BAR0, those of blocks marked \"management controller\" in its "
      "own\n"
      "// address space. Packed structs hold byte 0 of the layout in bits 7:0.\n"
      "package spyre_pkg;\n\n";
  text += fmt::format("  localparam int unsigned SPEC_VERSION = {};\n", spec.version);
  text +=
      fmt::format("  localparam logic [15:0] PCI_VENDOR_ID = 16'h{:04X};\n", spec.pci.vendor_id);
  text += fmt::format("  localparam logic [15:0] PCI_PF_DEVICE_ID = 16'h{:04X};\n",
                      spec.pci.pf_device_id);
  text += fmt::format("  localparam logic [15:0] PCI_VF_DEVICE_ID = 16'h{:04X};\n",
                      spec.pci.vf_device_id);
  text += fmt::format("  localparam int unsigned MSI_VECTORS = {};\n", spec.pci.msi_vectors);
  text += fmt::format("  localparam int unsigned TOTAL_VFS = {};\n", spec.pci.total_vfs);
  for (const Bar& bar : spec.bars) {
    text += fmt::format("  localparam logic [63:0] BAR{}_BYTES = 64'h{:X};\n", bar.index, bar.size);
  }
  text +=
      fmt::format("  localparam logic [63:0] VF_BAR0_BYTES = 64'h{:X};\n", spec.pci.vf_bar0_size);
  for (const Constant& constant : spec.constants) {
    text += fmt::format("  localparam logic [{}:0] {} = {}'h{:X};  // {}\n", constant.bits - 1,
                        constant.name, constant.bits, constant.value, constant.description);
  }
  for (const Enum& item : spec.enums) text += EnumText(item);
  for (const Layout& layout : spec.layouts) text += LayoutText(layout);
  for (const Block& block : spec.blocks) text += BlockText(block);
  for (const Block& block : spec.controller_blocks) text += BlockText(block);
  return text + "\nendpackage\n";
}

}  // namespace spyre::generator
