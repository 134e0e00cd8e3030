// SPDX-License-Identifier: Apache-2.0
#include "model/contract/program_check.h"

#include "base/error.h"
#include "model/contract/op_table.h"

namespace spyre {
namespace {

std::string UnitNames() {
  std::string names;
  for (int unit = 0; unit < kUnitCount; ++unit) {
    if (unit > 0) names += ", ";
    names += UnitName(static_cast<Unit>(unit));
  }
  return names;
}

void CheckName(const std::string& name) {
  if (name.size() > kMaxProgramName) {
    throw BadInput("program name '{}' has {} bytes; at most {} fit", name, name.size(),
                   kMaxProgramName);
  }
  for (char c : name) {
    if (c < 0x20 || c > 0x7E || c == ';') {
      throw BadInput("program name has the byte 0x{:02x}; printable ASCII without ';' is allowed",
                     static_cast<unsigned char>(c));
    }
  }
  if (!name.empty() && (name.front() == ' ' || name.back() == ' ')) {
    throw BadInput("program name '{}' begins or ends with a space", name);
  }
}

void CheckSection(const Program& program, size_t number) {
  const Section& section = program.sections[number];
  if (static_cast<int>(section.unit) >= kUnitCount) {
    throw BadInput("section {}: unit {} does not exist; units are 0..{} ({})", number,
                   static_cast<int>(section.unit), kUnitCount - 1, UnitNames());
  }
  if (section.core_mask == 0 || (section.core_mask & ~program.core_mask) != 0) {
    throw BadInput(
        "section {} ({}): core mask 0x{:08x} must name at least one core, all of them in "
        "the program's mask 0x{:08x}",
        number, UnitName(section.unit), section.core_mask, program.core_mask);
  }
  int depth = 0;
  for (size_t i = 0; i < section.code.size(); ++i) {
    const Instruction& instruction = section.code[i];
    std::string problem = CheckInstruction(instruction, section.unit, program.address_table.size(),
                                           program.core_register_width());
    if (problem.empty() && instruction.op == Op::kLoop && ++depth > kMaxLoopDepth) {
      problem = fmt::format("loops nest deeper than {}", kMaxLoopDepth);
    }
    if (problem.empty() && instruction.op == Op::kEnd && --depth < 0) {
      problem = "'end' without a 'loop' before it";
    }
    if (!problem.empty()) {
      throw BadInput("section {} ({}), instruction {}: {}", number, UnitName(section.unit), i,
                     problem);
    }
  }
  if (depth != 0) {
    throw BadInput("section {} ({}): {} 'loop' without 'end' at the end of the section", number,
                   UnitName(section.unit), depth);
  }
}

void CheckCoreRegisters(const Program& program) {
  const auto& rows = program.core_registers;
  if (rows.empty()) return;
  if (rows.size() != static_cast<size_t>(kMaxCores)) {
    throw BadInput("core registers have {} rows; there are {}, one per core, or none", rows.size(),
                   kMaxCores);
  }
  const size_t width = program.core_register_width();
  if (width < 1 || width > static_cast<size_t>(kMaxCoreRegisters)) {
    throw BadInput("a core has {} core registers; 1..{} are possible", width, kMaxCoreRegisters);
  }
  for (size_t core = 0; core < rows.size(); ++core) {
    if (rows[core].size() != width) {
      throw BadInput("core {} has {} core registers, core 0 has {}; all have as many", core,
                     rows[core].size(), width);
    }
  }
}

}  // namespace

std::string CheckInstruction(const Instruction& instruction, Unit unit, size_t table_entries,
                             size_t core_registers) {
  const OpInfo* info = FindOp(static_cast<uint8_t>(instruction.op));
  if (info == nullptr)
    return fmt::format("opcode {} is not defined", static_cast<int>(instruction.op));
  if (!RunsOn(instruction.op, unit)) {
    return fmt::format("'{}' runs on the {} unit, not on {}", info->mnemonic, UnitName(info->unit),
                       UnitName(unit));
  }
  if (!IsKnownFn(info->fn_set, instruction.fn)) {
    return fmt::format("'{}' has no function {}", info->mnemonic, instruction.fn);
  }
  if (instruction.wait >= kTokens || instruction.signal >= kTokens) {
    return fmt::format("'{}' waits for token {} and signals token {}; tokens are 1..{}, 0 for none",
                       info->mnemonic, instruction.wait, instruction.signal, kTokens - 1);
  }
  for (size_t i = 0; i < instruction.reg.size(); ++i) {
    const bool used = i < info->operands.size() && info->operands[i] != "-";
    if (used && instruction.reg[i] >= kRegisters) {
      return fmt::format("'{}' operand {} is register {}; registers are 0..{}", info->mnemonic,
                         info->operands[i], instruction.reg[i], kRegisters - 1);
    }
    if (!used && instruction.reg[i] != 0) {
      return fmt::format("'{}' does not use operand {}, which must be register 0 and is {}",
                         info->mnemonic, i, instruction.reg[i]);
    }
  }
  if (!info->has_immediate && instruction.imm != 0) {
    return fmt::format("'{}' has no immediate, but {} is given", info->mnemonic, instruction.imm);
  }
  if (instruction.op == Op::kTab &&
      (instruction.imm < 0 || static_cast<uint64_t>(instruction.imm) >= table_entries)) {
    return fmt::format("'tab' reads address-table entry {}; the table has {} entries",
                       instruction.imm, table_entries);
  }
  if (instruction.op == Op::kCreg &&
      (instruction.imm < 0 || static_cast<uint64_t>(instruction.imm) >= core_registers)) {
    return fmt::format("'creg' reads core register {}; core registers are 0..{}", instruction.imm,
                       core_registers - 1);
  }
  if (instruction.op == Op::kMark && (instruction.imm < 0 || instruction.imm >= kMaxSteps)) {
    return fmt::format("'mark' begins step {}; steps are 0..{}", instruction.imm, kMaxSteps - 1);
  }
  return "";
}

size_t ImageBytes(size_t sections, size_t core_register_rows, size_t core_register_width,
                  size_t table_entries, size_t instructions) {
  return kImageHeaderBytes + AlignUp(sections * 16, kStickBytes) +
         AlignUp(core_register_rows * core_register_width * 8, kStickBytes) +
         AlignUp(table_entries * 8, kStickBytes) +
         AlignUp(instructions * kInstructionBytes, kStickBytes);
}

void CheckProgram(const Program& program) {
  CheckName(program.name);
  if (program.core_mask == 0) throw BadInput("the program's core mask names no core");
  if (program.lx_bytes > kLxUsableBytes) {
    throw BadInput("the program uses {} bytes of LX; a core has {} for programs", program.lx_bytes,
                   kLxUsableBytes);
  }
  CheckCoreRegisters(program);
  std::array<uint32_t, kUnitCount> taken{};  // per unit: cores that have a section
  size_t instructions = 0;
  for (size_t i = 0; i < program.sections.size(); ++i) {
    const Section& section = program.sections[i];
    CheckSection(program, i);
    uint32_t& cores = taken[static_cast<size_t>(section.unit)];
    if ((cores & section.core_mask) != 0) {
      throw BadInput("section {}: cores 0x{:08x} already have a section for the {} unit", i,
                     cores & section.core_mask, UnitName(section.unit));
    }
    cores |= section.core_mask;
    instructions += section.code.size();
  }
  const size_t bytes =
      ImageBytes(program.sections.size(), program.core_registers.size(),
                 program.core_register_width(), program.address_table.size(), instructions);
  if (bytes > kMaxImageBytes) {
    throw BadInput("the image would have {} bytes; at most {} are allowed", bytes, kMaxImageBytes);
  }
  if (program.next != 0 && (program.next < bytes || program.next % kStickBytes != 0)) {
    throw BadInput(
        "the next program is {} bytes behind the start of this one; at least {}, in whole sticks, "
        "are possible",
        program.next, bytes);
  }
}

}  // namespace spyre
