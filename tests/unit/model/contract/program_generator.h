// SPDX-License-Identifier: Apache-2.0
// Random valid programs for property tests, grown from rapidcheck so that failures shrink.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/contract/op_table.h"
#include "model/contract/program.h"

namespace spyre {

inline std::vector<uint8_t> ValidFns(FnSet set) {
  std::vector<uint8_t> fns;
  for (int fn = 0; fn < 256; ++fn) {
    if (IsKnownFn(set, static_cast<uint8_t>(fn))) fns.push_back(static_cast<uint8_t>(fn));
  }
  return fns;
}

inline Instruction RandomInstruction(const OpInfo& info, size_t table_entries,
                                     size_t core_registers) {
  Instruction instruction;
  instruction.op = info.op;
  instruction.fn = *rc::gen::elementOf(ValidFns(info.fn_set));
  instruction.wait = *rc::gen::inRange<uint8_t>(0, kTokens);
  instruction.signal = *rc::gen::inRange<uint8_t>(0, kTokens);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i] != "-") instruction.reg[i] = *rc::gen::inRange<uint8_t>(0, kRegisters);
  }
  if (info.op == Op::kTab) {
    instruction.imm = *rc::gen::inRange<int64_t>(0, static_cast<int64_t>(table_entries));
  } else if (info.op == Op::kCreg) {
    instruction.imm = *rc::gen::inRange<int64_t>(0, static_cast<int64_t>(core_registers));
  } else if (info.op == Op::kMark) {
    instruction.imm = *rc::gen::inRange<int64_t>(0, kMaxSteps);
  } else if (info.has_immediate) {
    instruction.imm = *rc::gen::arbitrary<int64_t>();
  }
  return instruction;
}

// Instructions of one unit; loops are opened and closed at random and closed at the end.
inline std::vector<Instruction> RandomCode(Unit unit, size_t table_entries, size_t core_registers) {
  std::vector<const OpInfo*> ops;
  for (const OpInfo& info : OpTable()) {
    if (RunsOn(info.op, unit) && (info.op != Op::kTab || table_entries > 0)) ops.push_back(&info);
  }
  std::vector<Instruction> code;
  int depth = 0;
  const int length = *rc::gen::inRange(0, 12);
  for (int i = 0; i < length; ++i) {
    const OpInfo& info = **rc::gen::elementOf(ops);
    if (info.op == Op::kLoop && depth == kMaxLoopDepth) continue;
    if (info.op == Op::kEnd && depth == 0) continue;
    depth += info.op == Op::kLoop ? 1 : info.op == Op::kEnd ? -1 : 0;
    code.push_back(RandomInstruction(info, table_entries, core_registers));
  }
  Instruction end;
  end.op = Op::kEnd;
  code.insert(code.end(), static_cast<size_t>(depth), end);
  return code;
}

inline Program RandomProgram() {
  Program program;
  const auto length = *rc::gen::inRange<size_t>(0, 32);
  program.name = *rc::gen::container<std::string>(
      length, rc::gen::elementOf(std::string("abcXYZ 019_-.,:/=\"'+")));
  if (!program.name.empty() && program.name.front() == ' ') program.name.front() = 'n';
  if (!program.name.empty() && program.name.back() == ' ') program.name.back() = 'n';
  program.core_mask = *rc::gen::inRange<uint32_t>(1, UINT32_MAX);
  program.lx_bytes = *rc::gen::inRange<uint32_t>(0, kLxUsableBytes + 1);
  program.timing_only = *rc::gen::arbitrary<bool>();
  program.generated_loops = *rc::gen::arbitrary<bool>();
  program.address_table.resize(*rc::gen::inRange<size_t>(0, 40));
  for (uint64_t& entry : program.address_table) {
    if (*rc::gen::arbitrary<bool>()) entry = *rc::gen::arbitrary<uint64_t>();
  }
  if (*rc::gen::arbitrary<bool>()) {
    const size_t width = *rc::gen::oneOf(rc::gen::just<size_t>(kCoreRegisters),
                                         rc::gen::inRange<size_t>(1, kMaxCoreRegisters + 1));
    program.core_registers.assign(kMaxCores, std::vector<int64_t>(width));
    program.core_registers[*rc::gen::inRange<size_t>(0, kMaxCores)]
                          [*rc::gen::inRange<size_t>(0, width)] = *rc::gen::arbitrary<int64_t>();
  }
  for (int unit = 0; unit < kUnitCount; ++unit) {
    // The cores of a unit are dealt to up to two sections.
    const uint32_t first = program.core_mask & *rc::gen::arbitrary<uint32_t>();
    for (uint32_t mask : {first, program.core_mask & ~first}) {
      if (mask == 0 || !*rc::gen::arbitrary<bool>()) continue;
      const Unit kind = static_cast<Unit>(unit);
      program.sections.push_back(
          {kind, mask,
           RandomCode(kind, program.address_table.size(), program.core_register_width())});
    }
  }
  return program;
}

inline void ExpectSame(const Program& a, const Program& b) {
  RC_ASSERT(a.name == b.name);
  RC_ASSERT(a.core_mask == b.core_mask);
  RC_ASSERT(a.lx_bytes == b.lx_bytes);
  RC_ASSERT(a.timing_only == b.timing_only);
  RC_ASSERT(a.generated_loops == b.generated_loops);
  RC_ASSERT(a.address_table == b.address_table);
  RC_ASSERT(a.core_registers == b.core_registers);
  RC_ASSERT(a.sections.size() == b.sections.size());
  for (size_t i = 0; i < a.sections.size(); ++i) {
    RC_ASSERT(a.sections[i].unit == b.sections[i].unit);
    RC_ASSERT(a.sections[i].core_mask == b.sections[i].core_mask);
    RC_ASSERT(a.sections[i].code == b.sections[i].code);
  }
}

}  // namespace spyre
