// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/pipeline.h"

#include <algorithm>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/verify.h"

namespace spyre::compiler {
namespace {

const FrontEndPass* FindPass(std::string_view name) {
  for (const FrontEndPass& pass : FrontEndPasses())
    if (pass.name == name) return &pass;
  return nullptr;
}

class PassRunner {
 public:
  PassRunner(const FrontEndOptions& options, FrontEndResult& graph, const PassObserver& observer)
      : options_(options), graph_(graph), observer_(observer) {}

  void Run(const FrontEndPass& pass) {
    if (observer_.before) observer_.before(pass);
    RefuseDisorder(pass);
    const std::string_view needed = Needed(pass);
    if (!needed.empty() && !graph_.HasRun(needed)) {
      Run(*FindPass(needed));
      if (observer_.before) observer_.before(pass);
    }
    DropFrom(pass, graph_);
    LogHintsPassedOver(pass);
    pass.run(graph_, options_);
    graph_.passes.emplace_back(pass.name);
    Verify(graph_, options_);
    if (observer_.after) observer_.after(pass, graph_);
  }

 private:
  // Groups that were stamped, but whose results have no whole buffers yet, are not a program.
  std::string_view Needed(const FrontEndPass& pass) const {
    if (pass.name == "division" && graph_.HasRun("hints")) return "propagate";
    return pass.needs;
  }

  void RefuseDisorder(const FrontEndPass& pass) const {
    if (!pass.rewrites) return;
    for (const FrontEndPass& other : FrontEndPasses()) {
      if (&other < &pass || !graph_.HasRun(other.name)) continue;
      throw BadInput(
          "pass '{}' cannot run behind '{}', which has run: begin with a graph from "
          "before it (passes: {})",
          pass.name, other.name, Joined(graph_.passes, ", "));
    }
  }

  // Passing hints over is a choice of who lists the passes, which the graph says.
  void LogHintsPassedOver(const FrontEndPass& pass) {
    if (pass.name != "division" || graph_.primitives.hints.empty() || graph_.HasRun("hints"))
      return;
    graph_.log.emplace_back(
        "WARNING: the list has hints, and the pass 'hints' has not run: no loop is made of them");
  }

  const FrontEndOptions& options_;
  FrontEndResult& graph_;
  const PassObserver& observer_;
};

}  // namespace

void DropFrom(const FrontEndPass& pass, FrontEndResult& graph) {
  const auto drop = [&](const std::string& name) {
    const FrontEndPass* const other = FindPass(name);
    return other != nullptr && other >= &pass;
  };
  auto& passes = graph.passes;
  passes.erase(std::remove_if(passes.begin(), passes.end(), drop), passes.end());
  auto& decisions = graph.decisions;
  decisions.erase(std::remove_if(decisions.begin(), decisions.end(),
                                 [&](const Decision& decision) { return drop(decision.pass); }),
                  decisions.end());
  const auto behind = [&](const char* name) { return FindPass(name) >= &pass; };
  if (behind("division")) graph.divisions.clear();
  if (behind("lx")) graph.lx = {};
  if (behind("kernel")) {
    graph.source = {};
    graph.arguments.clear();
  }
  graph.bundle.clear();
}

void RunPasses(const std::vector<std::string>& names, const FrontEndOptions& options,
               FrontEndResult& graph, const PassObserver& observer) {
  for (const std::string& name : names) RequireFrontEndPass(name);
  PassRunner runner(options, graph, observer);
  for (const std::string& name : names) runner.Run(RequireFrontEndPass(name));
}

const FrontEndPass& RequireFrontEndPass(const std::string& name) {
  if (const FrontEndPass* pass = FindPass(name)) return *pass;
  std::vector<std::string> names;
  for (const FrontEndPass& pass : FrontEndPasses()) names.emplace_back(pass.name);
  const std::string hint = DidYouMean(name, names);
  throw BadInput("'{}' is not a pass of the front end{} They are, in order, {}", name,
                 hint.empty() ? "." : hint, Joined(names, ", "));
}

std::vector<std::string> SplitPassList(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',') {
      names.emplace_back();
    } else if (c != ' ') {
      names.back() += c;
    }
  }
  return names;
}

bool AreFrontEndPasses(const std::string& list) {
  const std::vector<std::string> names = SplitPassList(list);
  return AllFit(names, [](const std::string& name) { return FindPass(name) != nullptr; });
}

}  // namespace spyre::compiler
