// SPDX-License-Identifier: Apache-2.0
// ExplainDivision (explain.h): the rules of work division, told again with what they refused.

#include <algorithm>
#include <numeric>

#include "base/joined.h"
#include "runtime/compiler/front_end/explain.h"

namespace spyre::compiler {
namespace {

class DivisionStory {
 public:
  DivisionStory(const FrontEndResult& graph, const GraphOp& op, const FrontEndOptions& options)
      : division_(graph.divisions.at(op.name)),
        options_(options.division),
        ir_(ToOpIr(graph.graph, op)),
        divider_(ir_),
        cores_(options.division.max_cores) {
    const std::string copy = "copy_";
    auto loops = graph.loop_names.find(op.name);
    if (loops == graph.loop_names.end() && op.name.rfind(copy, 0) == 0)
      loops = graph.loop_names.find(op.name.substr(copy.size()));
    for (size_t i = 0; i < ir_.loops.size(); ++i) {
      const bool named =
          loops != graph.loop_names.end() && i < loops->second.size() && !loops->second[i].empty();
      names_.push_back(named ? loops->second[i] : ir_.loops[i].name);
    }
    decision_ = {"division", op.name, Splits(division_.splits), "", {}};
    decision_.chosen += fmt::format(", on {} of {} cores", division_.cores_used, cores_);
  }

  Decision Tell() {
    TellRule();
    const DivisionTrace& trace = division_.trace;
    if (division_.splits == trace.by_rule) {
      if (!trace.agreement.empty())
        decision_.refused.push_back({"agreement with its loop", trace.agreement});
      return std::move(decision_);
    }
    if (!trace.agreement.empty()) {
      decision_.because = trace.agreement;
      Refuse(trace.by_rule,
             "the rule's own answer: the cores would hold other parts than in the "
             "other operations of the loop");
    } else if (InEqualParts(trace.by_rule)) {
      decision_.because = "a loop that ends within a stick is cut into parts of equal elements";
      Refuse(trace.by_rule, "the parts would not be equal");
    } else {
      decision_.because = "it was given";
      if (!trace.by_rule.empty()) Refuse(trace.by_rule, "the rule's own answer");
    }
    return std::move(decision_);
  }

 private:
  void Refuse(const std::vector<int>& splits, const std::string& rule) {
    decision_.refused.push_back({Splits(splits), rule});
  }

  // The splits are those of the rule, as far as they divide the elements.
  bool InEqualParts(const std::vector<int>& by_rule) const {
    if (by_rule.size() != division_.splits.size()) return false;
    for (size_t i = 0; i < by_rule.size(); ++i)
      if (division_.splits[i] != std::gcd<int64_t>(by_rule[i], ir_.loops[i].range)) return false;
    return true;
  }

  std::string Splits(const std::vector<int>& splits) const {
    std::vector<std::string> parts;
    for (size_t i = 0; i < splits.size(); ++i)
      if (splits[i] > 1) parts.push_back(fmt::format("{}: {}", names_[i], splits[i]));
    return parts.empty() ? "not cut" : fmt::format("{}", Joined(parts, ", "));
  }

  void TellRule() {
    const DivisionTrace& trace = division_.trace;
    if (trace.by_rule.empty()) return;  // it was not recorded
    if (trace.by_plan) {
      decision_.because = "the plan says so";
      return;
    }
    if (!trace.k_fast_refused.empty())
      decision_.refused.push_back({"k-fast division", trace.k_fast_refused});
    if (ir_.IsTopK()) {
      decision_.because = "a top-k reduction is not divided";
      return;
    }
    if (trace.by_cost) {
      decision_.because = "rule cost: no split into whole sticks is faster by the model of matmuls";
      const std::vector<int> other = DivideWork(ir_, cores_, options_.k_fast).splits;
      if (other != trace.by_rule)
        decision_.refused.push_back(
            {Splits(other), "the public rule's answer: slower by the model"});
      return;
    }
    if (division_.k_fast_applied) {
      decision_.because =
          "k-fast division: few rows for each core, so the columns and the contraction share the "
          "cores";
      return;
    }
    decision_.because = "output loops, the largest first, take as many cores as divide them";
    TellDistribution();
  }

  // The same steps as SplitIterationSpace, with what they pass over.
  void TellDistribution() {
    std::vector<int> committed = division_.trace.committed;
    if (committed.empty()) committed.assign(ir_.loops.size(), 1);
    int remaining = cores_;
    for (size_t i = 0; i < committed.size(); ++i) {
      if (committed[i] <= 1 || remaining / committed[i] == 0) continue;
      remaining /= committed[i];
      decision_.because += fmt::format(
          "; {} had to be cut into {} for a core to reach no more than 256 MiB of a tensor",
          names_[i], committed[i]);
    }
    const WorkDivider::Priorities order = divider_.Prioritize(committed);
    std::vector<std::string> sizes;
    for (const int loop : order.output)
      sizes.push_back(fmt::format("{} has {}", names_[static_cast<size_t>(loop)], Units(loop)));
    if (!sizes.empty()) decision_.because += fmt::format("; {}", Joined(sizes, ", "));
    for (const int loop : order.output) TellLoop(loop, remaining, "larger loops");
    bool split = false;
    for (const int loop : order.reduction) {
      const int own = division_.trace.by_rule[static_cast<size_t>(loop)];
      if (own > 1) {
        TellLoop(loop, remaining, "output loops");
        split = true;
      }
    }
    for (const int loop : order.reduction) {
      if (division_.trace.by_rule[static_cast<size_t>(loop)] > 1) continue;
      if (split) {
        Refuse(loop, 2, cores_, "one reduction loop can be cut, and another one takes more cores");
      } else {
        TellLoop(loop, remaining, "output loops");
      }
    }
    if (remaining > 1 && division_.cores_used < cores_)
      decision_.because += fmt::format("; no loop is left that {} cores could share", remaining);
  }

  void Refuse(int loop, int low, int high, const std::string& rule) {
    const std::string& name = names_[static_cast<size_t>(loop)];
    decision_.refused.push_back({low == high ? fmt::format("{}: {}", name, low)
                                             : fmt::format("{}: {} to {}", name, low, high),
                                 rule});
  }

  std::string Units(int loop) const {
    const auto index = static_cast<size_t>(loop);
    const bool sticks = divider_.elements_per_stick()[index] > 0;
    return fmt::format("{}{}", divider_.size_in_sticks()[index], sticks ? " sticks" : "");
  }

  void TellLoop(int loop, int& remaining, const char* before) {
    const auto index = static_cast<size_t>(loop);
    const int64_t units = divider_.size_in_sticks()[index];
    if (remaining <= 1) {
      if (units > 1) Refuse(loop, 2, cores_, std::string(before) + " have taken all cores");
      return;
    }
    const int own = CoreSplit(units, remaining);
    if (own < remaining)
      Refuse(loop, own + 1, remaining,
             fmt::format(units <= own ? "it has {}" : "none divides its {}", Units(loop)));
    remaining /= own;
  }

  const WorkDivision& division_;
  const DivisionOptions& options_;
  OpIr ir_;
  WorkDivider divider_;
  int cores_;
  std::vector<std::string> names_;
  Decision decision_;
};

}  // namespace

std::vector<Decision> ExplainDivision(const FrontEndResult& graph, const FrontEndOptions& options) {
  std::vector<Decision> decisions;
  for (const GraphOp& op : graph.graph.ops)
    if (graph.divisions.count(op.name) != 0)
      decisions.push_back(DivisionStory(graph, op, options).Tell());
  return decisions;
}

}  // namespace spyre::compiler
