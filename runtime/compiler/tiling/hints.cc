#include "runtime/compiler/hints.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "model/contract/error.h"
#include "model/contract/nearest.h"

namespace spyre::compiler {
namespace {

std::vector<std::string> NamesOf(const Graph& graph, const DimNames& loops,
                                 const std::string& buffer) {
  if (const GraphInput* input = graph.FindInput(buffer)) return input->dim_names;
  const auto it = loops.find(buffer);
  return it == loops.end() ? std::vector<std::string>{} : it->second;
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

std::vector<TileLevel> LevelsOf(const Graph& graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::vector<TileLevel> levels;
    for (const DimHint& hint : graph.Find(name)->dim_hints) {
      if (!hint.dim_index || hint.is_reduction) continue;
      levels.push_back({hint.count, {*hint.dim_index}, hint.hint_id});
    }
    if (!levels.empty()) return levels;
  }
  return {};
}

}  // namespace

DimNames NameLoops(const Graph& graph) {
  DimNames loops;
  for (const GraphOp& op : graph.ops) {
    if (!op.IsComputed()) continue;
    std::vector<std::string> names(op.ranges.size() + op.reduction_ranges.size());
    for (const GraphRead& read : op.reads) {
      const std::vector<std::string> dims = NamesOf(graph, loops, read.buffer);
      for (size_t d = 0; d < std::min(read.loop.size(), dims.size()); ++d) {
        const int loop = read.loop[d];
        if (loop < 0 || static_cast<size_t>(loop) >= names.size()) continue;
        std::string& name = names[static_cast<size_t>(loop)];
        if (name.empty()) name = dims[d];
      }
    }
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
    group.levels = LevelsOf(graph, group.ops);
    if (!group.levels.empty()) {
      groups.push_back(std::move(group));
    } else if (log != nullptr) {
      log->push_back(
          fmt::format("WARNING: hint on {}: no operation walks the hinted dimension; "
                      "the hint is ignored",
                      fmt::join(group.ops, ", ")));
    }
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
