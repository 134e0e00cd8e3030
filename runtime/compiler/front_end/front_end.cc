// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/front_end.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/compiler/front_end/decompose.h"
#include "runtime/compiler/front_end/lower_to_op_specs.h"
#include "runtime/compiler/front_end/named_lowering.h"
#include "runtime/compiler/tiling/coarse_tile.h"
#include "runtime/compiler/tiling/hints.h"

namespace spyre::compiler {
namespace {

constexpr size_t kSegments = 7;  // of a kernel's tensors and its pool
constexpr std::string_view kRestickify = "ReStickifyOpHBM";

std::string KernelName(const Graph& graph) {
  constexpr size_t kLongest = 80;
  std::string name = "sdsc_fused";
  for (const GraphOp& op : graph.ops)
    if (op.IsComputed() && name.size() + op.op.size() < kLongest) name += "_" + op.op;
  return name + "_0";
}

std::vector<int> LoopsOf(const GraphOp& op) {
  return op.loop ? op.loop->group_id : std::vector<int>{};
}

// Buffers that must be in device memory, and why: loops walk through them, or data moves between
// cores on the way.
std::map<std::string, std::string> DeviceBuffers(const Graph& graph) {
  std::map<std::string, std::string> device;
  for (const GraphOp& op : graph.ops) {
    // Whole buffers of results of a loop.
    if (!op.IsComputed()) device.emplace(op.name, "it gathers the tiles of a loop");
    if (op.op == kRestickify)
      device.emplace(op.name, "it is restickified, which moves data between cores");
    for (const GraphRead& read : op.reads) {
      const GraphOp* writer = graph.Find(read.buffer);
      if (op.op == kRestickify) {
        device.emplace(read.buffer,
                       fmt::format("{} restickifies it, which moves data between cores", op.name));
      } else if (writer != nullptr && LoopsOf(*writer) != LoopsOf(op)) {
        device.emplace(read.buffer,
                       fmt::format("{} reads it in other loops than those around it", op.name));
      }
    }
  }
  return device;
}

LxGraph ToLxGraph(const Graph& graph, const std::map<std::string, WorkDivision>& divisions,
                  const std::map<std::string, std::string>& device, bool lx_planning,
                  const std::map<std::string, LxPin>& pins) {
  LxGraph result;
  for (const GraphOp& op : graph.ops) {
    if (!op.IsComputed()) continue;
    LxOperation operation;
    operation.op = op.op;
    operation.ir = ToOpIr(graph, op);
    const WorkDivision& division = divisions.at(op.name);
    operation.splits = division.splits;
    operation.k_fastest = division.k_fastest;
    const std::string& buffer = operation.ir.output.name;
    operation.may_stay_in_lx =
        (lx_planning || pins.count(buffer) != 0) && device.count(buffer) == 0;
    if (op.loop) operation.loops = op.loop->group_id;
    result.operations.push_back(std::move(operation));
  }
  for (const GraphInput& input : graph.inputs) result.inputs.push_back(input.name);
  result.outputs = graph.outputs;
  return result;
}

// The layout over the shape that the caller has: without the last dimension of sparse sticks.
StickLayout CallersLayout(const NamedGraph& named, const NamedTensor& tensor) {
  const std::vector<int64_t> shape = named.Shape(tensor);
  if (tensor.stick == NamedTensor::kSparse)
    return SparseLayout(shape, DeviceFormatOf(DataFormat::kIeeeFp16));
  std::vector<int> order;
  for (size_t i = 0; i < shape.size(); ++i)
    if (tensor.dims[i] != tensor.stick) order.push_back(static_cast<int>(i));
  const auto stick = std::find(tensor.dims.begin(), tensor.dims.end(), tensor.stick);
  order.push_back(static_cast<int>(stick - tensor.dims.begin()));
  return MakeLayout(shape, ContiguousStrides(shape), DeviceFormatOf(DataFormat::kIeeeFp16), order);
}

std::vector<FrontEndArgument> Arguments(const NamedGraph& named, const NamedGraph& primitives,
                                        const Graph& graph) {
  std::vector<FrontEndArgument> arguments;
  const std::string full = "full_";
  const auto find = [&](const NamedGraph& in, const std::string& name) {
    const auto it = std::find_if(in.tensors.begin(), in.tensors.end(),
                                 [&](const NamedTensor& tensor) { return tensor.name == name; });
    return it == in.tensors.end() ? -1 : static_cast<int>(it - in.tensors.begin());
  };
  for (const std::string& buffer : KernelArgumentNames(graph)) {
    FrontEndArgument argument;
    argument.is_output = graph.IsOutput(buffer);
    int tensor = find(primitives, buffer);
    if (tensor < 0) tensor = find(primitives, buffer.substr(full.size()));
    const NamedTensor& planned = primitives.tensors[static_cast<size_t>(tensor)];
    argument.name = planned.name;
    argument.layout = CallersLayout(primitives, planned);
    argument.is_constant = planned.origin == NamedTensor::Origin::kConstant;
    argument.value = planned.value;
    if (!argument.is_constant) argument.tensor = find(named, planned.name);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

void RefuseLongSpans(const WorkDivision& division) {
  if (division.too_far.empty()) return;
  throw CompileError(
      "Unsupported", "span_too_large",
      fmt::format("{}. Tile the operation with a hint, use more cores, or allow it with "
                  "workload.long_spans = \"allow\"",
                  fmt::join(division.too_far, "; ")));
}

// Of the plan, else of the hints.
std::vector<TileGroup> Groups(const NamedGraph& primitives, Graph& graph, const DimNames& loops,
                              const Plan& plan, std::vector<std::string>& log) {
  if (plan.groups) {
    if (!primitives.hints.empty())
      log.emplace_back("WARNING: the groups of the plan replace all hints");
    return GroupsOfPlan(graph, loops, *plan.groups, log);
  }
  AssignDimHints(graph, HintScopes(primitives));
  return HintsToGroups(graph, &log);
}

}  // namespace

FrontEndResult CompileNamedGraph(const NamedGraph& named, const FrontEndOptions& options) {
  FrontEndResult result;
  result.primitives = PlanSticks(Decompose(named));
  Graph& graph = result.graph;
  graph = LowerNamedGraph(result.primitives);
  const DimNames loop_names = NameLoops(graph);
  if (options.tiling) {
    result.groups = Groups(result.primitives, graph, loop_names, options.plan, result.log);
    CoarseTile(graph, result.groups);
    RestoreSticks(result.primitives, graph);
  }
  DivisionOptions division_options = options.division;
  division_options.splits = options.plan.splits;
  result.divisions = DivideGraph(graph, loop_names, division_options);
  for (const auto& [op, division] : result.divisions) {
    if (!options.allow_long_spans) RefuseLongSpans(division);
    result.log.insert(result.log.end(), division.log.begin(), division.log.end());
  }
  LxOptions lx_options = options.lx;
  lx_options.pins = PinsOf(options.plan);
  const std::map<std::string, std::string> device = DeviceBuffers(graph);
  result.lx = PlanLx(
      ToLxGraph(graph, result.divisions, device, options.lx_planning, lx_options.pins), lx_options);
  CheckPlaces(options.plan, graph, loop_names, result.divisions, device, result.lx, lx_options);
  result.source = BuildKernelSource(KernelName(graph), graph, result.divisions, result.lx);
  result.arguments = Arguments(named, result.primitives, graph);
  return result;
}

BundleDialect DialectFor(const FrontEndResult& result) {
  const size_t used = result.arguments.size() + (result.lx.pool_bytes > 0 ? 1 : 0);
  return used <= kSegments ? BundleDialect::kSymbolicConstants : BundleDialect::kSymbolicArguments;
}

}  // namespace spyre::compiler
