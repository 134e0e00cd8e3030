// SPDX-License-Identifier: Apache-2.0
// Programs that an intruder runs.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/contract/program.h"

namespace spyre::fuzz {

// They do not end by themselves, and hold what they can: cores, the barrier, a multicast, memory.
inline const std::vector<const char*>& EndlessPrograms() {
  static const std::vector<const char*> programs = {
      R"(
.program token
.cores 0xFFFFFFFF
.section vector 0xFFFFFFFF
  nop wait=t1
)",
      R"(
.program loop
.cores 0xFFFFFFFF
.section vector 0xFFFFFFFF
  li r1, 1000000000000
  loop r2, r1
    nop
  end
)",
      R"(
.program barrier
.cores 0x3
.section ring 0x1
  li r1, 3
  barrier r1, r0
)",
      R"(
.program group
.cores 0x1
.lx 128
.section load 0x1
  li r2, 128
  li r3, 1
  li r4, 4294967295
  load r0, r0, r2, r3, r0, r0, r3, r0, r0, r4
)",
      R"(
.program stores
.cores 0xFFFFFFFF
.lx 4096
.section store 0xFFFFFFFF
  li r2, 4096
  li r3, 1
  li r5, 4294967296
  store r0, r0, r2, r5, r0, r0, r3, r0, r0
)"};
  return programs;
}

// Stores 64 KiB of LX from `lx` on, of four cores from `first` on, to segment 0.
inline Program PeekProgram(uint32_t first, uint64_t lx) {
  return Assemble(fmt::format(R"(
.program peek
.cores {0:#x}
.lx 128
.core {1}: 0
.core {2}: 65536
.core {3}: 131072
.core {4}: 196608
.section store {0:#x}
  creg r1, 0
  li r2, {5}
  li r3, 65536
  li r4, 1
  store r2, r1, r3, r4, r0, r0, r4, r0, r0
)",
                              0xFu << first, first, first + 1, first + 2, first + 3, lx));
}

}  // namespace spyre::fuzz
