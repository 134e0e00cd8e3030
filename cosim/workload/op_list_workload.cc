// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/op_list_workload.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/config/toml_json.h"
#include "cosim/config/toml_text.h"
#include "cosim/workload/bundle_workload.h"
#include "cosim/workload/compile_settings.h"
#include "cosim/workload/op_list_kernel.h"
#include "cosim/workload/op_list_loops.h"
#include "runtime/compiler/front_end/compiler_preset.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/front_end/plan.h"
#include "runtime/compiler/graph_form/graph_form.h"
#include "runtime/compiler/ir/expression.h"
#include "runtime/compiler/list/host_operations.h"
#include "runtime/compiler/list/list_uses.h"
#include "runtime/flex/scheduler.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What the planner leaves to the programs of operations: a fifth of LX.
constexpr int64_t kPlannedFifths = 4;
constexpr int64_t kFifths = 5;

// A JSON or TOML file.
Json ReadTable(const std::string& path, const char* what, const char* keys) {
  const std::string text = ReadFile(path, what);
  Json value = fs::path(path).extension() == ".json" ? ParseOrderedJson(text, path)
                                                     : JsonOfToml(ParseToml(text, path));
  if (!value.is_object()) throw BadInput("{}: must be an object with {}", path, keys);
  return value;
}

Json ReadOpListFile(const std::string& path) {
  Json value = ReadTable(path, "list of operations", "the key ops");
  const auto tensors = value.find("tensors");
  if (tensors == value.end() || !tensors->is_array()) return value;
  for (Json& tensor : *tensors) {
    if (!tensor.is_object() || !tensor.contains("file") || !tensor["file"].is_string()) continue;
    const fs::path file = tensor["file"].get<std::string>();
    if (file.is_relative())
      tensor["file"] = (fs::path(path).parent_path() / file).lexically_normal().string();
  }
  return value;
}

// The symbol `cards` has the number of cards as its size, where sizes are made of it.
void GiveCards(Json& list, uint64_t cards) {
  const auto dims = list.find("dims");
  if (dims == list.end() || !dims->is_object() || dims->contains("cards")) return;
  for (const Json& size : *dims) {
    if (!size.is_string()) continue;
    try {
      const auto symbols =
          compiler::FreeSymbols(compiler::ParseExpression(size.get<std::string>()));
      if (symbols.count("cards") == 0) continue;
    } catch (const Error&) {
      continue;  // the reader of the list will say why
    }
    (*dims)["cards"] = cards;
    return;
  }
}

OpTaskKeys TakeTaskKeys(Json& op, size_t index, const std::vector<std::string>& earlier) {
  OpTaskKeys keys;
  const auto stream = op.find("stream");
  if (stream != op.end()) {
    if (!stream->is_number_integer() || stream->get<int64_t>() < 0 ||
        stream->get<int64_t>() > flex::kLastStream) {
      throw BadInput(
          "ops[{}].stream = {} must be a stream: 0 the default, 1 .. {} of normal, {} .. {} of "
          "high "
          "priority",
          index, stream->dump(), flex::kFirstHighPriorityStream - 1, flex::kFirstHighPriorityStream,
          flex::kLastStream);
    }
    keys.stream = stream->get<uint32_t>();
    op.erase(stream);
  }
  const auto priority = op.find("priority");
  if (priority != op.end()) {
    if (!priority->is_number_integer() || priority->get<int64_t>() < INT32_MIN ||
        priority->get<int64_t>() > INT32_MAX) {
      throw BadInput("ops[{}].priority = {} must be a whole number of 32 bits", index,
                     priority->dump());
    }
    keys.priority = priority->get<int32_t>();
    op.erase(priority);
  }
  const auto after = op.find("after");
  if (after == op.end()) return keys;
  if (!after->is_array()) {
    throw BadInput("ops[{}].after = {} must be a list of outputs of earlier operations", index,
                   after->dump());
  }
  for (const Json& name : *after) {
    const auto found = name.is_string()
                           ? std::find(earlier.begin(), earlier.end(), name.get<std::string>())
                           : earlier.end();
    if (found == earlier.end()) {
      throw BadInput("ops[{}].after: {} is not the output of an earlier operation{}", index,
                     DumpJson(name),
                     name.is_string() ? DidYouMean(name.get<std::string>(), earlier) : "");
    }
    keys.after.push_back(static_cast<size_t>(found - earlier.begin()));
  }
  op.erase(after);
  return keys;
}

std::vector<OpTaskKeys> TakeTaskKeys(Json& list) {
  std::vector<OpTaskKeys> keys;
  const auto ops = list.find("ops");
  if (ops == list.end() || !ops->is_array()) return keys;  // the reader of the list will say so
  std::vector<std::string> outputs;
  for (Json& op : *ops) {
    if (!op.is_object()) return keys;
    keys.push_back(TakeTaskKeys(op, keys.size(), outputs));
    const auto output = op.find("output");
    outputs.push_back(output != op.end() && output->is_string() ? output->get<std::string>() : "");
  }
  return keys;
}

// Takes the plan out of the list, with what the configuration says of it.
compiler::Plan TakePlan(Json& list, const FileOrTable& given) {
  Json plan = Json::object();
  const auto own = list.find("plan");
  if (own != list.end()) {
    if (!own->is_object()) throw BadInput("plan = {} must be a table", own->dump());
    plan = *own;
    list.erase(own);
  }
  if (!given.json.empty()) {
    Json table = JsonOf(given.json);
    const auto file = table.find("file");
    if (file != table.end()) {
      if (!file->is_string()) throw BadInput("plan.file = {} must be a path", file->dump());
      const auto path = file->get<std::string>();
      const Json read = ReadTable(path, "plan", "splits, groups, lx or cuts");
      compiler::ReadPlan(read, path + ": plan");  // its errors name the file
      plan.update(read);
      table.erase(file);
    }
    plan.merge_patch(table);
  }
  return compiler::ReadPlan(plan, "plan");
}

}  // namespace

CardShare ShareOf(const compiler::NamedTensor& tensor) {
  if (tensor.same) return {CardShare::Kind::kSame, 0};
  if (tensor.split < 0) return {};
  const auto dim = std::find(tensor.dims.begin(), tensor.dims.end(), tensor.split);
  return {CardShare::Kind::kPart, static_cast<size_t>(dim - tensor.dims.begin())};
}

std::vector<ArgumentShape> ShapesOf(const compiler::NamedGraph& graph,
                                    const compiler::FrontEndResult& result) {
  std::vector<ArgumentShape> shapes;
  for (const compiler::FrontEndArgument& argument : result.arguments) {
    ArgumentShape shape;
    shape.name = argument.name;
    if (!argument.is_constant) shape.shape = graph.Shape(graph.tensors[argument.tensor]);
    shape.host_format = argument.host_format;
    shape.layout = argument.layout;
    shape.role = argument.is_output ? "output" : "input";
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

compiler::NamedGraph ReadOpList(const WorkloadConfig& workload) {
  return ReadWholeOpList(workload).graph;
}

OpList ReadWholeOpList(const WorkloadConfig& workload) {
  Json value = workload.graph.empty() ? Json::object() : ReadOpListFile(workload.graph);
  if (value.contains("passes"))
    throw BadInput("{}: a graph between passes, no list: name it in workload.bundle",
                   workload.graph);
  for (const auto& [name, size] : workload.dims) value["dims"][name] = size;
  GiveCards(value, workload.cards);
  const auto take = [&](const char* key, const TableList& tables) {
    if (!tables.json.empty()) value[key] = JsonOf(tables.json);
  };
  take("tensors", workload.tensors);
  take("ops", workload.ops);
  take("hints", workload.hints);
  if (!workload.outputs.empty()) value["outputs"] = workload.outputs;
  for (const auto& [name, sends] : workload.channels) value["channels"][name] = sends;
  try {
    ExpandOpList(value);
    OpList list;
    list.keys = TakeTaskKeys(value);
    list.plan = TakePlan(value, workload.plan);
    list.graph = compiler::ReadNamedGraph(value);
    return list;
  } catch (const compiler::CompileError&) {
    throw;
  } catch (const Error& error) {
    throw error.Within(workload.graph.empty() ? "workload" : workload.graph);
  }
}

compiler::FrontEndOptions FrontEndOptionsOf(const RunConfig& config, compiler::Plan plan) {
  const WorkloadConfig& workload = config.workload;
  compiler::FrontEndOptions options = compiler::OptionsOf(workload.compiler);
  options.tiling = workload.tiling;
  options.tiled_reductions = workload.tiled_reductions == TiledReductions::kPlan;
  options.plan = std::move(plan);
  options.division.rule = workload.division;
  options.division.timing = MatmulTimingOf(config.card);
  options.division.agree = workload.agree;
  options.division.max_cores = MaxCores(config, std::getenv("SENCORES"));
  options.allow_long_spans = workload.long_spans == LongSpans::kAllow;
  options.chunk_bytes = static_cast<int64_t>(workload.chunk_bytes);
  options.lx_planning = workload.lx != LxResults::kNone;
  options.lx.solver = compiler::LxSolverFromName(workload.lx_solver);
  options.lx.all_operations =
      workload.lx == LxResults::kAll || workload.lx == LxResults::kCoOptimizing;
  options.lx_input_copies = workload.lx == LxResults::kAll;
  if (workload.lx == LxResults::kCoOptimizing) {
    options.co_optimize = {static_cast<int64_t>(workload.lx_step_bytes),
                           static_cast<int64_t>(workload.lx_operation_bytes)};
  }
  options.lx.cores = options.division.max_cores;
  options.lx.capacity = static_cast<int64_t>(config.card.core.lx_bytes) * kPlannedFifths / kFifths;
  return options;
}

namespace {

// The list, whose hints are the loops that do sums in tiles, as the compiler has made them: what
// the limits of rounding depend on (graph_reference.h).
std::shared_ptr<const compiler::NamedGraph> WithTilesOfSums(
    const compiler::NamedGraph& list, const compiler::FrontEndResult& result) {
  auto graph = std::make_shared<compiler::NamedGraph>(list);
  graph->hints.clear();
  for (const compiler::GraphOp& tile : result.graph.ops) {
    if (!tile.partial) continue;
    const std::string name = compiler::ListNameOf(tile.name);
    for (size_t i = 0; i < list.ops.size(); ++i) {
      if (list.tensors[static_cast<size_t>(list.ops[i].output)].name != name) continue;
      compiler::NamedHint hint;
      hint.ops = {static_cast<int>(i)};
      for (const compiler::DimHint& loop : tile.dim_hints) {
        if (!loop.is_reduction) continue;
        const auto dim = FindIf(list.dims, [&](const auto& one) { return one.name == loop.dim; });
        if (dim != list.dims.end())
          hint.slices.push_back({static_cast<int>(dim - list.dims.begin()), loop.count});
      }
      graph->hints.push_back(std::move(hint));
    }
  }
  return graph;
}

std::unique_ptr<Workload> WorkloadOf(const RunConfig& config, const compiler::NamedGraph& list,
                                     const compiler::FrontEndOptions& options,
                                     const compiler::FrontEndResult& result) {
  compiler::Bundle bundle =
      compiler::EmitBundle(result.source, compiler::DialectFor(result, options));
  compiler::RefuseShortArguments(result, bundle);
  BundlePlan plan = PlanBundle(BundleSettingsOf(config), std::move(bundle), ShapesOf(list, result));
  for (WorkloadTensor& tensor : plan.launched.tensors) {
    const auto& argument = result.arguments[static_cast<size_t>(tensor.position)];
    if (argument.is_constant) tensor.constant = argument.value;
    if (argument.tensor < 0) continue;
    const compiler::NamedTensor& named = list.tensors[static_cast<size_t>(argument.tensor)];
    tensor.file = named.file;
    tensor.causal = named.causal;
    tensor.share = ShareOf(named);
    if (const int64_t limit = compiler::IndexLimit(list, argument.tensor); limit > 0)
      tensor.whole_below = limit;
  }
  plan.warnings = result.log;
  plan.decisions = result.decisions;
  plan.kernel = std::make_shared<const compiler::Kernel>(CompileBundleKernel(plan));
  plan.facts = std::make_shared<const KernelFacts>(FactsOfKernel(result, *plan.kernel));
  plan.description = fmt::format("{} operation{}, bundle {}", list.ops.size(),
                                 list.ops.size() == 1 ? "" : "s", result.source.name);
  plan.source = std::make_shared<const compiler::KernelSource>(result.source);
  plan.operations = WithTilesOfSums(list, result);
  return std::make_unique<BundleWorkload>(std::move(plan));
}

}  // namespace

std::unique_ptr<Workload> ResolveOpList(const RunConfig& config) {
  OpList read = ReadWholeOpList(config.workload);
  if (!read.plan.cuts.empty() || compiler::HasHostOperation(read.graph))  // or a collective
    return nullptr;
  const compiler::NamedGraph& list = read.graph;
  const compiler::FrontEndOptions options = FrontEndOptionsOf(config, std::move(read.plan));
  const compiler::FrontEndResult result = compiler::CompileNamedGraph(list, options);
  return WorkloadOf(config, list, options, result);
}

bool IsGraphBetweenPasses(const std::string& path) {
  if (fs::path(path).extension() != ".json" || !fs::is_regular_file(path)) return false;
  try {
    const Json value = ParseOrderedJson(ReadFile(path, "graph"), path);
    return value.is_object() && value.contains("passes");
  } catch (const Error&) {
    return false;  // whoever reads it will say why
  }
}

std::unique_ptr<Workload> ResolveGraph(const RunConfig& config) {
  const WorkloadConfig& workload = config.workload;
  const std::string& path = workload.bundle;
  if (!workload.shapes.empty() || !workload.args.empty() || !workload.kernel.empty() ||
      !workload.dims.empty()) {
    throw BadInput(
        "{}: a graph says itself what its arguments are; leave shapes, args, kernel and dims out",
        path);
  }
  compiler::GraphForm form;
  try {
    form = compiler::GraphFormFromJson(ParseOrderedJson(ReadFile(path, "graph"), path));
  } catch (const compiler::CompileError&) {
    throw;
  } catch (const Error& error) {
    throw error.Within(path);
  }
  const std::vector<std::string>& passes = form.graph.passes;
  if (!passes.empty() && (passes[0] == "kernel" || passes[0] == "bundle")) {
    throw BadInput(
        "{}: it has no list of operations to verify against: give the lines of its kernel as "
        "OpSpec "
        "source (.py), or the files of its bundle as a directory",
        path);
  }
  if (!form.graph.HasRun("kernel")) compiler::RunPasses({"kernel"}, form.options, form.graph);
  return WorkloadOf(config, form.graph.primitives, form.options, form.graph);
}

}  // namespace spyre::cosim
