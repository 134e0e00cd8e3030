// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/hints.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"

namespace spyre::compiler {
namespace {

std::vector<std::string> NamesOf(const Graph& graph, const DimNames& loops,
                                 const std::string& buffer) {
  if (const GraphInput* input = graph.FindInput(buffer)) return input->dim_names;
  const auto it = loops.find(buffer);
  return it == loops.end() ? std::vector<std::string>{} : it->second;
}

// The dimensions of a buffer that several operations write are those of any of them.
void NameTarget(const GraphOp& op, const std::vector<std::string>& names, DimNames& loops) {
  std::vector<std::string>& target = loops[op.layout.target];
  target.resize(op.ranges.size());
  for (size_t d = 0; d < target.size(); ++d)
    if (target[d].empty()) target[d] = names[d];
}

std::set<std::string> AllNames(const Graph& graph, const DimNames& loops) {
  std::set<std::string> names;
  for (const GraphInput& input : graph.inputs) {
    names.insert(input.dim_names.begin(), input.dim_names.end());
  }
  for (const auto& [op, of_op] : loops) names.insert(of_op.begin(), of_op.end());
  names.erase("");
  return names;
}

DimHint Resolve(const GraphOp& op, const std::vector<std::string>& names, const std::string& dim,
                int64_t count, int hint_id) {
  DimHint hint{hint_id, dim, count, std::nullopt, false};
  const auto it = std::find(names.begin(), names.end(), dim);
  if (it == names.end()) return hint;
  hint.dim_index = static_cast<int>(it - names.begin());
  hint.is_reduction = static_cast<size_t>(*hint.dim_index) >= op.ranges.size();
  return hint;
}

std::vector<int> HintIds(const GraphOp& op) {
  std::set<int> ids;
  for (const DimHint& hint : op.dim_hints) ids.insert(hint.hint_id);
  return {ids.begin(), ids.end()};
}

// What one hint becomes for the operations of a group.
struct HintUse {
  std::optional<TileLevel> level;     // of the first operation that divides the dimension
  std::vector<std::string> lacking;   // operations without the dimension
  std::vector<std::string> reducing;  // operations that reduce along it
};

HintUse UseOf(const Graph& graph, const std::vector<std::string>& ops, int hint_id, DimHint* hint) {
  HintUse use;
  for (const std::string& name : ops) {
    for (const DimHint& own : graph.Find(name)->dim_hints) {
      if (own.hint_id != hint_id) continue;
      *hint = own;
      if (!own.dim_index) {
        if (!graph.Find(name)->Accumulates()) use.lacking.push_back(name);
      } else if (own.is_reduction && !graph.Find(name)->partial) {
        use.reducing.push_back(name);
      } else if (!use.level) {
        use.level = TileLevel{own.count, {*own.dim_index}, hint_id};
      }
    }
  }
  return use;
}

std::string Names(const std::vector<std::string>& ops) {
  return fmt::format("{}", Joined(ops, ", "));
}

void LogDropped(const HintUse& use, const DimHint& hint, std::vector<std::string>& log) {
  const std::string what = fmt::format("WARNING: hint {} = {}", hint.dim, hint.count);
  const std::string then =
      use.level ? fmt::format("it does all of its work in each of the {} iterations", hint.count)
                : "the hint is dropped there";
  if (!use.lacking.empty())
    log.push_back(
        fmt::format("{}: {} has no dimension {}: {}", what, Names(use.lacking), hint.dim, then));
  if (!use.reducing.empty()) {
    log.push_back(fmt::format("{}: {} reduces along {}, and reductions are not divided: {}", what,
                              Names(use.reducing), hint.dim, then));
  }
  if (!use.level)
    log.push_back(fmt::format("{}: no operation divides {}: no loop is made", what, hint.dim));
}

// One level for each hint that some operation divides its dimension for.
std::vector<TileLevel> LevelsOf(const Graph& graph, const std::vector<std::string>& ops,
                                const std::vector<int>& hint_ids, std::vector<std::string>* log) {
  std::vector<TileLevel> levels;
  for (const int id : hint_ids) {
    DimHint hint;
    HintUse use = UseOf(graph, ops, id, &hint);
    if (log != nullptr) LogDropped(use, hint, *log);
    if (use.level) levels.push_back(std::move(*use.level));
  }
  return levels;
}

}  // namespace

DimNames NameLoops(const Graph& graph) {
  DimNames loops;
  for (const GraphOp& op : graph.ops) {
    if (!op.IsComputed()) {  // a buffer may have names of its own, those that write it fill in
      if (!op.loop_names.empty()) loops[op.name] = op.loop_names;
      continue;
    }
    std::vector<std::string> names = op.loop_names;
    names.resize(op.ranges.size() + op.reduction_ranges.size());
    for (const GraphRead& read : op.reads) {
      const std::vector<std::string> dims = NamesOf(graph, loops, read.buffer);
      for (size_t d = 0; d < std::min(read.loop.size(), dims.size()); ++d) {
        const int loop = read.loop[d];
        if (loop < 0 || static_cast<size_t>(loop) >= names.size()) continue;
        std::string& name = names[static_cast<size_t>(loop)];
        if (name.empty()) name = dims[d];
      }
    }
    if (op.layout.kind == BufferLayout::Kind::kMutation) NameTarget(op, names, loops);
    loops[op.name] = std::move(names);
  }
  return loops;
}

void AssignDimHints(Graph& graph, const std::vector<HintScope>& scopes) {
  const DimNames loops = NameLoops(graph);
  const std::set<std::string> known = AllNames(graph, loops);
  for (GraphOp& op : graph.ops) op.dim_hints.clear();
  int hint_id = 0;
  for (const HintScope& scope : scopes) {
    for (const auto& [dim, count] : scope.slices) {
      if (known.count(dim) == 0) {
        throw BadInput("hint: no tensor has a dimension '{}'{}", dim,
                       DidYouMean(dim, {known.begin(), known.end()}));
      }
      if (count < 1) throw BadInput("hint: {} slices of {}; at least 1 is needed", count, dim);
      for (const std::string& name : scope.ops) {
        GraphOp* op = graph.Find(name);
        if (op == nullptr) throw BadInput("hint: no operation {} in the graph", name);
        if (!op->IsComputed()) continue;
        op->dim_hints.push_back(Resolve(*op, loops.at(name), dim, count, hint_id));
      }
      ++hint_id;
    }
  }
}

std::vector<TileGroup> HintsToGroups(const Graph& graph, std::vector<std::string>* log) {
  std::vector<TileGroup> groups;
  std::vector<std::string> run;
  std::vector<int> ids;
  const auto flush = [&] {
    if (run.empty()) return;
    TileGroup group{std::move(run), {}};
    run.clear();
    group.levels = LevelsOf(graph, group.ops, ids, log);
    if (!group.levels.empty()) groups.push_back(std::move(group));
  };
  for (const GraphOp& op : graph.ops) {
    if (!op.IsComputed()) continue;
    std::vector<int> own = HintIds(op);
    if (own != ids) flush();
    ids = std::move(own);
    if (!ids.empty()) run.push_back(op.name);
  }
  flush();
  return groups;
}

}  // namespace spyre::compiler
