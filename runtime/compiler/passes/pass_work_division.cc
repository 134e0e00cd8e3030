// SPDX-License-Identifier: Apache-2.0
// `work-division`: an operation -> its iteration space, spans, and the splits of both passes.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/contract/memory_map.h"
#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/ir/ir_json.h"
#include "runtime/compiler/passes/pass_table.h"
#include "runtime/compiler/passes/passes.h"

namespace spyre::compiler {
namespace {

using OrderedJson = nlohmann::ordered_json;

size_t Index(int variable) { return static_cast<size_t>(variable); }

OrderedJson EncodedJson(const std::optional<EncodedSplits>& encoded) {
  if (!encoded) return nullptr;
  const auto object = [](const std::map<int64_t, int>& splits) {
    OrderedJson json = OrderedJson::object();
    for (const auto& [coefficient, split] : splits) json[std::to_string(coefficient)] = split;
    return json;
  };
  return {{"output", object(encoded->output)}, {"reduction", object(encoded->reduction)}};
}

class DivisionWriter {
 public:
  DivisionWriter(const OpIr& op, const WorkDivider& divider) : op_(op), divider_(divider) {}

  const std::string& Name(int variable) const { return op_.loops[Index(variable)].name; }

  OrderedJson Space(bool in_sticks) const {
    OrderedJson json = OrderedJson::array();
    for (int v : divider_.iteration_space()) {
      const int64_t range = op_.loops[Index(v)].range;
      json.push_back({Name(v), in_sticks ? divider_.size_in_sticks()[Index(v)] : range});
    }
    return json;
  }

  OrderedJson StickVariables() const {
    OrderedJson json = OrderedJson::object();
    for (int v : divider_.iteration_space()) {
      const int64_t elements = divider_.elements_per_stick()[Index(v)];
      if (elements > 0) json[Name(v)] = elements;
    }
    return json;
  }

  OrderedJson Spans(const std::vector<int>& splits) const {
    OrderedJson json = OrderedJson::object();
    for (size_t i = 0; i < divider_.tensor_count(); ++i) {
      json[divider_.tensor(i).name] = divider_.PerCoreSpan(i, splits);
    }
    return json;
  }

  OrderedJson Names(const std::vector<int>& variables) const {
    OrderedJson json = OrderedJson::array();
    for (int v : variables) json.push_back(Name(v));
    return json;
  }

  // `known_log`: lines that are written elsewhere.
  OrderedJson Division(const WorkDivision& division, size_t known_log) const {
    OrderedJson splits = OrderedJson::object();
    for (int v : divider_.iteration_space()) splits[Name(v)] = division.splits[Index(v)];
    OrderedJson json = {{"splits", std::move(splits)}, {"cores_used", division.cores_used}};
    json["encoded"] = EncodedJson(divider_.Encode(division.splits));
    json["per_core_span_bytes"] = Spans(division.splits);
    json["core_order"] = division.k_fastest ? "k_fastest" : "first_loop_var_fastest";
    json["core_to_slice"] = Slices(division);
    json["log"] = std::vector<std::string>(
        division.log.begin() + static_cast<std::ptrdiff_t>(known_log), division.log.end());
    return json;
  }

 private:
  // Of the loops that are split, the fastest first.
  OrderedJson Slices(const WorkDivision& division) const {
    std::vector<int> order = divider_.iteration_space();
    if (division.k_fastest) std::rotate(order.begin(), order.end() - 1, order.end());
    OrderedJson json = OrderedJson::object();
    for (int v : order) {
      if (division.splits[Index(v)] == 1) continue;
      OrderedJson column = OrderedJson::array();
      for (const auto& row : division.slice) column.push_back(row[Index(v)]);
      json[Name(v)] = std::move(column);
    }
    return json;
  }

  const OpIr& op_;
  const WorkDivider& divider_;
};

}  // namespace

OrderedJson PassWorkDivision(const nlohmann::json& input) {
  // Counts beyond any card are refused below; until then they must not widen the search.
  constexpr int kMostCoresSearched = 64;
  const JsonReader reader(input, "line");
  const OpIr op = OpFromJson(reader);
  const auto cores = static_cast<int>(
      std::clamp<int64_t>(IntegerOr(reader, "sencores", kMaxCores), 0, kMostCoresSearched));
  const WorkDivider divider(op);
  const DivisionWriter writer(op, divider);

  OrderedJson json;
  json["iteration_space"] = writer.Space(false);
  json["stick_vars"] = writer.StickVariables();
  json["iteration_space_sticks"] = writer.Space(true);
  json["per_core_span_unsplit_bytes"] = writer.Spans(std::vector<int>(op.loops.size(), 1));
  std::vector<std::string> log;
  if (!op.IsTopK()) {
    OrderedJson must = OrderedJson::object();
    for (const auto& [v, split] : divider.MustSplit(cores, &log)) must[writer.Name(v)] = split;
    json["must_split"] = std::move(must);
  }
  try {
    const WorkDivision division = DivideWork(op, cores, false);
    std::optional<EncodedSplits> committed;
    log.clear();
    if (!op.IsTopK()) committed = divider.SpanReduction(cores, &log);
    json["span_reduction_encoded"] = EncodedJson(committed);
    json["span_reduction_log"] = log;
    const WorkDivider::Priorities priorities = divider.Prioritize(divider.Decode(committed));
    json["priorities"] = {{"output", writer.Names(priorities.output)},
                          {"reduction", writer.Names(priorities.reduction)}};
    json["work_distribution"] = writer.Division(division, log.size());
    if (op.kind == OpIr::Kind::kReduction) {
      const WorkDivision k_fast = DivideWork(op, cores, true);
      json["with_k_fast"] = writer.Division(k_fast, log.size());
      json["with_k_fast"]["k_fast_applied"] = k_fast.k_fast_applied;
    }
  } catch (const CompileError& error) {
    json["error"] = ErrorJson(error, "message_kind");
  }
  return json;
}

}  // namespace spyre::compiler
