// SPDX-License-Identifier: Apache-2.0
// A plan of the user's own for a list of operations: what is otherwise decided by hints, by the
// rules of work division and by the LX planner. What a plan does not say stays with them.
//
// Callers: the workload reader (ReadPlan), the front end (the rest). Plain data and pure functions,
// any thread. Names are those that `compile --emit division` prints: of the operations that
// composites became ("p.max" and "p" of a softmax p), of copies that tiling inserted ("copy_y").
// Errors: CompileError of type "InvalidPlan", with the reason and the nearest valid choice;
// BadInput from ReadPlan.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/compiler/division/graph_division.h"
#include "runtime/compiler/lx/lx_planning.h"
#include "runtime/compiler/tiling/coarse_tile.h"
#include "runtime/compiler/tiling/graph.h"
#include "runtime/compiler/tiling/hints.h"

namespace spyre::compiler {

using PlanDim = std::variant<std::string, int64_t>;  // by name, or position in the first operation

// Every one of `dims` is cut into `count` tiles, which makes a loop of `count` for each.
struct PlanLevel {
  int64_t count = 1;
  std::vector<PlanDim> dims;  // empty: the first dimension
};

// An operation, or loops around several: [operations, count, dims].
struct PlanNode {
  std::string op;                 // "": a group
  std::vector<PlanNode> body;     // of a group, in order
  std::vector<PlanLevel> levels;  // of a group, outermost first
  std::string path;               // of the key, for messages: "plan.groups[0]"
};

// Where a result lies.
struct PlanPlace {
  bool in_lx = false;              // false: in device memory
  std::optional<int64_t> address;  // in LX, bytes, the same on every core; nothing: any
};

struct Plan {
  std::map<std::string, NamedSplits> splits;    // operation -> dimension -> slices; 1 if not named
  std::optional<std::vector<PlanNode>> groups;  // instead of the hints'; nothing: the hints hold
  std::map<std::string, PlanPlace> places;      // by result
  std::vector<std::string> cuts;  // operations behind which a kernel ends and another begins

  bool empty() const { return splits.empty() && !groups && places.empty() && cuts.empty(); }
};

// The form that docs/plans.md describes:
//   {"splits": {"y": {"A": 4}}, "groups": [[["y", "z"], 2, ["A"]]],
//    "lx": {"y": "lx" | "device" | ADDRESS}, "cuts": ["y"]}
// `path`: of the plan, for messages.
Plan ReadPlan(const nlohmann::ordered_json& value, const std::string& path);
// ReadPlan of it gives an equal plan.
nlohmann::ordered_json PlanToJson(const Plan& plan);

// The part of a plan for the operations of one kernel of a list that is cut; `ops`: names in the
// list. Cuts are left out.
Plan PlanForPart(const Plan& plan, const std::vector<std::string>& ops);
// Of a copy that tiling inserted what it copies ("p.max" of "copy_p.max"), else the name itself.
std::string CopiedBy(const std::string& op);
// The name in the user's list: of "p.max" and "copy_p" it is "p".
std::string ListNameOf(const std::string& op);
// The operations inside a group, by name, in order.
std::vector<std::string> OperationsOf(const PlanNode& node);

// ---------------------------------------------------------------- used by the front end

// The groups of the plan as those of hints: gives their operations dim_hints, one for each loop.
// A composite's name stands for all that it became. `log` gets a line for each operation that does
// all of its work in each iteration, as for hints. Kinds of refusals: "unknown_op", "op_twice",
// "not_contiguous", "unknown_dim", "nothing_to_divide", "not_divisible", "partial_stick".
std::vector<TileGroup> GroupsOfPlan(Graph& graph, const DimNames& loop_names,
                                    const std::vector<PlanNode>& groups,
                                    std::vector<std::string>& log);

// What the planner is told of the plan's places.
std::map<std::string, LxPin> PinsOf(const Plan& plan);

// Refuses, with the reason, a plan whose places the planner could not keep: "unknown_buffer",
// "not_in_lx". `device`: buffers that must be in device memory.
void CheckPlaces(const Plan& plan, const Graph& graph, const DimNames& loop_names,
                 const std::map<std::string, WorkDivision>& divisions,
                 const std::map<std::string, std::string>& device, const LxPlan& lx,
                 const LxOptions& options);

}  // namespace spyre::compiler
