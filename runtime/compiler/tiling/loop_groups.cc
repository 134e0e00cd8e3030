// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/loop_groups.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

class Grouper {
 public:
  explicit Grouper(const std::vector<LoopMember>& members) : members_(members) {}

  std::vector<LoopNode> Run() {
    for (const LoopMember& member : members_) {
      if (member.group_id.size() <= kDeepestNest) continue;
      throw BadInput("operation {} is in {} nested loops; at most {} are expected", member.name,
                     member.group_id.size(), kDeepestNest);
    }
    std::vector<LoopNode> nodes = Group(0, members_.size(), 0);
    std::set<int> seen;
    for (const int number : outermost_) {
      if (seen.insert(number).second) continue;
      throw CompileError("RuntimeError", "not_contiguous",
                         fmt::format("loop group {} is in two places of the list of operations: a "
                                     "data flow crosses the border of the group",
                                     number));
    }
    return nodes;
  }

 private:
  bool IsAt(size_t member, size_t depth) const { return members_[member].group_id.size() > depth; }

  const Extent& CountAt(size_t member, size_t depth) const {
    const LoopMember& at = members_[member];
    if (at.count.size() != at.group_id.size()) {
      throw CompileError("AssertionError", "count_length_mismatch",
                         fmt::format("operation {} has {} loop counts for a path of {} levels",
                                     at.name, at.count.size(), at.group_id.size()))
          .Subject(at.name);
    }
    return at.count[depth];
  }

  void CheckSameCount(size_t member, size_t depth, const Extent& count) const {
    const Extent& other = CountAt(member, depth);
    if (other == count) return;
    throw CompileError("AssertionError", "inconsistent_loop_count",
                       fmt::format("operation {}: loop group {} at depth {} has {} trips, and {} "
                                   "for the operations before it",
                                   members_[member].name, members_[member].group_id[depth], depth,
                                   other.ToString(), count.ToString()))
        .Subject(members_[member].name);
  }

  std::vector<LoopNode> Group(size_t begin, size_t end, size_t depth) {
    std::vector<LoopNode> nodes;
    for (size_t i = begin; i < end;) {
      if (!IsAt(i, depth)) {
        nodes.emplace_back(i++);
        continue;
      }
      const int number = members_[i].group_id[depth];
      const Extent count = CountAt(i, depth);
      const size_t first = i++;
      for (; i < end && IsAt(i, depth) && members_[i].group_id[depth] == number; ++i) {
        CheckSameCount(i, depth, count);
      }
      if (depth == 0) outermost_.push_back(number);
      nodes.emplace_back(CountedLoop{count, Group(first, i, depth + 1)});
    }
    return nodes;
  }

  const std::vector<LoopMember>& members_;
  std::vector<int> outermost_;  // number of each outermost run
};

void Flatten(const std::vector<LoopNode>& nodes, std::vector<size_t>& members) {
  for (const LoopNode& node : nodes) {
    if (const auto* member = std::get_if<size_t>(&node)) {
      members.push_back(*member);
    } else {
      Flatten(std::get<CountedLoop>(node).body, members);
    }
  }
}

}  // namespace

std::vector<LoopNode> GroupLoops(const std::vector<LoopMember>& members) {
  return Grouper(members).Run();
}

std::vector<LoopMember> LoopMembersOf(const Graph& graph) {
  std::vector<LoopMember> members;
  for (const GraphOp& op : graph.ops) {
    LoopMember member{op.name, {}, {}};
    if (op.loop) {
      member.group_id = op.loop->group_id;
      member.count = op.loop->count;
    }
    members.push_back(std::move(member));
  }
  return members;
}

std::vector<size_t> FlattenLoops(const std::vector<LoopNode>& nodes) {
  std::vector<size_t> members;
  Flatten(nodes, members);
  return members;
}

}  // namespace spyre::compiler
