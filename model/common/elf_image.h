// SPDX-License-Identifier: Apache-2.0
// A RISC-V executable: what a loader and a debugger's messages need of it. Hostile files get an
// error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/contract/firmware_package.h"

namespace spyre::model {

struct ElfSegment {
  uint32_t address = 0;
  std::vector<uint8_t> data;
  uint32_t zero_bytes = 0;  // behind data
};

struct ElfImage {
  std::string name;  // for messages: the path, or what it is
  uint32_t entry = 0;
  std::vector<ElfSegment> segments;         // PT_LOAD, in file order
  std::map<std::string, uint32_t> symbols;  // of .symtab, those with a name
  // "name+0x10", or the number if no symbol lies at or before it.
  std::string Describe(uint32_t address) const;
};

// 32-bit little-endian RISC-V executables only. Throws Error(kBadInput) naming `name` and what
// is wrong: this is an image that a card refuses.
ElfImage ParseElf(const std::vector<uint8_t>& bytes, const std::string& name);
ElfImage ReadElf(const std::string& path);

// What a loader would put into the management controller's SRAM, in one piece. Throws
// Error(kBadInput) naming the image if its segments are not in that SRAM or leave the entry
// outside.
FirmwareProgram FlattenElf(const ElfImage& image);

}  // namespace spyre::model
