// SPDX-License-Identifier: Apache-2.0
// The front end: from a list of operations to OpSpecs in counted loops, which bundle emission takes
// (bundle.h). It is a sequence of passes over one graph, FrontEndResult; pipeline.h runs them one
// by one, graph_form.h writes the graph between them and reads it back.
//
// Callers: cosim (`run`, `compile`, `opt`), tests. Pure functions, any thread. Errors: CompileError
// with the public compiler's type and kind, BadInput otherwise.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/division/graph_division.h"
#include "runtime/compiler/front_end/compiler_preset.h"
#include "runtime/compiler/front_end/named_lowering.h"
#include "runtime/compiler/front_end/plan.h"
#include "runtime/compiler/ir/decision.h"
#include "runtime/compiler/list/named_graph.h"
#include "runtime/compiler/lx/lx_planning.h"
#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/tiling/coarse_tile.h"
#include "runtime/compiler/tiling/graph.h"
#include "runtime/compiler/tiling/hints.h"

namespace spyre::compiler {

struct FrontEndOptions {
  bool tiling = true;             // false: hints and groups of the plan are ignored
  bool tiled_reductions = false;  // hints divide what operations sum over: tiled_reductions.h
  DivisionOptions division;
  bool allow_long_spans = false;  // a core may reach more than 256 MiB of a tensor
  // Of a tensor, that a core may reach before its operation is cut into chunks.
  int64_t chunk_bytes = static_cast<int64_t>(kMaxCoreSpanBytes);
  bool lx_planning = true;       // false: every intermediate is in the pool
  bool lx_input_copies = false;  // the pass copy_inputs may make copies: input_copies.h
  LxOptions lx;
  // Operations without a hint are put into loops where that saves traffic: co_optimize.h.
  std::optional<CoOptimizeCost> co_optimize;
  LoweringOptions lowering;
  std::optional<BundleDialect> dialect;  // as DialectFor says
  Plan plan;  // without cuts: those are the caller's. Before everything else here
};

struct FrontEndArgument {
  int tensor = -1;  // position in NamedGraph::tensors of what was given to CompileNamedGraph
  bool is_output = false;
  DataFormat host_format = DataFormat::kIeeeFp16;
  StickLayout layout;  // over the shape that the named tensor has
  // A constant: not of that graph, but a tensor of one element with this value.
  bool is_constant = false;
  double value = 0;
  std::string name;
};

struct BundleFile {
  std::string name;  // "bundle.mlir", "sdsc_0.json"
  std::string text;
};

// The one graph that all passes work on. Each fills in its part, those behind it read it.
struct FrontEndResult {
  std::vector<std::string> passes;  // that have run, in order
  NamedGraph primitives;            // the list; taken apart by `decompose`, with sticks by `stick`
  Graph graph;                      // from `lower` on; tiled by `tile` and `propagate`
  DimNames loop_names;              // of the operations as `lower` left them
  std::vector<TileGroup> groups;    // from `hints` on
  // Results that co-optimization keeps in device memory, and why; from `hints` on.
  std::map<std::string, std::string> kept_out;
  std::map<std::string, WorkDivision> divisions;  // by operation, from `division` on
  LxPlan lx;                                      // from `lx` on
  KernelSource source;                            // from `kernel` on
  std::vector<FrontEndArgument> arguments;        // in order of the kernel's, from `kernel` on
  std::vector<BundleFile> bundle;                 // from `bundle` on
  std::vector<std::string> log;                   // "WARNING: ...", "CRITICAL: ..."
  std::vector<Decision> decisions;                // what was chosen, and why, in order

  bool HasRun(std::string_view pass) const;
};

struct FrontEndPass {
  std::string_view name;     // "decompose"
  std::string_view summary;  // what it does, in a few words
  std::string_view needs;    // the pass that must have run; "": none
  // Rewrites the graph, so that neither it nor one before it can run again behind it; the others
  // may run again, and what later ones left is dropped.
  bool rewrites;
  void (*run)(FrontEndResult& graph, const FrontEndOptions& options);
};

// In order: deadcode_elimination, decompose, promote_types, copy_inputs, stick, lower,
// insert_bmm_padding, chunk_large_tensors, hints, tile, propagate, division, lx, kernel, bundle.
const std::vector<FrontEndPass>& FrontEndPasses();

// All passes but `bundle`, which takes the dialect that its caller wants. Throws CompileError
// Unsupported "span_too_large" where work division leaves a core more than 256 MiB of a tensor to
// reach, unless options allow it: then it is in the log.
FrontEndResult CompileNamedGraph(const NamedGraph& named, const FrontEndOptions& options);

// The files that WriteBundle writes.
std::vector<BundleFile> FilesOf(const Bundle& bundle, BundleDialect dialect);

// The one that the options ask for, else the form of the coarse-tiling RFC, where its seven
// segments suffice for arguments and pool; where they do not, the newest.
BundleDialect DialectFor(const FrontEndResult& result, const FrontEndOptions& options);

// What one pass left, as text: "sticks", "graph", "groups", "division", "lx", "loops" or "opspec",
// or the name of a pass: what that pass works on. Throws BadInput with the nearest name for another
// stage.
std::string DumpStage(const FrontEndResult& result, const std::string& stage);
const std::vector<std::string>& DumpStages();

}  // namespace spyre::compiler
