// SPDX-License-Identifier: Apache-2.0
// What was found out about the results of a program's kernels. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spyre::cosim {

// All launches of kernels of one name.
struct KernelCheck {
  uint64_t launches = 0;
  uint64_t compared = 0;  // launches, each with all elements of its outputs
  uint64_t wrong = 0;     // of them
  int64_t elements = 0;   // compared bit for bit
  int64_t mismatches = 0;
  std::string first_wrong;   // "out, element 7: got 1.5, expected 1.25"
  std::string not_compared;  // why some launches were not, of those that were to be; "": all were
  // Outputs of SEN169_FP16: elements that are its symbol for infinities and NaN, over all launches.
  uint64_t special_codes = 0;
  std::vector<std::string> origins;  // as ProgramBundle
  std::string kept;                  // directory of its first bundle; "": none
};

struct ProgramChecks {
  // Infinities and NaN among the host's numbers, over all copies with conversion.
  uint64_t special_to_card = 0, special_from_card = 0;
  std::string verify = "none";                 // "none", "sample", "full": what was asked for
  std::map<std::string, KernelCheck> kernels;  // by name
  std::string
      first_special;  // the first kernel that made such an element of inputs without; "": none

  uint64_t compared() const;
  uint64_t wrong() const;
  uint64_t launches() const;
};

}  // namespace spyre::cosim
