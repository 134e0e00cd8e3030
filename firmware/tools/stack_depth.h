// SPDX-License-Identifier: Apache-2.0
// The deepest stack that a RISC-V program can need, from its disassembly: frames and calls as they
// are in the image, whoever made them (compiler, assembler, library). Pure functions.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace spyre::firmware {

struct Listing {
  struct Function {
    uint64_t frame_bytes = 0;  // all that the function takes from sp, on whatever path
    std::set<std::string> calls;
  };
  std::map<std::string, Function> functions;
  std::map<std::string, uint64_t> symbols;
};

struct Depth {
  uint64_t bytes = 0;
  std::vector<std::string> path;  // of functions, from the one asked for
};

// Output of `objdump -t -d`. Throws std::runtime_error for an indirect call or jump, or a change of
// sp that has no fixed size, with the line.
Listing ReadListing(std::istream& text);

// Throws std::runtime_error for a recursion, with its path, and for a function that is not there.
Depth DeepestStack(const Listing& listing, const std::string& function);

}  // namespace spyre::firmware
