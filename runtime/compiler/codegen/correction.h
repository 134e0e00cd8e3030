// SPDX-License-Identifier: Apache-2.0
// Program correction: a program that tells a compute program where its tensors are. Used by code
// generation only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/contract/program.h"

namespace spyre::compiler {

// Bytes of so many records, padded to a stick. `arguments` here and below: arguments and dimensions
// of the kernel together.
uint64_t CorrectionInputBytes(size_t arguments);

// Runs on core 0: reads the CorrectionRecords at device virtual address `input`, turns them into
// address-table entries, writes these to `tables`, the address tables of the kernel's programs. Of
// the LX it leaves the first `kept_lx` bytes as they are, which are a multiple of a stick.
Program CorrectionProgram(const std::string& kernel, size_t arguments, uint64_t input,
                          const std::vector<uint64_t>& tables, uint64_t kept_lx = 0);

}  // namespace spyre::compiler
