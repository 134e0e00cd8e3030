// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/passes/graph_passes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/json_text.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/graph_form/graph_form.h"
#include "runtime/compiler/passes/passes.h"

namespace spyre::compiler {
namespace {

GraphAnswer Answer(const OrderedJson& graph, bool readable, std::string error) {
  return {readable ? ReadableText(graph) : PrintableJson(graph) + "\n", std::move(error)};
}

// Adds the key `error`. Errors that do not come from the input are thrown on.
std::string AddError(OrderedJson& graph, const std::string& pass, const Error& error) {
  const auto* const refusal = dynamic_cast<const CompileError*>(&error);
  if (error.kind() != ErrorKind::kBadInput) throw Error(error);
  graph["error"] = OrderedJson::object();
  if (!pass.empty()) graph["error"]["pass"] = pass;
  graph["error"].update(refusal != nullptr
                            ? ErrorJson(*refusal)
                            : OrderedJson{{"type", "InvalidInput"}, {"message", error.what()}});
  return ErrorText(error);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> GraphPasses() {
  std::vector<std::pair<std::string, std::string>> passes;
  for (const FrontEndPass& pass : FrontEndPasses())
    passes.emplace_back(std::string(pass.name), std::string(pass.summary));
  return passes;
}

bool AreGraphPasses(const std::string& list) { return AreFrontEndPasses(list); }

GraphAnswer RunGraphPasses(const std::string& list, std::string_view text, const std::string& name,
                           bool readable) {
  const std::vector<std::string> passes = SplitPassList(list);
  for (const std::string& pass : passes) RequireFrontEndPass(pass);
  GraphForm form;
  try {
    form = GraphFormFromJson(ParseOrderedJson(text, name), passes.front());
  } catch (const Error& error) {
    OrderedJson refused;
    const std::string message = AddError(refused, "", error);
    return Answer(refused, readable, message);
  }
  OrderedJson last = ToJson(form.options, form.graph);
  std::string running;
  PassObserver observer;
  observer.before = [&](const FrontEndPass& pass) { running = pass.name; };
  observer.after = [&](const FrontEndPass& /*pass*/, const FrontEndResult& graph) {
    last = ToJson(form.options, graph);
  };
  try {
    RunPasses(passes, form.options, form.graph, observer);
  } catch (const Error& error) {
    const std::string message = AddError(last, running, error);
    return Answer(last, readable, message);
  }
  return Answer(last, readable, "");
}

}  // namespace spyre::compiler
