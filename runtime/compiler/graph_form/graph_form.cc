// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/graph_form/graph_form.h"

#include <algorithm>

#include "base/error.h"
#include "base/joined.h"
#include "base/json_text.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/front_end/verify.h"
#include "runtime/compiler/graph_form/graph_form_values.h"

namespace spyre::compiler {
namespace {

constexpr const char* kSourceName = "kernel";

OrderedJson DecisionToJson(const Decision& decision) {
  OrderedJson refused = OrderedJson::array();
  for (const Decision::Refused& other : decision.refused)
    refused.push_back({{"candidate", other.candidate}, {"rule", other.rule}});
  OrderedJson json = {{"pass", decision.pass},
                      {"subject", decision.subject},
                      {"chosen", decision.chosen},
                      {"because", decision.because}};
  if (!refused.empty()) json["refused"] = std::move(refused);
  return json;
}

Decision DecisionFromJson(const FormValue& value) {
  value.RequireKeys({"pass", "subject", "chosen", "because", "refused"});
  Decision decision{value.At("pass").Text(),
                    value.At("subject").Text(),
                    value.At("chosen").Text(),
                    value.At("because").Text(),
                    {}};
  if (const auto refused = value.Find("refused")) {
    for (const FormValue& other : refused->Items())
      decision.refused.push_back({other.At("candidate").Text(), other.At("rule").Text()});
  }
  return decision;
}

OrderedJson Lines(const std::string& text) {
  OrderedJson lines = OrderedJson::array();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string TextOf(const FormValue& lines) {
  std::string text;
  for (const std::string& line : lines.Texts()) text += line + "\n";
  return text;
}

// A list of operations as a workload has it: no pass has run.
bool IsPlainList(const FormValue& form) { return !form.Has("passes"); }

// OpSpec source, or a bundle, that no list was made into.
bool HasNoList(const FrontEndResult& graph) {
  return !graph.HasRun("lower") && (graph.HasRun("kernel") || graph.HasRun("bundle"));
}

GraphForm PlainListFromJson(const FormValue& form) {
  GraphForm result;
  OrderedJson list = form.json();
  if (const auto options = form.Find("options")) {
    result.options = OptionsFromJson(*options);
    list.erase("options");
  }
  result.graph.primitives = ReadNamedGraph(list);
  return result;
}

std::vector<std::string> PassesFromJson(const FormValue& value) {
  std::vector<std::string> passes = value.Texts();
  for (const std::string& pass : passes) RequireFrontEndPass(pass);
  if (passes.size() == 1 && (passes[0] == "kernel" || passes[0] == "bundle")) return passes;
  for (const FrontEndPass& pass : FrontEndPasses()) {
    const auto has = [&](std::string_view name) {
      return std::find(passes.begin(), passes.end(), name) != passes.end();
    };
    if (has(pass.name) && !pass.needs.empty() && !has(pass.needs))
      value.Fail(fmt::format("'{}', which '{}' needs,", pass.needs, pass.name));
  }
  return passes;
}

// `graph` begins behind `kernel` or `bundle`.
void RefuseWithoutList(const FrontEndPass& next, const FrontEndResult& graph) {
  if (&next > &RequireFrontEndPass(graph.passes.back())) return;
  throw BadInput("pass '{}': the graph comes into the pipeline behind '{}', without a list",
                 next.name, graph.passes.back());
}

// A kernel beside a graph is the graph's. One that was edited is a source of its own.
void RefuseForeignKernel(const GraphForm& form) {
  FrontEndResult own = form.graph;
  DropFrom(RequireFrontEndPass("kernel"), own);
  RunPasses({"kernel"}, form.options, own);
  const OrderedJson expected = Lines(ToSource(own.source));
  const OrderedJson found = Lines(ToSource(form.graph.source));
  if (found == expected) return;
  const auto& a = expected.get_ref<const OrderedJson::array_t&>();
  const auto& b = found.get_ref<const OrderedJson::array_t&>();
  const auto line =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).second - b.begin());
  throw CompileError(
      "VerifierError", "kernel",
      fmt::format(
          "{}[{}] = {}: the graph gives {}; edit the graph and run the pass 'kernel' again, "
          "or give the kernel alone: {{\"passes\": [\"kernel\"], \"kernel\": [...]}}",
          kSourceName, line, line < b.size() ? DumpJson(b[line]) : "nothing",
          line < a.size() ? DumpJson(a[line]) : "nothing"));
}

// ---------------------------------------------------------------- readable text

std::string Inline(const OrderedJson& value) {
  if (value.is_object()) {
    std::vector<std::string> entries;
    for (const auto& [key, entry] : value.get_ref<const OrderedJson::object_t&>())
      entries.push_back(fmt::format("{}: {}", DumpJson(OrderedJson(key)), Inline(entry)));
    return fmt::format("{{{}}}", Joined(entries, ", "));
  }
  if (value.is_array()) {
    std::vector<std::string> entries;
    entries.reserve(value.size());
    for (const OrderedJson& entry : value) entries.push_back(Inline(entry));
    return fmt::format("[{}]", Joined(entries, ", "));
  }
  return PrintableJson(value);
}

// Lists of objects, and of lines, have one line for each entry.
std::string Lined(const OrderedJson& value, const std::string& indent, bool of_lines) {
  const bool is_list =
      value.is_array() && !value.empty() && (value.front().is_object() || of_lines);
  if (!is_list) return Inline(value);
  std::vector<std::string> lines;
  lines.reserve(value.size());
  for (const OrderedJson& entry : value) lines.push_back(indent + "  " + Inline(entry));
  return fmt::format("[\n{}\n{}]", Joined(lines, ",\n"), indent);
}

}  // namespace

OrderedJson ToJson(const FrontEndOptions& options, const FrontEndResult& graph) {
  OrderedJson json;
  json["passes"] = graph.passes;
  json["options"] = OptionsToJson(options);
  if (!HasNoList(graph)) ListToJson(graph.primitives, json);
  if (graph.HasRun("lower")) json["graph"] = LoweredToJson(graph);
  if (graph.HasRun("kernel")) json[kSourceName] = Lines(ToSource(graph.source));
  for (const BundleFile& file : graph.bundle) json["bundle"][file.name] = Lines(file.text);
  if (!graph.decisions.empty()) {
    json["decisions"] = OrderedJson::array();
    for (const Decision& decision : graph.decisions)
      json["decisions"].push_back(DecisionToJson(decision));
  }
  if (!graph.log.empty()) json["log"] = graph.log;
  return json;
}

GraphForm GraphFormFromJson(const OrderedJson& value, const std::string& next) {
  const FormValue form(value, "");
  if (!value.is_object()) throw BadInput("a graph is a JSON object, found {}", Show(value));
  GraphForm result;
  FrontEndResult& graph = result.graph;
  if (IsPlainList(form)) {
    result = PlainListFromJson(form);
  } else {
    form.RequireKeys({"passes", "options", "dims", "tensors", "ops", "hints", "outputs", "graph",
                      kSourceName, "bundle", "decisions", "log", "error"});
    graph.passes = PassesFromJson(form.At("passes"));
    if (const auto options = form.Find("options")) result.options = OptionsFromJson(*options);
    if (!HasNoList(graph)) graph.primitives = ListFromJson(form);
    if (graph.HasRun("lower")) LoweredFromJson(form.At("graph"), graph);
    if (const auto decisions = form.Find("decisions"))
      for (const FormValue& entry : decisions->Items())
        graph.decisions.push_back(DecisionFromJson(entry));
    if (const auto log = form.Find("log")) graph.log = log->Texts();
  }
  if (!next.empty() && HasNoList(graph)) RefuseWithoutList(RequireFrontEndPass(next), graph);
  if (!next.empty() && !RequireFrontEndPass(next).rewrites)
    DropFrom(RequireFrontEndPass(next), graph);
  Verify(graph, result.options);
  if (graph.HasRun("kernel"))
    graph.source = ParseOpSpecSource(TextOf(form.At(kSourceName)), kSourceName);
  if (graph.HasRun("kernel") && graph.HasRun("lower")) {
    graph.arguments = KernelArguments(graph.primitives, graph.graph);
    RefuseForeignKernel(result);
  }
  if (graph.HasRun("bundle"))
    for (const auto& [name, lines] : form.At("bundle").Entries())
      graph.bundle.push_back({name, TextOf(lines)});
  return result;
}

std::string ReadableText(const OrderedJson& form) {
  std::vector<std::string> entries;
  for (const auto& [key, value] : form.get_ref<const OrderedJson::object_t&>()) {
    std::string text;
    if (key == "graph" || key == "bundle") {
      std::vector<std::string> parts;
      for (const auto& [part, list] : value.get_ref<const OrderedJson::object_t&>())
        parts.push_back(fmt::format("    {}: {}", DumpJson(OrderedJson(part)),
                                    Lined(list, "    ", key == "bundle")));
      text = fmt::format("{{\n{}\n  }}", Joined(parts, ",\n"));
    } else {
      text = Lined(value, "  ", key == kSourceName || key == "log");
    }
    entries.push_back(fmt::format("  {}: {}", DumpJson(OrderedJson(key)), text));
  }
  return fmt::format("{{\n{}\n}}\n", Joined(entries, ",\n"));
}

}  // namespace spyre::compiler
