// SPDX-License-Identifier: Apache-2.0
// The metadata of a host computation of SpyreCode (docs/spyrecode.md, "hcm"): how the correction
// input of a launch is made from the addresses of its arguments. Plain data. C++17.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The symbols that a launch must give, in order: the address of each argument.
struct Vdci {
  std::vector<std::string> inputSym_;
};

// Of the correction input.
struct HcmRecord {
  uint32_t symbol = 0;         // position in inputSym_
  uint64_t written_bytes = 0;  // how far the kernel writes from its address on
};

struct Hcm {
  Vdci vdci;
  // No records: there is nothing to be computed, and carrying it out is an error.
  std::vector<HcmRecord> records;

  // Throws std::runtime_error that names the field which is wrong.
  void importJsonStr(const std::string& text);
};
