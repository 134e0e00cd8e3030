// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/front_end.h"

#include <algorithm>
#include <map>

#include "base/joined.h"
#include "runtime/compiler/front_end/bmm_padding.h"
#include "runtime/compiler/front_end/chunking.h"
#include "runtime/compiler/front_end/co_optimize.h"
#include "runtime/compiler/front_end/explain.h"
#include "runtime/compiler/front_end/input_copies.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/front_end/lower_to_op_specs.h"
#include "runtime/compiler/front_end/lx_graph.h"
#include "runtime/compiler/front_end/named_lowering.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/front_end/tiled_reductions.h"
#include "runtime/compiler/list/dead_code.h"
#include "runtime/compiler/list/decompose.h"
#include "runtime/compiler/list/host_operations.h"
#include "runtime/compiler/list/promote_types.h"
#include "runtime/compiler/tiling/coarse_tile.h"
#include "runtime/compiler/tiling/tiling_propagation.h"

namespace spyre::compiler {
namespace {

constexpr size_t kSegments = 7;  // of a kernel's tensors and its pool

std::string KernelName(const Graph& graph) {
  constexpr size_t kLongest = 80;
  std::string name = "sdsc_fused";
  for (const GraphOp& op : graph.ops)
    if (op.IsComputed() && name.size() + op.op.size() < kLongest) name += "_" + op.op;
  return name + "_0";
}

void RefuseLongSpans(const WorkDivision& division) {
  if (division.too_far.empty()) return;
  throw CompileError(
      "Unsupported", "span_too_large",
      fmt::format("{}. Tile the operation with a hint, use more cores, or allow it with "
                  "workload.long_spans = \"allow\"",
                  Joined(division.too_far, "; ")));
}

// ---------------------------------------------------------------- passes

void Append(std::vector<Decision> decisions, FrontEndResult& graph) {
  std::move(decisions.begin(), decisions.end(), std::back_inserter(graph.decisions));
}

void RunDeadcodeElimination(FrontEndResult& graph, const FrontEndOptions& /*options*/) {
  const std::vector<Decision> decisions = ExplainDeadCode(graph.primitives);
  for (const Decision& decision : decisions)
    graph.log.push_back(
        fmt::format("WARNING: '{}' is not computed: {}", decision.subject, decision.because));
  graph.primitives = EliminateDeadCode(graph.primitives);
  Append(decisions, graph);
}

void RunDecompose(FrontEndResult& graph, const FrontEndOptions& /*options*/) {
  graph.primitives = Decompose(graph.primitives);
}

void RunPromoteTypes(FrontEndResult& graph, const FrontEndOptions& /*options*/) {
  graph.primitives = PromoteTypes(graph.primitives);
  Append(ExplainConversions(graph), graph);
}

void RunStick(FrontEndResult& graph, const FrontEndOptions& /*options*/) {
  graph.primitives = PlanSticks(graph.primitives);
  CheckArrangements(graph.primitives);
  Append(ExplainSticks(graph), graph);
}

void RunLower(FrontEndResult& graph, const FrontEndOptions& options) {
  RequireNoHostOperation(graph.primitives);
  graph.graph = LowerNamedGraph(graph.primitives, options.lowering);
  graph.loop_names = NameLoops(graph.graph);
}

// Of the plan, else of the hints.
void RunHints(FrontEndResult& graph, const FrontEndOptions& options) {
  if (!options.tiling) return;
  if (options.plan.groups) {
    if (!graph.primitives.hints.empty())
      graph.log.emplace_back("WARNING: the groups of the plan replace all hints");
    graph.groups = GroupsOfPlan(graph.graph, graph.loop_names, *options.plan.groups, graph.log);
  } else {
    AssignDimHints(graph.graph, HintScopes(graph.primitives));
    if (options.tiled_reductions) SplitTiledReductions(graph);
    graph.groups = HintsToGroups(graph.graph, &graph.log);
  }
  Append(ExplainHints(graph), graph);
  if (options.lx_planning && options.co_optimize) CoOptimize(graph, options);
}

void RunTile(FrontEndResult& graph, const FrontEndOptions& options) {
  StampTiles(graph.graph, graph.groups);
  CheckTileReads(graph.graph);
  RestoreSticks(graph.primitives, options.lowering, graph.graph);
}

void RunPropagate(FrontEndResult& graph, const FrontEndOptions& options) {
  const Graph before = graph.groups.empty() ? Graph() : graph.graph;
  Append(ExplainTiles(before, PropagateTiles(graph.graph, TileReaders::kInnermostLoop)), graph);
  RestoreSticks(graph.primitives, options.lowering, graph.graph);
}

void RunDivision(FrontEndResult& graph, const FrontEndOptions& options) {
  DivisionOptions division_options = options.division;
  division_options.splits = options.plan.splits;
  graph.divisions = DivideGraph(graph.graph, graph.loop_names, division_options);
  for (const auto& [op, division] : graph.divisions) {
    if (!options.allow_long_spans) RefuseLongSpans(division);
    graph.log.insert(graph.log.end(), division.log.begin(), division.log.end());
  }
  Append(ExplainDivision(graph, options), graph);
}

void RunLx(FrontEndResult& graph, const FrontEndOptions& options) {
  LxOptions lx_options = options.lx;
  lx_options.pins = PinsOf(options.plan);
  std::map<std::string, std::string> device = DeviceBuffers(graph.graph);
  device.insert(graph.kept_out.begin(), graph.kept_out.end());
  graph.lx =
      PlanLx(ToLxGraph(graph.graph, graph.divisions, device, options.lx_planning, lx_options.pins),
             lx_options);
  CheckPlaces(options.plan, graph.graph, graph.loop_names, graph.divisions, device, graph.lx,
              lx_options);
  Append(ExplainPlaces(graph, options), graph);
}

void RunKernel(FrontEndResult& graph, const FrontEndOptions& /*options*/) {
  for (const GraphOp& op : graph.graph.ops)
    if (op.kind == GraphOp::Kind::kExtern) throw ExternInKernel(op.name, op.op);
  graph.source = BuildKernelSource(KernelName(graph.graph), graph.graph, graph.divisions, graph.lx);
  graph.arguments = KernelArguments(graph.primitives, graph.graph);
}

void RunBundle(FrontEndResult& graph, const FrontEndOptions& options) {
  // A source that was not made here may have any number of arguments.
  const BundleDialect dialect = graph.HasRun("lower")
                                    ? DialectFor(graph, options)
                                    : options.dialect.value_or(BundleDialect::kSymbolicArguments);
  const Bundle bundle = EmitBundle(graph.source, dialect);
  if (graph.HasRun("lower")) RefuseShortArguments(graph, bundle);
  std::vector<BundleFile> files = FilesOf(bundle, dialect);
  // A source that was edited may say what no card has: places outside of LX, unequal slices.
  for (const BundleFile& file : files)
    if (file.name != "bundle.mlir") ParseSuperDsc(file.text, file.name);
  graph.bundle = std::move(files);
}

}  // namespace

bool FrontEndResult::HasRun(std::string_view pass) const {
  return std::find(passes.begin(), passes.end(), pass) != passes.end();
}

const std::vector<FrontEndPass>& FrontEndPasses() {
  static const std::vector<FrontEndPass> passes = {
      {"deadcode_elimination", "operations that no output needs removed", "", true,
       RunDeadcodeElimination},
      {"decompose", "composite operations taken apart", "", true, RunDecompose},
      {"promote_types", "conversions where the types of operands differ", "decompose", true,
       RunPromoteTypes},
      {"copy_inputs", "copies in LX of inputs that several operations read", "promote_types", true,
       CopyInputs},
      {"stick", "the dimension inside the stick of every tensor, restickify where it changes",
       "promote_types", true, RunStick},
      {"lower", "loops, accesses and stick layouts", "stick", true, RunLower},
      {"insert_bmm_padding", "zeros where a matmul sums over no whole sticks", "lower", true,
       InsertBmmPadding},
      {"chunk_large_tensors", "operations on too large tensors done in chunks",
       "insert_bmm_padding", true, ChunkLargeTensors},
      {"hints", "hints resolved to the loops of every operation, and to groups",
       "chunk_large_tensors", true, RunHints},
      {"tile", "groups put into counted loops, buffers shrunk to tiles", "hints", true, RunTile},
      {"propagate", "whole buffers for results that leave their loop", "tile", true, RunPropagate},
      {"division", "loops divided over the cores", "chunk_large_tensors", false, RunDivision},
      {"lx", "places of buffers in LX and pool", "division", false, RunLx},
      {"kernel", "OpSpecs in counted loops", "lx", false, RunKernel},
      {"bundle", "SDSC files and bundle.mlir", "kernel", false, RunBundle},
  };
  return passes;
}

FrontEndResult CompileNamedGraph(const NamedGraph& named, const FrontEndOptions& options) {
  FrontEndResult graph;
  graph.primitives = named;
  std::vector<std::string> names;
  for (const FrontEndPass& pass : FrontEndPasses())
    if (pass.name != "bundle") names.emplace_back(pass.name);
  RunPasses(names, options, graph);
  return graph;
}

std::vector<BundleFile> FilesOf(const Bundle& bundle, BundleDialect dialect) {
  std::vector<BundleFile> files = {{"bundle.mlir", BundleMlir(bundle, dialect)}};
  for (size_t i = 0; i < bundle.dscs.size(); ++i)
    files.push_back({bundle.files.at(i), ToSdscJson(bundle.dscs[i], dialect) + "\n"});
  return files;
}

BundleDialect DialectFor(const FrontEndResult& result, const FrontEndOptions& options) {
  const size_t used = result.arguments.size() + (result.lx.pool_bytes > 0 ? 1 : 0);
  if (used > kSegments) return BundleDialect::kSymbolicArguments;
  return options.dialect.value_or(BundleDialect::kSymbolicConstants);
}

}  // namespace spyre::compiler
