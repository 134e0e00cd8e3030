// SPDX-License-Identifier: Apache-2.0
// Program to text, in the form that assembler.cc reads.
#include <fmt/format.h>

#include <string>

#include "base/ranges.h"
#include "model/contract/op_table.h"
#include "model/contract/program.h"
#include "model/contract/program_check.h"

namespace spyre {
namespace {

void PutCoreRegisters(const Program& program, std::string& out) {
  const size_t width = program.core_register_width();
  if (width != kCoreRegisters) out += fmt::format(".core_width {}\n", width);
  for (size_t core = 0; core < program.core_registers.size(); ++core) {
    const auto& row = program.core_registers[core];
    const bool zero = AllFit(row, [](int64_t v) { return v == 0; });
    if (zero && core != 0) continue;  // row 0 always: it tells "all zero" from "no rows"
    out += fmt::format(".core {}:", core);
    // Zeros at the end of a wide row are left out.
    auto end = row.end();
    while (width > kCoreRegisters && end != row.begin() && end[-1] == 0) --end;
    out += fmt::format("{}{}", row.begin() == end ? "" : " ", fmt::join(row.begin(), end, " "));
    out += "\n";
  }
}

void PutInstruction(const Instruction& instruction, int depth, std::string& out) {
  const OpInfo& info = *FindOp(static_cast<uint8_t>(instruction.op));
  out += fmt::format("{:{}}{}{}", "", 2 + 2 * depth, info.mnemonic,
                     FnSuffix(info.fn_set, instruction.fn));
  const char* separator = " ";
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i] == "-") {
      out += fmt::format("{}-", separator);
    } else {
      out += fmt::format("{}r{}", separator, instruction.reg[i]);
    }
    separator = ", ";
  }
  if (info.has_immediate) out += fmt::format("{}{}", separator, instruction.imm);
  if (instruction.wait != 0) out += fmt::format(" wait=t{}", instruction.wait);
  if (instruction.signal != 0) out += fmt::format(" signal=t{}", instruction.signal);
  out += "\n";
}

}  // namespace

std::string Disassemble(const Program& program) {
  CheckProgram(program);
  std::string out;
  if (!program.name.empty()) out += fmt::format(".program {}\n", program.name);
  out += fmt::format(".cores 0x{:08x}\n.lx {}\n", program.core_mask, program.lx_bytes);
  if (program.next != 0) out += fmt::format(".next {}\n", program.next);
  if (program.timing_only || program.generated_loops) {
    out += fmt::format(".flags{}{}\n", program.timing_only ? " timing_only" : "",
                       program.generated_loops ? " generated_loops" : "");
  }
  if (!program.address_table.empty()) {
    out += fmt::format(".table {}\n", program.address_table.size());
  }
  for (size_t i = 0; i < program.address_table.size(); ++i) {
    if (program.address_table[i] != 0) {
      out += fmt::format(".entry {} 0x{:x}\n", i, program.address_table[i]);
    }
  }
  PutCoreRegisters(program, out);
  for (const Section& section : program.sections) {
    out += fmt::format("\n.section {} 0x{:08x}\n", UnitName(section.unit), section.core_mask);
    int depth = 0;
    for (const Instruction& instruction : section.code) {
      if (instruction.op == Op::kEnd) --depth;
      PutInstruction(instruction, depth, out);
      if (instruction.op == Op::kLoop) ++depth;
    }
  }
  return out;
}

}  // namespace spyre
