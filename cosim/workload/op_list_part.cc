// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/op_list_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/nearest.h"

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedHint;
using compiler::NamedOp;
using compiler::NamedTensor;

template <typename Items, typename Item>
bool Contains(const Items& items, const Item& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

std::vector<std::string> ListNames(const NamedGraph& list) {
  std::vector<std::string> names;
  for (const NamedOp& op : list.ops)
    names.push_back(list.tensors[static_cast<size_t>(op.output)].name);
  return names;
}

compiler::CompileError Refusal(const char* kind, const std::string& message) {
  return compiler::CompileError("InvalidPlan", kind, message);
}

class PartTaker {
 public:
  PartTaker(const NamedGraph& list, const std::vector<size_t>& ops, const std::vector<int>& sticks,
            bool keep_names)
      : list_(list), ops_(ops), sticks_(sticks), keep_names_(keep_names) {
    for (const size_t op : ops) written_.push_back(list.ops[op].output);
  }

  OpListPart Take() {
    for (const size_t op : ops_) AddOp(list_.ops[op]);
    for (const int output : written_)
      if (ops_.size() == 1 || LeavesThePart(output))
        part_.graph.outputs.push_back(tensors_.at(output));
    for (const NamedHint& hint : list_.hints) AddHint(hint);
    return std::move(part_);
  }

 private:
  bool alone() const { return ops_.size() == 1 && !keep_names_; }

  bool LeavesThePart(int tensor) const {
    if (Contains(list_.outputs, tensor)) return true;
    for (size_t op = ops_.back() + 1; op < list_.ops.size(); ++op)
      if (Contains(list_.ops[op].inputs, tensor)) return true;
    return false;
  }

  int Dim(int index) {
    const auto [it, added] = dims_.emplace(index, static_cast<int>(dims_.size()));
    if (added) {
      const compiler::NamedDim& from = list_.dims[static_cast<size_t>(index)];
      part_.dims.push_back(index);
      part_.graph.dims.push_back({alone() ? fmt::format("d{}", it->second) : from.name, from.size});
    }
    return it->second;
  }

  int Tensor(int index) {
    const auto [it, added] = tensors_.emplace(index, static_cast<int>(tensors_.size()));
    if (!added) return it->second;
    const NamedTensor& from = list_.tensors[static_cast<size_t>(index)];
    const bool is_written = Contains(written_, index);
    NamedTensor to;
    to.origin = is_written ? NamedTensor::Origin::kComputed : NamedTensor::Origin::kInput;
    to.format = from.format;
    to.name = !alone() ? from.name : is_written ? "out" : fmt::format("in{}", it->second);
    if (from.origin == NamedTensor::Origin::kConstant) {
      to.origin = from.origin;
      to.value = from.value;
      to.name = from.name;
    }
    for (const int dim : from.dims) to.dims.push_back(Dim(dim));
    const int stick = sticks_[static_cast<size_t>(index)];
    if (!is_written) to.stick = stick >= 0 ? Dim(stick) : stick;
    part_.key += fmt::format(" {}[", to.name);
    for (const int dim : to.dims)
      part_.key += fmt::format(" {}={}", dim, part_.graph.dims[static_cast<size_t>(dim)].size);
    part_.key += fmt::format("|{} {}]", to.stick, compiler::HostTypeName(to.format));
    part_.graph.tensors.push_back(std::move(to));
    part_.tensors.push_back(index);
    return it->second;
  }

  void AddOp(const NamedOp& op) {
    NamedOp copy;
    copy.op = op.op;
    copy.on_host = op.on_host;
    copy.constants = op.constants;
    part_.key += op.op;
    for (const auto& [name, value] : op.constants) part_.key += fmt::format(" {}={}", name, value);
    for (const int input : op.inputs) {
      copy.inputs.push_back(Tensor(input));
      part_.key += fmt::format(" <-{}", copy.inputs.back());
    }
    copy.output = Tensor(op.output);
    for (const int dim : op.reduced) {
      copy.reduced.push_back(Dim(dim));
      part_.key += fmt::format(" over {}", copy.reduced.back());
    }
    if (op.into >= 0) {
      copy.into = Dim(op.into);
      part_.key += fmt::format(" into {}", copy.into);
    }
    part_.graph.ops.push_back(std::move(copy));
  }

  void AddHint(const NamedHint& hint) {
    NamedHint copy;
    for (const int op : hint.ops) {
      const auto at = std::find(ops_.begin(), ops_.end(), static_cast<size_t>(op));
      if (at != ops_.end()) copy.ops.push_back(static_cast<int>(at - ops_.begin()));
    }
    if (copy.ops.empty()) return;
    for (const NamedHint::Slice& slice : hint.slices) {
      const auto dim = dims_.find(slice.dim);
      if (dim != dims_.end()) {
        copy.slices.push_back({dim->second, slice.count});
      } else {
        part_.warnings.push_back(
            fmt::format("WARNING: hint {} = {}: no operation divides {}: no loop is made",
                        list_.dims[static_cast<size_t>(slice.dim)].name, slice.count,
                        list_.dims[static_cast<size_t>(slice.dim)].name));
      }
    }
    if (!copy.slices.empty()) part_.graph.hints.push_back(std::move(copy));
  }

  const NamedGraph& list_;
  const std::vector<size_t>& ops_;
  const std::vector<int>& sticks_;
  const bool keep_names_;
  std::vector<int> written_;           // by the part, positions in the list's tensors
  std::map<int, int> dims_, tensors_;  // position in the list -> in the part
  OpListPart part_;
};

}  // namespace

OpListPart TakeOut(const NamedGraph& list, const std::vector<size_t>& ops,
                   const std::vector<int>& sticks, bool keep_names) {
  return PartTaker(list, ops, sticks, keep_names).Take();
}

std::vector<std::vector<size_t>> UncutRuns(const NamedGraph& list, const compiler::Plan& plan) {
  std::vector<bool> joined(list.ops.size(), false);  // to the operation before
  for (const compiler::PlanNode& group : plan.groups.value_or(std::vector<compiler::PlanNode>())) {
    std::vector<size_t> members;
    for (const std::string& op : compiler::OperationsOf(group)) {
      for (size_t i = 0; i < list.ops.size(); ++i) {
        const std::string& name = list.tensors[static_cast<size_t>(list.ops[i].output)].name;
        if (name == op || name == compiler::ListNameOf(op)) members.push_back(i);
      }
    }
    if (members.empty()) continue;  // the front end will say what is unknown
    const auto [first, last] = std::minmax_element(members.begin(), members.end());
    for (size_t op = *first + 1; op <= *last; ++op) joined[op] = true;
  }
  for (const NamedHint& hint : list.hints) {
    if (hint.ops.empty()) continue;
    const auto [first, last] = std::minmax_element(hint.ops.begin(), hint.ops.end());
    for (int op = *first + 1; op <= *last; ++op) joined[static_cast<size_t>(op)] = true;
  }
  std::vector<std::vector<size_t>> runs;
  for (size_t op = 0; op < list.ops.size(); ++op) {
    if (!joined[op]) runs.emplace_back();
    runs.back().push_back(op);
  }
  return runs;
}

void CheckPlanNames(const NamedGraph& list, const compiler::Plan& plan) {
  const std::vector<std::string> known = ListNames(list);
  const auto check = [&](const std::string& key, const std::string& name) {
    for (const std::string& op : {name, compiler::ListNameOf(name)})
      if (Contains(known, op)) return;
    throw Refusal("unknown_op", fmt::format("plan.{}: '{}' is not an operation of the list{}", key,
                                            name, DidYouMean(name, known)));
  };
  for (const auto& [op, unused] : plan.splits) check("splits", op);
  for (const auto& [op, unused] : plan.places) check("lx", op);
  for (const std::string& op : plan.cuts) check("cuts", op);
  for (const compiler::PlanNode& group : plan.groups.value_or(std::vector<compiler::PlanNode>()))
    for (const std::string& op : compiler::OperationsOf(group)) check("groups", op);
}

std::vector<std::vector<size_t>> PartsOf(const NamedGraph& list, const compiler::Plan& plan) {
  const std::vector<std::string> names = ListNames(list);
  std::vector<std::vector<size_t>> parts(1);
  for (const std::vector<size_t>& run : UncutRuns(list, plan)) {
    parts.back().insert(parts.back().end(), run.begin(), run.end());
    const size_t last = run.back();
    for (const size_t op : run) {
      if (!Contains(plan.cuts, names[op]) || op == last) continue;
      throw Refusal("cut_in_loop",
                    fmt::format("plan.cuts: {} and {} are inside one loop, which is of one kernel; "
                                "nearest: behind {}",
                                names[op], names[op + 1], names[last]));
    }
    if (last + 1 == names.size()) break;
    if (Contains(plan.cuts, names[last]) || list.ops[last].on_host || list.ops[last + 1].on_host)
      parts.emplace_back();
  }
  return parts;
}

}  // namespace spyre::cosim
