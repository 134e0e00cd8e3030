// SPDX-License-Identifier: Apache-2.0
// The front end: from a list of operations to OpSpecs in counted loops, which bundle emission takes
// (bundle.h). The passes in order: composites are taken apart, sticks are planned, the graph is
// built, hints become tile groups, groups are tiled and results that leave them get whole buffers,
// work is divided over the cores, buffers get their places in LX, pool or arguments.
//
// Callers: cosim (`run`, `compile`), tests. Pure functions, any thread. Errors: CompileError with
// the public compiler's type and kind, BadInput otherwise.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/division/graph_division.h"
#include "runtime/compiler/front_end/named_graph.h"
#include "runtime/compiler/front_end/plan.h"
#include "runtime/compiler/lx/lx_planning.h"
#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/tiling/coarse_tile.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

struct FrontEndOptions {
  bool tiling = true;  // false: hints and groups of the plan are ignored
  DivisionOptions division;
  bool allow_long_spans = false;  // a core may reach more than 256 MiB of a tensor
  bool lx_planning = true;        // false: every intermediate is in the pool
  LxOptions lx;
  Plan plan;  // without cuts: those are the caller's. Before everything else here
};

struct FrontEndArgument {
  int tensor = -1;  // position in NamedGraph::tensors of what was given to CompileNamedGraph
  bool is_output = false;
  StickLayout layout;  // over the shape that the named tensor has
  // A constant: not of that graph, but a tensor of one element with this value.
  bool is_constant = false;
  double value = 0;
  std::string name;
};

struct FrontEndResult {
  NamedGraph primitives;  // taken apart, sticks planned
  Graph graph;            // tiled
  std::vector<TileGroup> groups;
  std::map<std::string, WorkDivision> divisions;  // by operation
  LxPlan lx;
  KernelSource source;
  std::vector<FrontEndArgument> arguments;  // in order of the kernel's
  std::vector<std::string> log;             // "WARNING: ...", "CRITICAL: ..."
};

// Throws CompileError Unsupported "span_too_large" where work division leaves a core more than 256
// MiB of a tensor to reach, unless options allow it: then it is in the log.
FrontEndResult CompileNamedGraph(const NamedGraph& named, const FrontEndOptions& options);

// The form of the coarse-tiling RFC where its seven segments suffice for arguments and pool, else
// the newest.
BundleDialect DialectFor(const FrontEndResult& result);

// What one pass left, as text: "sticks", "graph", "groups", "division", "lx", "loops" or "opspec".
// Throws BadInput with the nearest name for another stage.
std::string DumpStage(const FrontEndResult& result, const std::string& stage);
const std::vector<std::string>& DumpStages();

}  // namespace spyre::compiler
