// SPDX-License-Identifier: Apache-2.0
// Random valid programs for property tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "model/contract/op_table.h"
#include "model/contract/program.h"
#include "tests/unit/random_cases.h"

namespace spyre {

inline std::vector<uint8_t> ValidFns(FnSet set) {
  std::vector<uint8_t> fns;
  for (int fn = 0; fn < 256; ++fn) {
    if (IsKnownFn(set, static_cast<uint8_t>(fn))) fns.push_back(static_cast<uint8_t>(fn));
  }
  return fns;
}

inline Instruction RandomInstruction(std::mt19937& random, const OpInfo& info, size_t table_entries,
                                     size_t core_registers) {
  Instruction instruction;
  instruction.op = info.op;
  const std::vector<uint8_t> fns = ValidFns(info.fn_set);
  instruction.fn = fns.at(random() % fns.size());
  instruction.wait = test::Draw<uint8_t>(random, 0, kTokens - 1);
  instruction.signal = test::Draw<uint8_t>(random, 0, kTokens - 1);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i] != "-") {
      instruction.reg[i] = test::Draw<uint8_t>(random, 0, kRegisters - 1);
    }
  }
  if (info.op == Op::kTab) {
    instruction.imm = test::Draw<int64_t>(random, 0, static_cast<int64_t>(table_entries) - 1);
  } else if (info.op == Op::kCreg) {
    instruction.imm = test::Draw<int64_t>(random, 0, static_cast<int64_t>(core_registers) - 1);
  } else if (info.op == Op::kMark) {
    instruction.imm = test::Draw<int64_t>(random, 0, kMaxSteps - 1);
  } else if (info.has_immediate) {
    instruction.imm = static_cast<int64_t>(test::DrawWord(random));
  }
  return instruction;
}

// Instructions of one unit; loops are opened and closed at random and closed at the end.
inline std::vector<Instruction> RandomCode(std::mt19937& random, Unit unit, size_t table_entries,
                                           size_t core_registers) {
  std::vector<const OpInfo*> ops;
  for (const OpInfo& info : OpTable()) {
    if (RunsOn(info.op, unit) && (info.op != Op::kTab || table_entries > 0)) ops.push_back(&info);
  }
  std::vector<Instruction> code;
  int depth = 0;
  const int length = test::Draw(random, 0, 11);
  for (int i = 0; i < length; ++i) {
    const OpInfo& info = *ops[random() % ops.size()];
    if (info.op == Op::kLoop && depth == kMaxLoopDepth) continue;
    if (info.op == Op::kEnd && depth == 0) continue;
    depth += info.op == Op::kLoop ? 1 : info.op == Op::kEnd ? -1 : 0;
    code.push_back(RandomInstruction(random, info, table_entries, core_registers));
  }
  Instruction end;
  end.op = Op::kEnd;
  code.insert(code.end(), static_cast<size_t>(depth), end);
  return code;
}

inline Program RandomProgram(std::mt19937& random) {
  Program program;
  const std::string characters = "abcXYZ 019_-.,:/=\"'+";
  for (int i = test::Draw(random, 0, 31); i > 0; --i) {
    program.name += characters[random() % characters.size()];
  }
  if (!program.name.empty() && program.name.front() == ' ') program.name.front() = 'n';
  if (!program.name.empty() && program.name.back() == ' ') program.name.back() = 'n';
  program.core_mask = test::Draw<uint32_t>(random, 1, UINT32_MAX);
  program.lx_bytes = test::Draw<uint32_t>(random, 0, kLxUsableBytes);
  program.timing_only = test::DrawBool(random);
  program.generated_loops = test::DrawBool(random);
  program.address_table.resize(test::Draw<size_t>(random, 0, 39));
  for (uint64_t& entry : program.address_table) {
    if (test::DrawBool(random)) entry = test::DrawWord(random);
  }
  if (test::DrawBool(random)) {
    const size_t width = test::DrawBool(random) ? size_t{kCoreRegisters}
                                                : test::Draw<size_t>(random, 1, kMaxCoreRegisters);
    program.core_registers.assign(kMaxCores, std::vector<int64_t>(width));
    std::vector<int64_t>& row = program.core_registers[random() % kMaxCores];
    row[test::Draw<size_t>(random, 0, width - 1)] = static_cast<int64_t>(test::DrawWord(random));
  }
  for (int unit = 0; unit < kUnitCount; ++unit) {
    // The cores of a unit are dealt to up to two sections.
    const uint32_t first = program.core_mask & static_cast<uint32_t>(random());
    for (uint32_t mask : {first, program.core_mask & ~first}) {
      if (mask == 0 || !test::DrawBool(random)) continue;
      const Unit kind = static_cast<Unit>(unit);
      program.sections.push_back(
          {kind, mask,
           RandomCode(random, kind, program.address_table.size(), program.core_register_width())});
    }
  }
  return program;
}

inline void ExpectSame(const Program& a, const Program& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.core_mask, b.core_mask);
  EXPECT_EQ(a.lx_bytes, b.lx_bytes);
  EXPECT_EQ(a.timing_only, b.timing_only);
  EXPECT_EQ(a.generated_loops, b.generated_loops);
  EXPECT_TRUE(a.address_table == b.address_table);
  EXPECT_TRUE(a.core_registers == b.core_registers);
  ASSERT_EQ(a.sections.size(), b.sections.size());
  for (size_t i = 0; i < a.sections.size(); ++i) {
    EXPECT_TRUE(a.sections[i].unit == b.sections[i].unit) << "section " << i;
    EXPECT_EQ(a.sections[i].core_mask, b.sections[i].core_mask) << "section " << i;
    EXPECT_TRUE(a.sections[i].code == b.sections[i].code) << "section " << i;
  }
}

}  // namespace spyre
