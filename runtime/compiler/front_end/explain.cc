// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/explain.h"

#include <algorithm>

#include "base/joined.h"
#include "base/ranges.h"

namespace spyre::compiler {
namespace {

// ---------------------------------------------------------------- hints

// What one slice of one hint became in one group.
class HintStory {
 public:
  HintStory(const FrontEndResult& graph, int id, const NamedHint::Slice& slice)
      : graph_(graph),
        id_(id),
        dim_(graph.primitives.dims[static_cast<size_t>(slice.dim)].name),
        count_(slice.count) {}

  Decision Tell() const {
    Decision decision{"hints", fmt::format("hint {} = {}", dim_, count_), "", "", {}};
    std::vector<std::string> loops;
    for (size_t number = 0; number < graph_.groups.size(); ++number) {
      const TileGroup& group = graph_.groups[number];
      for (size_t level = 0; level < group.levels.size(); ++level) {
        if (group.levels[level].hint_id != id_) continue;
        loops.push_back(fmt::format("loop of {} at level {} of group {}", count_, level, number));
      }
    }
    for (const GraphOp& op : graph_.graph.ops) TellOf(op, loops.empty(), decision);
    decision.chosen = loops.empty() ? "no loop" : fmt::format("{}", Joined(loops, ", "));
    decision.because =
        loops.empty()
            ? fmt::format("no operation under it walks {} as a dimension of its result", dim_)
            : "hints nest in the order in which they are given, outermost first";
    return decision;
  }

 private:
  void TellOf(const GraphOp& op, bool no_loop, Decision& decision) const {
    for (const DimHint& hint : op.dim_hints) {
      const bool divides = hint.dim_index && (!hint.is_reduction || op.partial);
      if (hint.hint_id != id_ || divides || op.Accumulates()) continue;
      const std::string then =
          no_loop ? ""
                  : fmt::format(": it does all of its work in each of the {} iterations", count_);
      decision.refused.push_back(
          {op.name,
           hint.is_reduction
               ? fmt::format("reduces along {}, and reductions are not divided{}", dim_, then)
               : fmt::format("has no dimension {}{}", dim_, then)});
    }
  }

  const FrontEndResult& graph_;
  int id_;
  std::string dim_;
  int64_t count_;
};

std::vector<int> HintsOf(const GraphOp& op) {
  std::vector<int> ids;
  ids.reserve(op.dim_hints.size());
  for (const DimHint& hint : op.dim_hints) ids.push_back(hint.hint_id);
  return ids;
}

Decision GroupDecision(const FrontEndResult& graph, size_t number) {
  const TileGroup& group = graph.groups[number];
  std::vector<std::string> loops;
  for (const TileLevel& level : group.levels)
    loops.push_back(fmt::format("loop of {}", level.count.ToString()));
  Decision decision{"hints",
                    fmt::format("group {}", number),
                    fmt::format("{} around {}", Joined(loops, ", in it "), Joined(group.ops, ", ")),
                    "neighbours under the same hints are one group",
                    {}};
  const std::vector<GraphOp>& ops = graph.graph.ops;
  const auto at = [&](const std::string& name) {
    return FindIf(ops, [&](const GraphOp& op) { return op.name == name; });
  };
  const auto beside = [&](const GraphOp& op) {
    decision.refused.push_back(
        {op.name, HintsOf(op).empty() ? "is under no hint" : "is under other hints"});
  };
  const auto first = at(group.ops.front());
  const auto last = at(group.ops.back());
  if (first != ops.begin() && first != ops.end()) beside(*(first - 1));
  if (last != ops.end() && last + 1 != ops.end()) beside(*(last + 1));
  return decision;
}

// ---------------------------------------------------------------- tiles

int GroupNumber(const GraphOp& op) {
  return op.loop && !op.loop->group_id.empty() ? op.loop->group_id.front() : -1;
}

std::string TileReason(const Graph& before, const GraphOp& op, TileDecision decision) {
  std::vector<std::string> inside, outside;
  for (const GraphOp& reader : before.ops) {
    if (!reader.Reads(op.name)) continue;
    (GroupNumber(reader) == GroupNumber(op) ? inside : outside).push_back(reader.name);
  }
  if (before.IsOutput(op.name)) outside.emplace_back("the caller");
  if (decision == TileDecision::kPerTileFixed && !outside.empty())
    return "its loops divide nothing of it: it is the same in every iteration";
  if (decision == TileDecision::kPerTileFixed) return "it is not read outside its loop";
  const std::string out = fmt::format("{} reads it outside the loop", Joined(outside, ", "));
  if (decision == TileDecision::kMutation) return out + ", and nothing reads it inside";
  return fmt::format("{}, and {} inside it", out, Joined(inside, ", "));
}

}  // namespace

std::vector<Decision> ExplainConversions(const FrontEndResult& graph) {
  const NamedGraph& list = graph.primitives;
  const auto tensor = [&](int index) { return list.tensors[static_cast<size_t>(index)]; };
  std::vector<Decision> decisions;
  for (size_t i = 0; i + 1 < list.ops.size(); ++i) {
    const NamedOp& op = list.ops[i];
    const NamedTensor output = tensor(op.output);
    if (op.op != "convert" || output.name.find(".operand") == std::string::npos) continue;
    const NamedTensor from = tensor(op.inputs[0]);
    decisions.push_back(
        {"promote_types",
         output.name,
         fmt::format("conversion of {} to {}", from.name, HostTypeName(output.format)),
         fmt::format("'{}' is {}, and another operand of the operation is not", from.name,
                     HostTypeName(from.format)),
         {}});
  }
  return decisions;
}

std::vector<Decision> ExplainSticks(const FrontEndResult& graph) {
  const NamedGraph& list = graph.primitives;
  std::vector<Decision> decisions;
  const auto name = [&](int tensor) { return list.tensors[static_cast<size_t>(tensor)].name; };
  for (const NamedOp& op : list.ops) {
    if (op.op != "restickify") continue;
    const NamedTensor& from = list.tensors[static_cast<size_t>(op.inputs.front())];
    const auto inside = [&](int stick) {
      return stick < 0 ? "one element" : list.dims[static_cast<size_t>(stick)].name;
    };
    std::vector<std::string> readers;
    for (const NamedOp& reader : list.ops)
      if (std::find(reader.inputs.begin(), reader.inputs.end(), op.output) != reader.inputs.end())
        readers.push_back(name(reader.output));
    decisions.push_back(
        {"stick",
         name(op.output),
         fmt::format("restickify of {}", from.name),
         fmt::format("'{}' has {} inside its sticks, {} wants {} there", from.name,
                     inside(from.stick),
                     readers.empty() ? "the caller" : fmt::format("{}", Joined(readers, ", ")),
                     inside(list.tensors[static_cast<size_t>(op.output)].stick)),
         {}});
  }
  return decisions;
}

std::vector<Decision> ExplainHints(const FrontEndResult& graph) {
  std::vector<Decision> decisions;
  int id = 0;
  for (const NamedHint& hint : graph.primitives.hints)
    for (const NamedHint::Slice& slice : hint.slices)
      decisions.push_back(HintStory(graph, id++, slice).Tell());
  for (size_t number = 0; number < graph.groups.size(); ++number)
    decisions.push_back(GroupDecision(graph, number));
  return decisions;
}

std::vector<Decision> ExplainTiles(const Graph& before, const TilePropagation& propagation) {
  std::vector<Decision> decisions;
  for (const GraphOp& op : before.ops) {
    const auto found = propagation.decisions.find(op.name);
    if (found == propagation.decisions.end() || found->second == TileDecision::kNone) continue;
    const TileDecision decision = found->second;
    decisions.push_back({"propagate",
                         op.name,
                         decision == TileDecision::kPerTileFixed
                             ? "one tile, used again by every iteration"
                         : decision == TileDecision::kCopy
                             ? fmt::format("its tile, and a copy of it in full_{}", op.name)
                             : fmt::format("writes full_{} tile by tile", op.name),
                         TileReason(before, op, decision),
                         {}});
  }
  return decisions;
}

std::vector<Decision> ExplainPlaces(const FrontEndResult& graph,
                                    const FrontEndOptions& /*options*/) {
  std::vector<Decision> decisions;
  for (const LxBufferPlan& buffer : graph.lx.buffers) {
    Decision decision{"lx", buffer.name, "", buffer.reason, {}};
    if (buffer.lx_address) {
      decision.chosen =
          fmt::format("LX, {} bytes of each core at {}", buffer.core_bytes, *buffer.lx_address);
    } else if (buffer.pool_offset) {
      decision.chosen = fmt::format("pool, {} bytes of device memory at {}", buffer.device_bytes,
                                    *buffer.pool_offset);
      decision.because = "it cannot stay in LX";
      decision.refused.push_back({"LX", buffer.reason});
    } else {
      decision.chosen = "argument, in device memory";
    }
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

std::string ExplainText(const std::vector<Decision>& decisions) {
  std::string text, pass;
  for (const Decision& decision : decisions) {
    if (decision.pass != pass) text += decision.pass + "\n";
    pass = decision.pass;
    text += fmt::format("  {}: {}\n", decision.subject, decision.chosen);
    if (!decision.because.empty()) text += fmt::format("    because {}\n", decision.because);
    for (const Decision::Refused& refused : decision.refused)
      text += fmt::format("    not {}: {}\n", refused.candidate, refused.rule);
  }
  return text;
}

}  // namespace spyre::compiler
