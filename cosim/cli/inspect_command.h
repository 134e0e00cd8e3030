// SPDX-License-Identifier: Apache-2.0
// The commands of spyre-cosim that look at things without running them: configurations,
// registers, programs, assembler. Single thread. Errors: Error(kBadInput).
#pragma once

#include <string>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

void AddCheckCommand(command_line::Command& root);
void AddRegsCommand(command_line::Command& root);
void AddProgramTextCommands(command_line::Command& root);  // disasm and asm

// The BAR0 registers and their fields, from the generated register table.
std::string RegistersText();
std::string RegistersMarkdown();
std::string RegistersJson();

// Text of a program binary, or of every program of a SpyreCode directory.
std::string DisassemblePath(const std::string& path);
// Assembles a text file into a program binary.
void AssembleFile(const std::string& source, const std::string& output);

}  // namespace spyre::cosim
