// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/emit_passes.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/joined.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "cosim/config/effect.h"
#include "cosim/workload/op_list_workload.h"
#include "runtime/compiler/front_end/explain.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/graph_form/graph_form.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using compiler::FrontEndPass;
using compiler::FrontEndResult;

constexpr size_t kMaxFileBytes = 64 << 20;

// Parts of what a pass left, by the names that they had before the passes had names.
constexpr std::pair<const char*, const char*> kPassOfPart[] = {{"sticks", "stick"},
                                                               {"groups", "hints"},
                                                               {"graph", "propagate"},
                                                               {"loops", "kernel"},
                                                               {"opspec", "kernel"}};

FrontEndResult ReadBundleFiles(const std::string& directory) {
  FrontEndResult graph;
  const compiler::Bundle bundle = compiler::ReadBundle(directory);
  std::vector<std::string> files = bundle.files;
  if (compiler::HasBundleMlir(directory)) files.insert(files.begin(), "bundle.mlir");
  for (const std::string& file : files)
    graph.bundle.push_back(
        {file, ReadFile((fs::path(directory) / file).string(), "bundle", kMaxFileBytes)});
  graph.passes = {"bundle"};
  return graph;
}

void RefuseCuts(const compiler::Plan& plan) {
  if (plan.cuts.empty()) return;
  throw BadInput(
      "the plan cuts the list into kernels (cuts), and the passes are shown for one kernel: leave "
      "the cuts out (--set 'workload.plan.cuts=[]')");
}

// plan: of a list that has one.
FrontEndResult InputOf(const RunConfig& config, compiler::Plan& plan) {
  const WorkloadConfig& workload = config.workload;
  FrontEndResult graph;
  if (HasOpList(workload)) {
    OpList list = ReadWholeOpList(workload);
    RefuseCuts(list.plan);
    graph.primitives = std::move(list.graph);
    plan = std::move(list.plan);
  } else if (workload.bundle.empty()) {
    throw BadInput(
        "--emit and --explain: the passes work on a list of operations (workload.ops), OpSpec "
        "source or a bundle; workload.op = \"{}\" is one operation, so give it as a list of one",
        workload.op);
  } else if (IsGraphBetweenPasses(workload.bundle)) {
    throw BadInput(
        "--emit and --explain: {} is a graph already: `spyre-cosim opt PASS,... {}` goes on from "
        "it",
        workload.bundle, workload.bundle);
  } else if (fs::is_directory(workload.bundle)) {
    return ReadBundleFiles(workload.bundle);
  } else {
    graph.source =
        compiler::ParseOpSpecSource(ReadFile(workload.bundle, "OpSpec source", kMaxFileBytes),
                                    workload.bundle, workload.kernel);
    graph.passes = {"kernel"};
  }
  return graph;
}

std::string TextOf(const FrontEndResult& graph, const std::string& stage) {
  return stage == "bundle" ? graph.bundle.front().text : compiler::DumpStage(graph, stage);
}

// The passes behind what the input is, as far as `last`.
std::vector<std::string> PassesUpTo(const std::string& last, const FrontEndResult& input) {
  std::vector<std::string> names;
  bool is_open = input.passes.empty();
  for (const FrontEndPass& pass : compiler::FrontEndPasses()) {
    if (is_open) names.emplace_back(pass.name);
    if (!input.passes.empty() && pass.name == input.passes.back()) is_open = true;
    if (pass.name == last) break;
  }
  return names;
}

std::string PassOf(const std::string& stage) {
  for (const auto& [part, pass] : kPassOfPart)
    if (stage == part) return pass;
  return stage == "all" ? "bundle" : stage;
}

}  // namespace

std::vector<std::string> EmitStages() {
  std::vector<std::string> stages = {"all"};
  for (const FrontEndPass& pass : compiler::FrontEndPasses()) stages.emplace_back(pass.name);
  for (const auto& [part, pass] : kPassOfPart) stages.emplace_back(part);
  return stages;
}

void EmitPasses(const RunConfig& config, const EmitOptions& options, std::ostream& out,
                std::vector<std::string>& warnings) {
  const std::string& stage = options.stage;
  const std::vector<std::string> stages = EmitStages();
  if (std::find(stages.begin(), stages.end(), stage) == stages.end()) {
    throw BadInput("--emit {}: no such stage (known: {}){}", stage, Joined(stages, ", "),
                   DidYouMean(stage, stages));
  }
  compiler::Plan plan;
  FrontEndResult graph = InputOf(config, plan);
  RefuseKeysWithoutEffect(config);
  const compiler::FrontEndOptions front_end = FrontEndOptionsOf(config, std::move(plan));
  const bool all = stage == "all";
  const auto write = [&](const std::string& pass) {
    if (options.json) {
      const auto form = compiler::ToJson(front_end, graph);
      out << (all ? DumpJson(form) + "\n" : compiler::ReadableText(form));
    } else if (all) {
      out << fmt::format("-- {} --\n{}\n", pass, TextOf(graph, pass));
    } else {
      out << TextOf(graph, stage);
    }
    out << std::flush;
  };
  const std::string last = PassOf(stage);
  const std::vector<std::string> passes = PassesUpTo(last, graph);
  const bool is_input = !graph.passes.empty() && graph.passes.back() == last;
  if (passes.empty() && !is_input) {
    throw BadInput("--emit {}: {} comes into the pipeline behind it, at '{}'", stage,
                   config.workload.bundle, graph.passes.back());
  }
  if (all && !graph.passes.empty()) write(graph.passes.back());
  compiler::PassObserver observer;
  if (all)
    observer.after = [&](const FrontEndPass& pass, const FrontEndResult& /*graph*/) {
      write(std::string(pass.name));
    };
  compiler::RunPasses(passes, front_end, graph, observer);
  if (!all) write(last);
  warnings = graph.log;
}

std::string EmitStage(const RunConfig& config, const std::string& stage,
                      std::vector<std::string>& warnings) {
  std::ostringstream out;
  EmitPasses(config, {stage, false}, out, warnings);
  return out.str();
}

std::string ExplainList(const RunConfig& config, std::vector<std::string>& warnings) {
  compiler::Plan plan;
  FrontEndResult graph = InputOf(config, plan);
  if (!graph.passes.empty()) {
    throw BadInput(
        "--explain: {} has been divided and placed already; a list of operations has not",
        config.workload.bundle);
  }
  RefuseKeysWithoutEffect(config);
  compiler::RunPasses(PassesUpTo("kernel", graph), FrontEndOptionsOf(config, std::move(plan)),
                      graph);
  warnings = graph.log;
  return compiler::ExplainText(graph.decisions);
}

}  // namespace spyre::cosim
