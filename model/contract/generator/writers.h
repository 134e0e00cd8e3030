// SPDX-License-Identifier: Apache-2.0
// The six outputs of spec_gen, each as one string. Pure functions of the spec.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/contract/generator/spec.h"

namespace spyre::generator {

std::string WriteCppHeader(const Spec& spec);       // registers.h
std::string WriteDriverAccess(const Spec& spec);    // register_access.h
std::string WriteFirmwareHeader(const Spec& spec);  // spyre_registers.h
std::string WriteSystemVerilog(const Spec& spec);   // spyre_pkg.sv
std::string WriteMarkdown(const Spec& spec);        // registers.md
std::string WritePython(const Spec& spec);          // contract.py

// SQ_HEAD -> SqHead
std::string PascalFromUpper(std::string_view name);
// ControlBlock -> control_block
std::string SnakeFromPascal(std::string_view name);
std::string UpperCase(std::string_view name);
// A string literal of C, C++ and SystemVerilog.
std::string Quoted(std::string_view text);

// A 64-bit quantity in two registers: NAME_LO and, four bytes on, NAME_HI.
struct Pair {
  std::string name;
  const Register* low = nullptr;
  const Register* high = nullptr;
};
std::vector<Pair> PairsOf(const Block& block);

}  // namespace spyre::generator
