// SPDX-License-Identifier: Apache-2.0
// Places buffers with known lifetimes in the LX scratchpad. Three solvers, as in the public
// compiler; a buffer that none finds room for stays in device memory.
//
// Callers: LX planning (lx_planning.h), `opt lx-solve`. Pure functions, any thread. Sizes and
// addresses in bytes, times in operations. Source: public scratchpad planner (docs/facts.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::compiler {

struct LxBuffer {
  std::string name;
  int64_t size = 0;
  int64_t start = 0;  // first operation that touches it
  int64_t end = 0;    // behind the last one
  // Buffers whose slot it may take, the preferred first: each dies in the operation that writes
  // this one (its end is start + 1), and is at least as large.
  std::vector<std::string> in_place;
  // Where it must lie, before the others are placed; first and best fit only.
  std::optional<int64_t> address{};
};

enum class LxSolver : uint8_t {
  kGreedy,    // sweeps over time; above everything that is live, else the first gap
  kFirstFit,  // short lifetimes first, each in the first gap that is free for its lifetime
  kBestFit,   // the same order, each in the tightest gap
};

// "greedy", "firstfit", "bestfit". Throws CompileError "ValueError" / "unknown_lx_solver".
LxSolver LxSolverFromName(std::string_view name);

// Buffers with an address keep it; one that does not fit there beside those before it gets none.
// Address of each buffer, in order of `buffers`; nothing: no room. capacity at least 0, alignment
// at least 1. Errors: BadInput for a name given twice, a negative size, a time beyond 2^48, more
// than 4096 buffers; first and best fit: BadInput for an in_place name that is not a buffer,
// CompileError "AssertionError" / "in_place_relation" if an in_place relation does not hold or they
// form a ring.
std::vector<std::optional<int64_t>> PlaceInLx(LxSolver solver, const std::vector<LxBuffer>& buffers,
                                              int64_t capacity, int64_t alignment);

}  // namespace spyre::compiler
