// SPDX-License-Identifier: Apache-2.0
// One row per opcode: mnemonic, unit, operands and functions. The only such table: encoder, checks,
// assembler and disassembler read it. Constant data, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/contract/program.h"

namespace spyre {

// Names of `fn` values, in order of value. Empty: the op takes no function and fn is 0.
enum class FnSet : uint8_t { kNone, kBinary, kUnary, kReduce, kCombine, kRound, kFormat, kConvert };

struct OpInfo {
  Op op;
  std::string_view mnemonic;
  bool scalar;  // runs on every unit; otherwise only on `unit`
  Unit unit;
  FnSet fn_set;
  bool has_immediate;                      // one more operand, a number, after the registers
  std::vector<std::string_view> operands;  // registers in order; "-" is unused and must be r0
};

const std::vector<OpInfo>& OpTable();  // in order of opcode
const OpInfo* FindOp(uint8_t op);      // nullptr: no such opcode
const OpInfo* FindOp(std::string_view mnemonic);

const std::vector<std::string_view>& FnNames(FnSet set);
bool IsKnownFn(FnSet set, uint8_t fn);
std::string FnSuffix(FnSet set,
                     uint8_t fn);  // ".add", ".sub.lane0", "" ..., a function's flags last

}  // namespace spyre
