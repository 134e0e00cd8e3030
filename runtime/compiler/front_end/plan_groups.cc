// SPDX-License-Identifier: Apache-2.0
// GroupsOfPlan: explicit tile groups, nested as the user wrote them, become groups of coarse tiling
// with a path each.

#include <algorithm>
#include <map>
#include <set>

#include "base/joined.h"
#include "base/nearest.h"
#include "runtime/compiler/front_end/plan.h"
#include "runtime/compiler/ir/nearest_number.h"

namespace spyre::compiler {
namespace {

CompileError Refusal(const char* kind, const PlanNode& node, const std::string& message,
                     const std::string& remedy) {
  return CompileError(
             "InvalidPlan", kind,
             fmt::format("{}: {}{}{}", node.path, message, remedy.empty() ? "" : "; ", remedy))
      .Subject(node.path)
      .Remedy(remedy);
}

// One loop that a level makes: a dimension cut into tiles.
struct DimLoop {
  std::string dim;
  int64_t count;
  int hint_id;
};

class GroupPlanner {
 public:
  GroupPlanner(Graph& graph, const DimNames& loop_names, std::vector<std::string>& log)
      : graph_(graph), loop_names_(loop_names), log_(log) {
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      graph.ops[i].dim_hints.clear();
      if (graph.ops[i].IsComputed()) names_.push_back(graph.ops[i].name);
    }
  }

  std::vector<TileGroup> Plan(const std::vector<PlanNode>& groups) {
    for (const PlanNode& group : groups) AddGroup(group, {}, {});
    return std::move(groups_);
  }

 private:
  // Path of the loops around, and those loops.
  void AddGroup(const PlanNode& node, std::vector<int> path, std::vector<DimLoop> loops) {
    const std::vector<std::string> ops = Members(node);
    CheckContiguous(node, ops);
    const size_t outer = loops.size();
    for (const PlanLevel& level : node.levels) AddLevel(node, ops, level, loops);
    if (loops.size() > outer) {
      const int number = next_number_[path]++;
      path.push_back(number);
      path.resize(loops.size(), 0);
    }
    TileGroup run;
    const auto flush = [&] {
      if (!run.ops.empty() && !loops.empty()) {
        run.path = path;
        for (const DimLoop& loop : loops) run.levels.push_back(LevelOf(run.ops, loop));
        groups_.push_back(std::move(run));
      }
      run = {};
    };
    for (const PlanNode& member : node.body) {
      if (!member.op.empty()) {
        for (std::string& op : Expand(member)) {
          if (!seen_.insert(op).second)
            throw Refusal("op_twice", member, fmt::format("{} is in two groups", op), "");
          run.ops.push_back(std::move(op));
        }
      } else {
        flush();
        AddGroup(member, path, loops);
      }
    }
    flush();
  }

  TileLevel LevelOf(const std::vector<std::string>& ops, const DimLoop& loop) const {
    TileLevel level{loop.count, {}, loop.hint_id};
    for (const std::string& op : ops) {
      const DimHint hint = HintOf(op, loop);
      if (!level.dims.empty() || !hint.dim_index || hint.is_reduction) continue;
      level.dims = {*hint.dim_index};
    }
    return level;
  }

  std::vector<std::string> Members(const PlanNode& node) const {
    std::vector<std::string> all;
    for (const PlanNode& member : node.body) {
      std::vector<std::string> ops = member.op.empty() ? Members(member) : Expand(member);
      all.insert(all.end(), ops.begin(), ops.end());
    }
    return all;
  }

  // A composite is the operations that it became, and what was inserted behind them.
  std::vector<std::string> Expand(const PlanNode& member) const {
    std::vector<std::string> ops;
    for (const std::string& name : names_)
      if (name == member.op || name.rfind(member.op + ".", 0) == 0) ops.push_back(name);
    for (const std::string& name : ops) {
      const BufferLayout& layout = graph_.Find(name)->layout;
      if (graph_.Find(name)->Gathers()) {
        throw Refusal("gathers", member,
                      fmt::format("'{}' chooses by indices, which loops do not divide", name),
                      "make groups of what is before it and of what is behind it");
      }
      if (layout.kind != BufferLayout::Kind::kMutation) continue;
      throw Refusal("written_in_parts", member,
                    fmt::format("'{}' is written in parts, as '{}' is, which loops do not divide",
                                layout.target, name),
                    "make groups of what is before it and of what is behind it");
    }
    if (!ops.empty()) return ops;
    throw Refusal("unknown_op", member,
                  fmt::format("'{}' is not an operation of the list (they are {}){}", member.op,
                              Joined(names_, ", "), DidYouMean(member.op, names_)),
                  "");
  }

  void CheckContiguous(const PlanNode& node, const std::vector<std::string>& ops) const {
    const std::set<std::string> in(ops.begin(), ops.end());
    size_t met = 0;
    std::vector<std::string> between, held;
    for (const std::string& name : names_) {
      if (in.count(name) != 0) {
        ++met;
        between.insert(between.end(), held.begin(), held.end());
        held.clear();
      } else if (met > 0) {
        held.push_back(name);
      }
    }
    if (between.empty()) return;
    throw Refusal("not_contiguous", node,
                  fmt::format("the operations of a group follow each other in the list, and {} "
                              "stand{} between them",
                              Joined(between, ", "), between.size() == 1 ? "s" : ""),
                  "take them in, or make two groups");
  }

  void AddLevel(const PlanNode& node, const std::vector<std::string>& ops, const PlanLevel& level,
                std::vector<DimLoop>& loops) {
    if (level.count == 1) return;
    std::vector<PlanDim> dims = level.dims;
    if (dims.empty()) dims.emplace_back(int64_t{0});
    for (const PlanDim& dim : dims) {
      const DimLoop loop{NameOf(node, ops.front(), dim), level.count, next_hint_id_++};
      CheckTiles(node, ops, loop, loops);
      for (const std::string& name : ops)
        graph_.Find(name)->dim_hints.push_back(HintOf(name, loop));
      loops.push_back(loop);
    }
  }

  std::string NameOf(const PlanNode& node, const std::string& first, const PlanDim& dim) const {
    if (const auto* name = std::get_if<std::string>(&dim)) return *name;
    const int64_t position = std::get<int64_t>(dim);
    const std::vector<std::string> outputs = OutputDims(first);
    if (outputs.empty())
      throw Refusal("unknown_dim", node, fmt::format("{} is one number", first), "");
    if (static_cast<size_t>(position) < outputs.size())
      return outputs[static_cast<size_t>(position)];
    throw Refusal("unknown_dim", node,
                  fmt::format("dimension {} of {}, whose result has {} (0 .. {})", position, first,
                              outputs.size(), outputs.size() - 1),
                  fmt::format("{} is the last", outputs.size() - 1));
  }

  std::vector<std::string> OutputDims(const std::string& op) const {
    std::vector<std::string> names = loop_names_.at(op);
    names.resize(graph_.Find(op)->ranges.size());
    return names;
  }

  DimHint HintOf(const std::string& name, const DimLoop& loop) const {
    DimHint hint{loop.hint_id, loop.dim, loop.count, std::nullopt, false};
    const std::vector<std::string>& names = loop_names_.at(name);
    const auto it = std::find(names.begin(), names.end(), loop.dim);
    if (it == names.end()) return hint;
    hint.dim_index = static_cast<int>(it - names.begin());
    hint.is_reduction = static_cast<size_t>(*hint.dim_index) >= graph_.Find(name)->ranges.size();
    return hint;
  }

  void CheckTiles(const PlanNode& node, const std::vector<std::string>& ops, const DimLoop& loop,
                  const std::vector<DimLoop>& outer) {
    std::vector<std::string> lacking, reducing, dividing;
    std::set<std::string> known;
    for (const std::string& op : ops) {
      known.insert(loop_names_.at(op).begin(), loop_names_.at(op).end());
      const DimHint hint = HintOf(op, loop);
      (!hint.dim_index ? lacking : hint.is_reduction ? reducing : dividing).push_back(op);
    }
    known.erase("");
    const std::vector<std::string> dims(known.begin(), known.end());
    if (lacking.size() == ops.size()) {
      throw Refusal("unknown_dim", node,
                    fmt::format("no operation of the group has a dimension '{}' (they have {}){}",
                                loop.dim, Joined(dims, ", "), DidYouMean(loop.dim, dims)),
                    "");
    }
    if (dividing.empty()) {
      throw Refusal("nothing_to_divide", node,
                    fmt::format("{} reduces along {}, and a reduction is not divided by a loop",
                                Joined(reducing, ", "), loop.dim),
                    "cut another dimension");
    }
    int64_t cut = 1;
    for (const DimLoop& other : outer)
      if (other.dim == loop.dim) cut *= other.count;
    for (const std::string& op : dividing) CheckCount(node, op, loop, cut);
    for (const auto* others : {&lacking, &reducing}) {
      if (others->empty()) continue;
      log_.push_back(fmt::format(
          "WARNING: {}: {} {} {}: it does all of its work in each of the {} iterations", node.path,
          Joined(*others, ", "), others == &lacking ? "has no dimension" : "reduces along",
          loop.dim, loop.count));
    }
  }

  // Elements in a stick of the dimension, of the tensor with the most; 1: it is in no stick.
  int64_t StickOf(const GraphOp& op, int loop) const {
    int64_t elements = 1;
    const auto look = [&](const StickLayout& layout, int host_dim) {
      if (layout.stick_dim() == host_dim)
        elements = std::max<int64_t>(elements, ElementsPerStick(layout.format));
    };
    look(op.layout.device, loop);
    for (const GraphRead& read : op.reads) {
      const auto host = std::find(read.loop.begin(), read.loop.end(), loop);
      if (host != read.loop.end())
        look(graph_.LayoutOf(read.buffer).device, static_cast<int>(host - read.loop.begin()));
    }
    return elements;
  }

  void CheckCount(const PlanNode& node, const std::string& name, const DimLoop& loop, int64_t cut) {
    const GraphOp& op = *graph_.Find(name);
    const int dim = *HintOf(name, loop).dim_index;
    const int64_t size = op.ranges[static_cast<size_t>(dim)].number() / cut;
    const int64_t stick = StickOf(op, dim);
    if (size % loop.count == 0 && size / loop.count % stick == 0) return;
    std::vector<int64_t> valid;
    for (const int64_t count : DivisorsUpTo(size, size))
      if (size / count % stick == 0) valid.push_back(count);
    const std::string nearest = NearestOf(loop.count, valid);
    const std::string remedy = nearest.empty() ? fmt::format("{} cannot be cut", loop.dim)
                                               : "nearest valid count: " + nearest;
    if (size % loop.count != 0) {
      throw Refusal(
          "not_divisible", node,
          fmt::format("{} tiles of {}: its {} elements{} are not a multiple of {}", loop.count,
                      loop.dim, size, cut == 1 ? "" : " of one outer tile", loop.count),
          remedy);
    }
    throw Refusal("partial_stick", node,
                  fmt::format("{} tiles of {}: {} elements are not a whole number of sticks of {} "
                              "(in {})",
                              loop.count, loop.dim, size / loop.count, stick, name),
                  remedy);
  }

  Graph& graph_;
  const DimNames& loop_names_;
  std::vector<std::string>& log_;
  std::vector<std::string> names_;  // of computed operations, in order
  std::set<std::string> seen_;
  std::vector<TileGroup> groups_;
  int next_hint_id_ = 0;
  std::map<std::vector<int>, int> next_number_;  // of loops, by the path of those around
};

}  // namespace

std::vector<TileGroup> GroupsOfPlan(Graph& graph, const DimNames& loop_names,
                                    const std::vector<PlanNode>& groups,
                                    std::vector<std::string>& log) {
  return GroupPlanner(graph, loop_names, log).Plan(groups);
}

}  // namespace spyre::compiler
