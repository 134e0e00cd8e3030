// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/division/graph_division.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ir/device_coordinates.h"
#include "runtime/compiler/ir/nearest_number.h"

namespace spyre::compiler {
namespace {

constexpr std::string_view kRestickify = "ReStickifyOpHBM";

struct Member {
  const GraphOp* op;
  OpIr ir;
  std::vector<std::string> loops;  // names, "" unknown

  bool WalksAsOutput(const std::string& dim) const {
    const auto last = loops.begin() + static_cast<ptrdiff_t>(op->ranges.size());
    return std::find(loops.begin(), last, dim) != last;
  }
};

// Splits by dimension name, those above 1 only; nothing if a loop without a name is cut.
std::optional<std::map<std::string, int>> SplitsByName(const Member& member,
                                                       const std::vector<int>& splits) {
  std::map<std::string, int> named;
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] == 1) continue;
    if (member.loops[i].empty() || i >= member.op->ranges.size()) return std::nullopt;
    named[member.loops[i]] = splits[i];
  }
  return named;
}

class GraphDivider {
 public:
  GraphDivider(const Graph& graph,
               const std::map<std::string, std::vector<std::string>>& loop_names,
               const DivisionOptions& options)
      : graph_(graph), loop_names_(loop_names), options_(options) {}

  std::map<std::string, WorkDivision> Run() {
    std::map<int, std::vector<Member>> groups;
    for (const GraphOp& op : graph_.ops) {
      if (!op.IsComputed()) continue;
      Member member{&op, ToOpIr(graph_, op), LoopNames(op)};
      divisions_[op.name] = DivideWork(member.ir, options_.max_cores, options_.k_fast,
                                       options_.rule, options_.timing);
      if (op.loop && !op.loop->group_id.empty() && op.op != kRestickify)
        groups[op.loop->group_id.front()].push_back(std::move(member));
    }
    if (options_.agree) {
      for (const auto& [group, members] : groups) Agree(members);
    }
    for (const auto& [name, splits] : options_.splits) ApplyPlan(name, splits);
    for (auto& [name, division] : divisions_) {
      const GraphOp& op = *graph_.Find(name);
      const OpIr ir = ToOpIr(graph_, op);
      DivideIntoEqualParts(op, ir, division);
      PlaceOneColumn(ir, division);
    }
    return std::move(divisions_);
  }

 private:
  // The rules count a loop inside a stick in sticks, whole or not; emission divides its elements
  // into equal parts (op_alignment.h). Where these differ, LX would be planned for other cores than
  // those that work.
  static void DivideIntoEqualParts(const GraphOp& op, const OpIr& ir, WorkDivision& division) {
    bool changed = false;
    for (size_t i = 0; i < division.splits.size(); ++i) {
      auto parts = static_cast<int>(std::gcd<int64_t>(division.splits[i], ir.loops[i].range));
      if (op.op == kRestickify && EndsWithinBlock(ir, i)) parts = 1;
      changed = changed || parts != division.splits[i];
      division.splits[i] = parts;
    }
    if (!changed) return;
    division.cores_used =
        std::accumulate(division.splits.begin(), division.splits.end(), 1, std::multiplies<>());
    division.slice = CoreToSlice(division.splits, division.k_fastest);
  }

  // A matmul of one column keeps its loop (lower_to_op_specs.h), which counts where the cores are
  // given the parts of its sum.
  void PlaceOneColumn(const OpIr& ir, WorkDivision& division) const {
    const int column = ir.output.layout.stick_dim();
    if (!ir.IsMatmul() || column < 0 || ir.loops[static_cast<size_t>(column)].range > 1) return;
    const size_t walked = WorkDivider(ir).iteration_space().size();
    division.k_fastest = options_.k_fast && walked >= 2 && division.splits.back() > 1;
    division.slice = CoreToSlice(division.splits, division.k_fastest);
  }

  // Both loops of a restickify are in the stick of one tensor and outside those of the other one,
  // which may have no room for padding: then a core with a part of the loop would end within a
  // stick.
  static bool EndsWithinBlock(const OpIr& ir, size_t loop) {
    const int64_t per_stick = WorkDivider(ir).elements_per_stick()[loop];
    const int64_t range = ir.loops[loop].range;
    if (per_stick == 0 || range % per_stick == 0) return false;
    const int64_t padded = (range / per_stick + 1) * per_stick;
    for (const TensorAccess& tensor : {ir.inputs.front(), ir.output}) {
      const std::vector<Coordinate> coordinates =
          DeviceCoordinates(tensor.layout, tensor.index, ir.loops);
      if (coordinates.back().Uses(static_cast<int>(loop))) continue;  // padded in its sticks
      for (size_t d = 0; d < coordinates.size(); ++d) {
        if (!coordinates[d].Uses(static_cast<int>(loop))) continue;
        if (tensor.layout.device_size[d] < padded) return true;
      }
    }
    return false;
  }

  std::vector<std::string> LoopNames(const GraphOp& op) const {
    const std::string copy = "copy_";
    auto names = loop_names_.find(op.name);
    if (names == loop_names_.end() && op.name.rfind(copy, 0) == 0)
      names = loop_names_.find(op.name.substr(copy.size()));
    std::vector<std::string> loops(op.ranges.size() + op.reduction_ranges.size());
    if (names == loop_names_.end()) return loops;
    std::copy_n(names->second.begin(), std::min(loops.size(), names->second.size()), loops.begin());
    return loops;
  }

  bool AgreeAlready(const std::vector<Member>& members) const {
    const auto first = SplitsByName(members[0], divisions_.at(members[0].op->name).splits);
    return first && AllFit(members, [&](const Member& member) {
             return SplitsByName(member, divisions_.at(member.op->name).splits) == first;
           });
  }

  // Name -> units that a core gets a whole number of, in every operation.
  static std::map<std::string, int64_t> CommonDims(const std::vector<Member>& members) {
    std::map<std::string, int64_t> common;
    for (const std::string& dim : members[0].loops) {
      const bool everywhere =
          AllFit(members, [&](const Member& m) { return !dim.empty() && m.WalksAsOutput(dim); });
      if (everywhere) common[dim] = 0;
    }
    for (const Member& member : members) {
      const WorkDivider divider(member.ir);
      for (size_t i = 0; i < member.loops.size(); ++i) {
        const auto found = common.find(member.loops[i]);
        if (found != common.end())
          found->second = std::gcd(found->second, divider.size_in_sticks()[i]);
      }
    }
    return common;
  }

  void Agree(const std::vector<Member>& members) {
    if (AgreeAlready(members)) return;
    std::vector<std::string> names;
    std::vector<int64_t> units;
    for (const auto& [name, size] : CommonDims(members)) {
      names.push_back(name);
      units.push_back(size);
    }
    std::vector<int> order(names.size());
    std::iota(order.begin(), order.end(), 0);
    StableSort(order, [&](int a, int b) { return units[a] > units[b]; });
    const std::vector<int> shared =
        SplitIterationSpace(units, options_.max_cores, order, {}, {}).splits;
    std::map<std::string, int> splits;
    for (size_t i = 0; i < names.size(); ++i)
      if (shared[i] > 1) splits[names[i]] = shared[i];
    if (splits.empty()) return;
    std::vector<std::string> shared_names;
    shared_names.reserve(splits.size());
    for (const auto& [name, split] : splits)
      shared_names.push_back(fmt::format("{}: {}", name, split));
    const std::string why =
        fmt::format("the operations of its loop agree on the dimensions that all of them walk ({})",
                    Joined(shared_names, ", "));
    for (const Member& member : members) Apply(member, splits, why);
  }

  void Apply(const Member& member, const std::map<std::string, int>& named,
             const std::string& why) {
    WorkDivision division;
    division.trace = divisions_.at(member.op->name).trace;
    division.trace.agreement = why;
    division.splits.assign(member.loops.size(), 1);
    for (size_t i = 0; i < member.loops.size(); ++i) {
      const auto found = named.find(member.loops[i]);
      if (found != named.end()) division.splits[i] = found->second;
    }
    const WorkDivider divider(member.ir);
    for (size_t i = 0; i < divider.tensor_count(); ++i) {
      if (divider.PerCoreSpan(i, division.splits) <= static_cast<int64_t>(kMaxCoreSpanBytes))
        continue;
      divisions_.at(member.op->name).trace.agreement =
          fmt::format("a core would reach more than 256 MiB of '{}'", divider.tensor(i).name);
      return;
    }
    division.cores_used =
        std::accumulate(division.splits.begin(), division.splits.end(), 1, std::multiplies<>());
    division.slice = CoreToSlice(division.splits, false);
    divisions_[member.op->name] = std::move(division);
  }

  static CompileError Refusal(const char* kind, const std::string& op, const std::string& message,
                              const std::string& remedy) {
    return CompileError("InvalidPlan", kind,
                        fmt::format("plan.splits.{}: {}{}{}", op, message,
                                    remedy.empty() ? "" : "; ", remedy))
        .Subject(op)
        .Remedy(remedy);
  }

  // The user's own division of one operation.
  void ApplyPlan(const std::string& name, const NamedSplits& named) {
    const GraphOp* op = graph_.Find(name);
    if (op == nullptr || !op->IsComputed()) {
      std::vector<std::string> known;
      for (const GraphOp& other : graph_.ops)
        if (other.IsComputed()) known.push_back(other.name);
      throw Refusal("unknown_op", name,
                    fmt::format("no such operation (there are {}){}", Joined(known, ", "),
                                DidYouMean(name, known)),
                    "");
    }
    const OpIr ir = ToOpIr(graph_, *op);
    const WorkDivider divider(ir);
    const std::vector<std::string> loops = LoopNames(*op);
    std::vector<int> splits(loops.size(), 1);
    for (const auto& [dim, slices] : named) {
      const auto at = std::find(loops.begin(), loops.end(), dim);
      if (at == loops.end()) {
        throw Refusal("unknown_dim", name,
                      fmt::format("it has no dimension '{}' (it has {}){}", dim,
                                  Joined(loops, ", "), DidYouMean(dim, loops)),
                      "");
      }
      const auto loop = static_cast<size_t>(at - loops.begin());
      splits[loop] = static_cast<int>(
          CheckSlices(name, dim, slices, ir.loops[loop].range, divider.size_in_sticks()[loop]));
    }
    CheckCores(name, *op, loops, splits);
    WorkDivision& division = divisions_[name];
    division = DivisionOf(ir, std::move(splits), options_.k_fast);
    division.trace.by_plan = true;
  }

  // Equal parts, of whole sticks where the dimension is in a stick.
  int64_t CheckSlices(const std::string& op, const std::string& dim, int64_t slices, int64_t range,
                      int64_t units) const {
    const std::vector<int64_t> valid = DivisorsUpTo(std::gcd(range, units), options_.max_cores);
    if (std::find(valid.begin(), valid.end(), slices) != valid.end()) return slices;
    const std::string size = range == units ? fmt::format("{} elements", range)
                                            : fmt::format("{} elements in {} stick{}", range, units,
                                                          units == 1 ? "" : "s");
    const std::string nearest = NearestOf(slices, valid);
    throw Refusal("split_not_divisible", op,
                  fmt::format("{} = {}: {} do not make {} equal parts on {} core{}", dim, slices,
                              size, slices, options_.max_cores, options_.max_cores == 1 ? "" : "s"),
                  "nearest valid split: " + nearest);
  }

  // Proposes splits with one of the dimensions cut into fewer parts.
  std::string NearestSplits(const std::vector<std::string>& loops, const std::vector<int>& splits,
                            int64_t cores) const {
    std::string text;
    for (size_t i = 0; i < splits.size(); ++i) {
      const int64_t others = cores / splits[i];
      if (splits[i] == 1 || others > options_.max_cores) continue;
      const int64_t parts = DivisorsUpTo(splits[i], options_.max_cores / others).back();
      text += fmt::format("{}{} = {}", text.empty() ? "nearest: " : " or ", loops[i], parts);
    }
    return text.empty() ? fmt::format("at most {} in all", options_.max_cores) : text;
  }

  void CheckCores(const std::string& name, const GraphOp& op, const std::vector<std::string>& loops,
                  const std::vector<int>& splits) const {
    int64_t cores = 1;
    std::string text;
    std::vector<std::string> reduced;
    for (size_t i = 0; i < splits.size(); ++i) {
      if (splits[i] == 1) continue;
      cores *= splits[i];
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", loops[i], splits[i]);
      if (i >= op.ranges.size()) reduced.push_back(loops[i]);
    }
    if (cores > options_.max_cores) {
      throw Refusal("too_many_cores", name,
                    fmt::format("{} are {} parts for {} cores", text, cores, options_.max_cores),
                    NearestSplits(loops, splits, cores));
    }
    if (reduced.size() > 1) {
      throw Refusal("two_reductions", name,
                    fmt::format("{} are both reduced, and at most one such dimension is divided",
                                Joined(reduced, " and ")),
                    fmt::format("leave {} out", reduced.back()));
    }
  }

  const Graph& graph_;
  const std::map<std::string, std::vector<std::string>>& loop_names_;
  const DivisionOptions& options_;
  std::map<std::string, WorkDivision> divisions_;
};

}  // namespace

std::map<std::string, WorkDivision> DivideGraph(
    const Graph& graph, const std::map<std::string, std::vector<std::string>>& loop_names,
    const DivisionOptions& options) {
  return GraphDivider(graph, loop_names, options).Run();
}

}  // namespace spyre::compiler
