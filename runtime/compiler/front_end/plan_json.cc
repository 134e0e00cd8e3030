// SPDX-License-Identifier: Apache-2.0
// Reading plans, and the parts of plans that need no graph.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/plan.h"
#include "runtime/compiler/list/graph_values.h"

namespace spyre::compiler {
namespace {

using Json = OrderedJson;

constexpr int kDeepestGroup = 8;  // a sequencer nests no more loops

PlanDim ReadDim(const Json& value, const std::string& path) {
  if (value.is_number_integer()) {
    constexpr int64_t kMostDims = 16;
    const auto position = value.get<int64_t>();
    if (position >= 0 && position < kMostDims) return position;
    throw BadInput("{} = {} must be a dimension's name or its position, 0 .. {}", path, Show(value),
                   kMostDims - 1);
  }
  return Text(value, path);
}

PlanLevel ReadLevel(const Json& count, const Json* dims, const std::string& count_path,
                    const std::string& dims_path) {
  PlanLevel level;
  level.count = Size(count, count_path);
  if (dims == nullptr || dims->is_null()) return level;
  List(*dims, dims_path);
  for (size_t i = 0; i < dims->size(); ++i)
    level.dims.push_back(ReadDim((*dims)[i], fmt::format("{}[{}]", dims_path, i)));
  return level;
}

PlanNode ReadGroup(const Json& value, const std::string& path, int depth) {
  if (depth > kDeepestGroup) throw BadInput("{}: more than {} loops", path, kDeepestGroup);
  if (!value.is_array() || value.size() < 2 || value.size() > 3) {
    throw BadInput(
        "{} = {} must be a group: [operations, count], [operations, count, dims] or [operations, "
        "[[count, dims], ...]]",
        path, Show(value));
  }
  PlanNode group;
  group.path = path;
  const Json& ops = List(value[0], path + "[0]");
  if (ops.empty()) throw BadInput("{}[0]: a group without operations", path);
  for (size_t i = 0; i < ops.size(); ++i) {
    const std::string at = fmt::format("{}[0][{}]", path, i);
    if (ops[i].is_array()) {
      group.body.push_back(ReadGroup(ops[i], at, depth + 1));
    } else {
      PlanNode op;
      op.op = Text(ops[i], at);
      op.path = at;
      group.body.push_back(std::move(op));
    }
  }
  if (!value[1].is_array()) {
    group.levels.push_back(
        ReadLevel(value[1], value.size() == 3 ? &value[2] : nullptr, path + "[1]", path + "[2]"));
    return group;
  }
  if (value.size() == 3) {
    throw BadInput("{}: the levels [[count, dims], ...] have their dims already: leave out {}",
                   path, Show(value[2]));
  }
  for (size_t i = 0; i < value[1].size(); ++i) {
    const std::string at = fmt::format("{}[1][{}]", path, i);
    const Json& level = List(value[1][i], at);
    if (level.empty() || level.size() > 2)
      throw BadInput("{} = {} must be a level: [count, dims]", at, Show(level));
    group.levels.push_back(
        ReadLevel(level[0], level.size() == 2 ? &level[1] : nullptr, at + "[0]", at + "[1]"));
  }
  if (group.levels.empty()) throw BadInput("{}[1]: a group without loops", path);
  return group;
}

PlanPlace ReadPlace(const Json& value, const std::string& path) {
  if (value.is_number_integer()) {
    constexpr int64_t kLargestAddress = int64_t{1} << 31;
    const auto address = value.get<int64_t>();
    if (address < 0 || address > kLargestAddress)
      throw BadInput("{} = {} must be an address in LX, in bytes", path, Show(value));
    return {true, address};
  }
  if (value == "lx") return {true, std::nullopt};
  if (value == "device") return {false, std::nullopt};
  throw BadInput("{} = {} must be \"lx\", \"device\" or an address in LX", path, Show(value));
}

Json ToJson(const PlanNode& node) {
  if (!node.op.empty()) return node.op;
  Json body = Json::array(), levels = Json::array();
  for (const PlanNode& member : node.body) body.push_back(ToJson(member));
  for (const PlanLevel& level : node.levels) {
    Json dims = Json::array();
    for (const PlanDim& dim : level.dims)
      std::visit([&](const auto& value) { dims.push_back(value); }, dim);
    Json pair = Json::array({level.count});
    if (!dims.empty()) pair.push_back(std::move(dims));
    levels.push_back(std::move(pair));
  }
  return Json::array({std::move(body), std::move(levels)});
}

}  // namespace

Json PlanToJson(const Plan& plan) {
  Json json = Json::object();
  for (const auto& [op, splits] : plan.splits) {
    json["splits"][op] = Json::object();
    for (const auto& [dim, slices] : splits) json["splits"][op][dim] = slices;
  }
  if (plan.groups) {
    json["groups"] = Json::array();
    for (const PlanNode& group : *plan.groups) json["groups"].push_back(ToJson(group));
  }
  for (const auto& [buffer, place] : plan.places) {
    Json& at = json["lx"][buffer];
    at = place.in_lx ? "lx" : "device";
    if (place.address) at = *place.address;
  }
  for (const std::string& cut : plan.cuts) json["cuts"].push_back(cut);
  return json;
}

Plan ReadPlan(const Json& value, const std::string& path) {
  CheckKeys(value, path, {"splits", "groups", "lx", "cuts"}, {});
  Plan plan;
  if (value.contains("splits")) {
    for (const auto& [op, dims] : Object(value["splits"], path + ".splits")) {
      const std::string at = fmt::format("{}.splits.{}", path, op);
      NamedSplits& splits = plan.splits[op];
      for (const auto& [dim, slices] : Object(dims, at))
        splits[dim] = Size(slices, fmt::format("{}.{}", at, dim));
    }
  }
  if (value.contains("groups")) {
    const Json& groups = List(value["groups"], path + ".groups");
    plan.groups.emplace();
    for (size_t i = 0; i < groups.size(); ++i)
      plan.groups->push_back(ReadGroup(groups[i], fmt::format("{}.groups[{}]", path, i), 1));
  }
  if (value.contains("lx")) {
    for (const auto& [buffer, place] : Object(value["lx"], path + ".lx"))
      plan.places[buffer] = ReadPlace(place, fmt::format("{}.lx.{}", path, buffer));
  }
  if (value.contains("cuts")) {
    const Json& cuts = List(value["cuts"], path + ".cuts");
    for (size_t i = 0; i < cuts.size(); ++i)
      plan.cuts.push_back(Text(cuts[i], fmt::format("{}.cuts[{}]", path, i)));
  }
  return plan;
}

std::string CopiedBy(const std::string& op) {
  const std::string prefix = "copy_";
  return op.rfind(prefix, 0) == 0 ? op.substr(prefix.size()) : op;
}

std::string ListNameOf(const std::string& op) {
  const std::string name = CopiedBy(op);
  return name.substr(0, name.find('.'));
}

std::vector<std::string> OperationsOf(const PlanNode& node) {
  if (!node.op.empty()) return {node.op};
  std::vector<std::string> ops;
  for (const PlanNode& member : node.body) {
    std::vector<std::string> inner = OperationsOf(member);
    ops.insert(ops.end(), inner.begin(), inner.end());
  }
  return ops;
}

Plan PlanForPart(const Plan& plan, const std::vector<std::string>& ops) {
  const auto is_here = [&](const std::string& name) {
    const auto has = [&](const std::string& op) {
      return std::find(ops.begin(), ops.end(), op) != ops.end();
    };
    return has(name) || has(ListNameOf(name));
  };
  Plan part;
  for (const auto& [op, splits] : plan.splits)
    if (is_here(op)) part.splits.emplace(op, splits);
  for (const auto& [buffer, place] : plan.places)
    if (is_here(buffer)) part.places.emplace(buffer, place);
  if (!plan.groups) return part;
  part.groups.emplace();
  for (const PlanNode& group : *plan.groups) {
    const std::vector<std::string> members = OperationsOf(group);
    if (AnyFits(members, is_here)) part.groups->push_back(group);
  }
  return part;
}

}  // namespace spyre::compiler
