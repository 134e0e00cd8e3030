// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/co_optimize.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/plan_segment.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::string LevelsText(const std::vector<PlanLevel>& levels) {
  std::vector<std::string> parts;
  parts.reserve(levels.size());
  for (const PlanLevel& level : levels)
    parts.push_back(fmt::format("{} = {}", std::get<std::string>(level.dims.front()), level.count));
  return fmt::format("{}", Joined(parts, ", "));
}

int64_t TilesOf(const std::vector<PlanLevel>& levels) {
  int64_t tiles = 1;
  for (const PlanLevel& level : levels) tiles *= level.count;
  return tiles;
}

std::string CostText(const SegmentPlan& plan) {
  return fmt::format("{} ({} bytes of traffic, {} steps)", plan.cost, plan.traffic, plan.steps);
}

// The cheapest plan of a run of operations with or without a loop, and what else was looked at.
struct Choice {
  SegmentPlan plan;
  std::vector<PlanLevel> levels;           // empty: no loop, or that of a hint
  std::vector<Decision::Refused> refused;  // other loops
  size_t first = 0, last = 0;              // operations: from first, behind last
};

class Search {
 public:
  Search(const FrontEndResult& graph, const FrontEndOptions& options)
      : graph_(graph),
        ops_(graph.graph.ops),
        segments_(graph, options),
        cost_(*options.co_optimize) {
    group_of_.assign(ops_.size(), -1);
    for (size_t g = 0; g < graph.groups.size(); ++g)
      for (size_t i = 0; i < ops_.size(); ++i)
        if (Has(graph.groups[g].ops, ops_[i].name)) group_of_[i] = static_cast<int>(g);
  }

  // The cheapest division of the list into runs. Empty: none can be compiled.
  std::vector<Choice> Run() {
    const size_t count = ops_.size();
    std::vector<int64_t> cost(count + 1, kNever);
    std::vector<Choice> last(count + 1);
    cost[0] = 0;
    for (size_t begin = 0; begin < count; ++begin) {
      if (cost[begin] == kNever) continue;
      for (size_t end = begin + 1; end <= count; ++end) {
        if (CannotEnd(begin, end)) break;
        if (!IsBoundary(end)) continue;
        for (Choice& choice : ChoicesFor(begin, end)) {
          const int64_t total = cost[begin] + choice.plan.cost;
          if (total >= cost[end]) continue;
          cost[end] = total;
          last[end] = std::move(choice);
        }
      }
    }
    std::vector<Choice> runs;
    if (cost[count] == kNever) return runs;
    for (size_t end = count; end > 0; end = runs.back().first) runs.push_back(last[end]);
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  const std::string& why_none() const { return why_none_; }

 private:
  static bool Has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  bool IsBoundary(size_t at) const {
    if (at == 0 || at == ops_.size()) return true;
    if (group_of_[at - 1] >= 0 && group_of_[at - 1] == group_of_[at]) return false;
    // A buffer and the operations that write parts of it are one.
    for (size_t i = at; i < ops_.size(); ++i) {
      if (ops_[i].layout.kind != BufferLayout::Kind::kMutation || group_of_[i] >= 0) continue;
      for (size_t b = 0; b < at; ++b)
        if (ops_[b].name == ops_[i].layout.target) return false;
    }
    return true;
  }

  // No run from `begin` ends at `end` or behind it.
  bool CannotEnd(size_t begin, size_t end) const {
    if (group_of_[begin] >= 0) return end - 1 > begin && group_of_[end - 1] != group_of_[begin];
    return group_of_[end - 1] >= 0 || (end - begin > CoOptimizeBounds::kRun && IsBoundary(end - 1));
  }

  std::vector<Choice> ChoicesFor(size_t begin, size_t end) {
    std::vector<Choice> choices;
    Choice plain;
    plain.first = begin;
    plain.last = end;
    std::vector<TileGroup> groups;
    if (group_of_[begin] >= 0)
      groups.push_back(graph_.groups[static_cast<size_t>(group_of_[begin])]);
    std::string refusal;
    const std::optional<SegmentPlan> plan = segments_.PlanRun(begin, end, groups, refusal);
    if (plan) {
      plain.plan = *plan;
      choices.push_back(std::move(plain));
    } else {
      why_none_ = refusal;
    }
    if (!groups.empty() || !IsTileable(begin, end)) return choices;
    // Every loop begins each operation at least twice.
    const int64_t least = segments_.LeastTraffic(begin, end);
    if (plan && plan->cost <= LeastCost(least, begin, end, 2)) return choices;
    std::optional<Choice> tiled = Tiled(begin, end, least, plan ? plan->cost : kNever);
    if (tiled) choices.push_back(std::move(*tiled));
    return choices;
  }

  int64_t LeastCost(int64_t traffic, size_t begin, size_t end, int64_t tiles) const {
    return traffic + cost_.bytes_per_step * tiles * static_cast<int64_t>(end - begin) +
           cost_.bytes_per_operation * static_cast<int64_t>(end - begin);
  }

  bool IsTileable(size_t begin, size_t end) const {
    return end - begin <= CoOptimizeBounds::kGroup &&
           std::all_of(ops_.begin() + static_cast<std::ptrdiff_t>(begin),
                       ops_.begin() + static_cast<std::ptrdiff_t>(end), [&](const GraphOp& op) {
                         return op.IsComputed() && op.dim_hints.empty() && !op.Gathers() &&
                                !graph_.graph.IsChosenFrom(op.name) &&
                                op.layout.kind == BufferLayout::Kind::kTiled;
                       });
  }

  std::optional<Choice> Tiled(size_t begin, size_t end, int64_t least, int64_t bound) {
    std::optional<Choice> best;
    std::vector<std::pair<int64_t, Decision::Refused>> dearer;
    std::vector<Decision::Refused> refused;
    for (const std::vector<PlanLevel>& levels : Candidates(begin, end)) {
      const int64_t cost = best ? best->plan.cost : bound;
      if (LeastCost(least, begin, end, TilesOf(levels)) >= cost) {
        refused.push_back({LevelsText(levels),
                           "dearer, like all with as many tiles, even with every result in LX"});
        break;
      }
      std::string refusal;
      const std::optional<SegmentPlan> plan = segments_.PlanLoop(begin, end, levels, refusal);
      if (!plan) {
        refused.push_back({LevelsText(levels), refusal});
        continue;
      }
      Choice choice{*plan, levels, {}, begin, end};
      if (best && plan->cost < best->plan.cost) std::swap(*best, choice);
      if (!best) {
        best = std::move(choice);
      } else {
        dearer.push_back(
            {choice.plan.cost, {LevelsText(choice.levels), "costs " + CostText(choice.plan)}});
      }
    }
    if (!best) return best;
    StableSort(dearer, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [cost, other] : dearer)
      if (best->refused.size() < CoOptimizeBounds::kRefused) best->refused.push_back(other);
    for (const Decision::Refused& other : refused)
      if (best->refused.size() < 2 * CoOptimizeBounds::kRefused) best->refused.push_back(other);
    return best;
  }

  // Along one or two dimensions that all operations walk, few tiles and loops first. An operation
  // that lacks one would do all of its work in each iteration.
  std::vector<std::vector<PlanLevel>> Candidates(size_t begin, size_t end) const {
    std::vector<PlanLevel> single;
    for (const auto& [dim, size] : OutputDims(ops_[begin])) {
      const std::string& name = dim;
      const bool everywhere =
          std::all_of(ops_.begin() + static_cast<std::ptrdiff_t>(begin),
                      ops_.begin() + static_cast<std::ptrdiff_t>(end), [&](const GraphOp& op) {
                        const auto dims = OutputDims(op);
                        return AnyFits(dims, [&](const auto& own) { return own.first == name; });
                      });
      for (int64_t count = 2; everywhere && count <= std::min(size, CoOptimizeBounds::kTiles);
           ++count)
        if (size % count == 0) single.push_back({count, {name}});
    }
    std::vector<std::vector<PlanLevel>> all;
    for (size_t a = 0; a < single.size(); ++a) {
      all.push_back({single[a]});
      for (size_t b = a + 1; b < single.size(); ++b)
        if (single[a].dims != single[b].dims &&
            single[a].count * single[b].count <= CoOptimizeBounds::kTiles)
          all.push_back({single[a], single[b]});
    }
    StableSort(all, [](const auto& a, const auto& b) {
      return std::pair(TilesOf(a), a.size()) < std::pair(TilesOf(b), b.size());
    });
    return all;
  }

  std::vector<std::pair<std::string, int64_t>> OutputDims(const GraphOp& op) const {
    std::vector<std::pair<std::string, int64_t>> dims;
    const std::vector<std::string>& names = graph_.loop_names.at(op.name);
    for (size_t d = 0; d < op.ranges.size(); ++d)
      if (!names[d].empty()) dims.emplace_back(names[d], op.ranges[d].number());
    return dims;
  }

  const FrontEndResult& graph_;
  const std::vector<GraphOp>& ops_;
  SegmentPlanner segments_;
  const CoOptimizeCost cost_;
  std::vector<int> group_of_;  // of each operation, -1: of none
  std::string why_none_;
};

// ---------------------------------------------------------------- what becomes of it

// Results that one run without a loop leaves to another: planned apart, they are in device memory.
void KeepOutWhatCrosses(const std::vector<Choice>& runs, FrontEndResult& graph) {
  std::map<std::string, size_t> run_of;
  for (size_t r = 0; r < runs.size(); ++r)
    for (size_t i = runs[r].first; i < runs[r].last; ++i) run_of[graph.graph.ops[i].name] = r;
  for (const GraphOp& op : graph.graph.ops) {
    for (const GraphRead& read : op.reads) {
      const auto writer = run_of.find(read.buffer);
      if (writer == run_of.end() || writer->second == run_of.at(op.name)) continue;
      if (!runs[writer->second].levels.empty() || !runs[run_of.at(op.name)].levels.empty())
        continue;
      graph.kept_out.emplace(
          read.buffer,
          fmt::format("co-optimization plans '{}', which reads it, apart from it", op.name));
    }
  }
}

void AddGroup(const Choice& choice, const std::string& without, FrontEndResult& graph) {
  int hint_id = 0;
  for (const GraphOp& op : graph.graph.ops)
    for (const DimHint& hint : op.dim_hints) hint_id = std::max(hint_id, hint.hint_id + 1);
  TileGroup group = choice.plan.groups.front();
  for (TileLevel& level : group.levels) level.hint_id += hint_id;
  for (size_t i = choice.first; i < choice.last; ++i) {
    GraphOp& op = graph.graph.ops[i];
    op.dim_hints = choice.plan.hints.at(op.name);
    for (DimHint& hint : op.dim_hints) hint.hint_id += hint_id;
  }
  graph.decisions.push_back(
      {"hints", fmt::format("group {}", graph.groups.size()),
       fmt::format("{} around {}", LevelsText(choice.levels), Joined(group.ops, ", ")),
       fmt::format("co-optimization finds no cheaper plan: it costs {}, {}", CostText(choice.plan),
                   without),
       choice.refused});
  group.path.clear();
  graph.groups.push_back(std::move(group));
}

}  // namespace

void CoOptimize(FrontEndResult& graph, const FrontEndOptions& options) {
  const auto unchanged = [&](const std::string& because) {
    graph.decisions.push_back({"hints", "co-optimization", "no new loops", because, {}});
  };
  if (options.plan.groups) return unchanged("the plan says which operations are in loops");
  Search search(graph, options);
  const std::vector<Choice> runs = search.Run();
  SegmentPlanner whole(graph, options);
  std::string refusal;
  const std::optional<SegmentPlan> as_is = whole.PlanAsItIs(graph.groups, graph.kept_out, refusal);
  if (runs.empty()) return unchanged(fmt::format("no plan was possible: {}", search.why_none()));

  FrontEndResult planned = graph;
  for (const Choice& run : runs) {
    planned.kept_out.insert(run.plan.kept_out.begin(), run.plan.kept_out.end());
    if (run.levels.empty()) continue;
    std::string other;
    const std::optional<SegmentPlan> plain = whole.PlanRun(run.first, run.last, {}, other);
    AddGroup(run,
             plain ? fmt::format("without a loop these operations cost {}", CostText(*plain))
                   : fmt::format("and without a loop: {}", other),
             planned);
  }
  KeepOutWhatCrosses(runs, planned);
  SegmentPlanner result(planned, options);
  const std::optional<SegmentPlan> then =
      result.PlanAsItIs(planned.groups, planned.kept_out, refusal);
  if (!then) return unchanged(fmt::format("the cheapest plan is refused: {}", refusal));
  if (as_is && as_is->cost <= then->cost)
    return unchanged(fmt::format("nothing is gained: the list as it is costs {}, the best plan {}",
                                 CostText(*as_is), CostText(*then)));
  planned.decisions.push_back(
      {"hints",
       "co-optimization",
       fmt::format("new loops: {}, results kept out of LX: {}",
                   planned.groups.size() - graph.groups.size(), planned.kept_out.size()),
       fmt::format("the list then costs {}, {}", CostText(*then),
                   as_is ? "as it is " + CostText(*as_is) : "and as it is: " + refusal),
       {}});
  graph = std::move(planned);
}

int64_t CostOf(const Graph& graph, const LxPlan& lx, const FrontEndOptions& options) {
  return MeasurePlan(graph, lx, options).cost;
}

}  // namespace spyre::compiler
