// SPDX-License-Identifier: Apache-2.0
// Program to text, in the form that assembler.cc reads.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/contract/op_table.h"
#include "model/contract/program.h"
#include "model/contract/program_check.h"

namespace spyre {
namespace {

using Out = std::back_insert_iterator<std::string>;

void PutCoreRegisters(const Program& program, Out out) {
  const size_t width = program.core_register_width();
  if (width != kCoreRegisters) fmt::format_to(out, ".core_width {}\n", width);
  for (size_t core = 0; core < program.core_registers.size(); ++core) {
    const auto& row = program.core_registers[core];
    const bool zero = std::all_of(row.begin(), row.end(), [](int64_t v) { return v == 0; });
    if (zero && core != 0) continue;  // row 0 always: it tells "all zero" from "no rows"
    fmt::format_to(out, ".core {}:", core);
    // Zeros at the end of a wide row are left out.
    auto end = row.end();
    while (width > kCoreRegisters && end != row.begin() && end[-1] == 0) --end;
    fmt::format_to(out, "{}{}", row.begin() == end ? "" : " ", fmt::join(row.begin(), end, " "));
    fmt::format_to(out, "\n");
  }
}

void PutInstruction(const Instruction& instruction, int depth, Out out) {
  const OpInfo& info = *FindOp(static_cast<uint8_t>(instruction.op));
  fmt::format_to(out, "{:{}}{}{}", "", 2 + 2 * depth, info.mnemonic,
                 FnSuffix(info.fn_set, instruction.fn));
  const char* separator = " ";
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i] == "-") {
      fmt::format_to(out, "{}-", separator);
    } else {
      fmt::format_to(out, "{}r{}", separator, instruction.reg[i]);
    }
    separator = ", ";
  }
  if (info.has_immediate) fmt::format_to(out, "{}{}", separator, instruction.imm);
  if (instruction.wait != 0) fmt::format_to(out, " wait=t{}", instruction.wait);
  if (instruction.signal != 0) fmt::format_to(out, " signal=t{}", instruction.signal);
  fmt::format_to(out, "\n");
}

}  // namespace

std::string Disassemble(const Program& program) {
  CheckProgram(program);
  std::string text;
  const Out out = std::back_inserter(text);
  if (!program.name.empty()) fmt::format_to(out, ".program {}\n", program.name);
  fmt::format_to(out, ".cores 0x{:08x}\n.lx {}\n", program.core_mask, program.lx_bytes);
  if (program.next != 0) fmt::format_to(out, ".next {}\n", program.next);
  if (program.timing_only || program.generated_loops) {
    fmt::format_to(out, ".flags{}{}\n", program.timing_only ? " timing_only" : "",
                   program.generated_loops ? " generated_loops" : "");
  }
  if (!program.address_table.empty()) {
    fmt::format_to(out, ".table {}\n", program.address_table.size());
  }
  for (size_t i = 0; i < program.address_table.size(); ++i) {
    if (program.address_table[i] != 0) {
      fmt::format_to(out, ".entry {} 0x{:x}\n", i, program.address_table[i]);
    }
  }
  PutCoreRegisters(program, out);
  for (const Section& section : program.sections) {
    fmt::format_to(out, "\n.section {} 0x{:08x}\n", UnitName(section.unit), section.core_mask);
    int depth = 0;
    for (const Instruction& instruction : section.code) {
      if (instruction.op == Op::kEnd) --depth;
      PutInstruction(instruction, depth, out);
      if (instruction.op == Op::kLoop) ++depth;
    }
  }
  return text;
}

}  // namespace spyre
