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

struct Hcm {
  Vdci vdci;
  // Position in inputSym_ of each record of the correction input; no records: there is nothing to
  // be computed, and carrying it out is an error.
  std::vector<uint32_t> records;

  // Throws std::runtime_error that names the field which is wrong.
  void importJsonStr(const std::string& text);
};
