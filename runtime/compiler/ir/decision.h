// SPDX-License-Identifier: Apache-2.0
// What a pass decided and why: for people who ask (`compile --explain`), and for reports. Plain
// data.
#pragma once

#include <string>
#include <vector>

namespace spyre::compiler {

struct Decision {
  struct Refused {
    std::string candidate;  // "B: 32"
    std::string rule;       // "32 does not divide its 400 sticks"
  };

  std::string pass;     // "division"
  std::string subject;  // the operation, buffer or hint
  std::string chosen;   // "A: 32, on 32 of 32 cores"
  std::string because;  // the rule that chose it
  std::vector<Refused> refused;
};

}  // namespace spyre::compiler
