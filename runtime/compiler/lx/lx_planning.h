// SPDX-License-Identifier: Apache-2.0
// LX planning: which intermediates of a graph stay in the scratchpads, and where. A buffer may if
// every operation that touches it has the same core hold the same part of it. What stays in device
// memory gets a place in the pool.
//
// Callers: the front end (a whole graph after work division), `opt lx-plan`. Pure functions, any
// thread. Sizes and addresses in bytes, times in operations. Source: public scratchpad planner and
// memory planner (docs/facts.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/contract/memory_map.h"
#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/lx/lx_solver.h"

namespace spyre::compiler {

// One operation as work division left it. Tensor names of `ir` are buffer names: two accesses with
// the same name are the same buffer.
struct LxOperation {
  std::string op;              // "exp", "amax", "batchmatmul": decides where names count
  OpIr ir;                     // what it reads, and the one buffer that it writes
  std::vector<int> splits;     // WorkDivision::splits
  bool k_fastest = false;      // WorkDivision::k_fastest
  bool may_stay_in_lx = true;  // false: its output needs device memory (a mutation, a tensor
                               // that loops walk through)
  std::string stays_out;       // then: why, in words
  std::vector<int> loops;      // path of the counted loops around it (LoopStamp::group_id)
};

struct LxGraph {
  std::vector<LxOperation> operations;  // in order of execution
  std::vector<std::string> inputs;      // of the graph: never in LX
  std::vector<std::string> outputs;     // of the graph: never in LX
};

// What the public planner leaves free for the back end: 0.2 of the 2 MiB.
inline constexpr int64_t kLxPlanningBytes = 1'677'721;

// A buffer that must be in LX (pinned) or must not (barred).
struct LxPin {
  bool in_lx = true;
  std::optional<int64_t> address;  // on every core; nothing: any
};

struct LxOptions {
  LxSolver solver = LxSolver::kGreedy;
  int64_t capacity = kLxPlanningBytes;
  int64_t alignment = static_cast<int64_t>(kStickBytes);
  // False: only outputs of `operations`, as the public planner chooses.
  bool all_operations = true;
  std::vector<std::string> operations = {"max", "amax", "sum", "exp", "sub"};
  // Those whose output may take the place of an operand that dies there.
  std::vector<std::string> in_place = {"exp", "sub"};
  int cores = kMaxCores;  // SENCORES; with 1 no core can hold another part than it needs
  // As the public planner to the letter, for comparisons with it. Programs planned that way may
  // compute wrong numbers: readers may have more cores than the writer, a buffer gets the bytes of
  // one core of the operation even if it has fewer parts than that, and first and best fit may lay
  // a buffer across a dying one that it could have replaced. A split that no device dimension can
  // carry is an assertion failure, where otherwise the buffer stays in device memory.
  bool to_the_letter = false;
  // Facts by buffer. Pinned buffers are placed before all others, and whatever all_operations says;
  // what cannot be in LX, or finds no room there, is in device memory nevertheless: the caller
  // looks. With pins the greedy solver places buffers as first fit does.
  std::map<std::string, LxPin> pins;
};

struct LxBufferPlan {
  static constexpr int kCoresDiffer = -1;

  std::string name;
  int64_t start = 0;         // first operation that touches it
  int64_t end = 0;           // behind the last
  int cores = 1;             // that touch it, or kCoresDiffer
  int64_t device_bytes = 0;  // of all of it
  int64_t core_bytes = 0;    // what each core would hold of it in LX; 0: it was not a candidate
  bool is_input = false;
  std::optional<int64_t> lx_address;   // the same offset on every core
  std::optional<int64_t> pool_offset;  // intermediates that are not in LX
  std::string reason;                  // why it is in LX, or why not, in words
};

struct LxPlan {
  std::vector<LxBufferPlan> buffers;  // in order of first touch
  int64_t pool_bytes = 0;

  const LxBufferPlan* Find(const std::string& name) const;  // null: no operation touches it
};

// Errors: BadInput if an operation is not well formed or reads what is written later; CompileError
// "RuntimeError" / "pool_overflow" if the pool exceeds a segment (16 GiB), "AssertionError" /
// "lx_split_placement" with to_the_letter.
LxPlan PlanLx(const LxGraph& graph, const LxOptions& options);

}  // namespace spyre::compiler
