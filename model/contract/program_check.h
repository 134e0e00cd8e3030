// SPDX-License-Identifier: Apache-2.0
// The rules that every program obeys, whether it comes from an image, from text or from a code
// generator. Pure functions, any thread.
#pragma once

#include <string>

#include "model/contract/program.h"

namespace spyre {

inline constexpr size_t kMaxImageBytes = 64u << 20;
inline constexpr size_t kMaxProgramName = 31;  // bytes of the header's name field, less a final 0

// What is wrong with one instruction by itself, on `unit`, in a program with `table_entries`
// address-table entries and `core_registers` registers of each core; empty if nothing. What is
// right is part of the text.
std::string CheckInstruction(const Instruction& instruction, Unit unit, size_t table_entries,
                             size_t core_registers);

// Throws Error(kBadInput) naming the section and instruction: masks, LX size, name, instructions,
// loop nesting, at most one section per unit and core, core-register rows, image size.
void CheckProgram(const Program& program);

// Size of the image that Encode makes of it.
size_t ImageBytes(size_t sections, size_t core_register_rows, size_t core_register_width,
                  size_t table_entries, size_t instructions);

}  // namespace spyre
