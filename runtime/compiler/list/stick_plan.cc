// SPDX-License-Identifier: Apache-2.0
// PlanSticks: which dimension of every tensor is inside its stick, and where that must change.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/ranges.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/list/decompose.h"
#include "runtime/compiler/list/graph_rewriter.h"

namespace spyre::compiler {
namespace {

constexpr int kUndecided = NamedTensor::kNoChoice;
constexpr int kSparse = NamedTensor::kSparse;

class StickPlanner {
 public:
  explicit StickPlanner(const NamedGraph& graph) : graph_(graph), out_(graph) {
    for (const NamedTensor& tensor : graph.tensors)
      stick_.push_back(tensor.dims.empty() ? kSparse : tensor.stick);
  }

  NamedGraph Run() {
    for (const NamedOp& op : graph_.ops) Choose(op);
    SettleInputs();
    for (size_t i = 0; i < stick_.size(); ++i) out_.tensor(static_cast<int>(i)).stick = stick_[i];
    out_.Begin(-1);
    for (size_t i = 0; i < graph_.tensors.size(); ++i) InsertRestickify(static_cast<int>(i), true);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      out_.Begin(static_cast<int>(i));
      NamedOp op = graph_.ops[i];
      for (size_t k = 0; k < op.inputs.size(); ++k)
        op.inputs[k] = Operand(op.inputs[k], wants_[i][k]);
      out_.Append(op);
      InsertRestickify(op.output, false);
    }
    return out_.Finish();
  }

 private:
  const NamedTensor& tensor(int index) const { return graph_.tensors[static_cast<size_t>(index)]; }
  int& stick(int index) { return stick_[static_cast<size_t>(index)]; }

  // Sets the output's stick and notes what the operation wants of its operands.
  void Choose(const NamedOp& op) {
    const OpEntry& operation = *FindNamedOperation(op.op);
    const std::vector<int>& output = tensor(op.output).dims;
    std::vector<int> wanted;
    if (operation.kind == OpEntry::Kind::kCollective) {  // the layout stays
      const int known = stick(op.inputs[0]);
      wanted = {known == kUndecided ? tensor(op.inputs[0]).dims.back() : known};
      stick(op.output) = op.into >= 0 && wanted[0] == op.reduced[0] ? op.into : wanted[0];
      Want(op.inputs[0], wanted[0]);
      wants_.push_back(std::move(wanted));
      return;
    }
    if (op.on_host) {  // copies to the host and back know every layout
      for (const int input : op.inputs) wanted.push_back(stick(input));
      wants_.push_back(std::move(wanted));
      return;
    }
    if (operation.kind == OpEntry::Kind::kMatmul) {
      const std::vector<int>& second = tensor(op.inputs[1]).dims;
      auto own = second.rend();
      for (auto dim = second.rbegin(); dim != second.rend(); ++dim) {
        if (HasDim(tensor(op.inputs[0]).dims, *dim)) continue;
        if (own == second.rend()) own = dim;
        if (!HasDim(output, *dim)) continue;  // of size 1
        own = dim;
        break;
      }
      wanted = {op.reduced[0], *own};
      stick(op.output) = *own;
    } else if (operation.kind == OpEntry::Kind::kReduction) {
      const int known = stick(op.inputs[0]);
      wanted = {known == kUndecided ? tensor(op.inputs[0]).dims.back() : known};
      stick(op.output) = HasDim(op.reduced, wanted[0]) ? kSparse : wanted[0];
    } else if (operation.kind == OpEntry::Kind::kTopK) {  // in each lane by itself
      const int known = stick(op.inputs[0]);
      const bool along = known == kUndecided || known == op.reduced[0];
      wanted = {along ? OtherThan(op.reduced[0], op) : known};
      stick(op.output) = wanted[0];
    } else if (operation.kind == OpEntry::Kind::kView) {
      const int known = stick(op.inputs[0]);
      wanted = {known == kUndecided ? tensor(op.inputs[0]).dims.back() : known};
      if (wanted[0] == op.reduced[0] && CutsSticks(op)) wanted = {OtherThan(op.reduced[0], op)};
      stick(op.output) = wanted[0] == op.reduced[0] ? op.into : wanted[0];
    } else if (operation.kind == OpEntry::Kind::kCat) {
      stick(op.output) = CatStick(op, output);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const int own = stick(op.output) == op.into ? op.reduced[i] : stick(op.output);
        wanted.push_back(HasDim(tensor(op.inputs[i]).dims, own) ? own : kSparse);
      }
    } else if (operation.Chooses()) {
      // An index chooses whole sticks.
      const int known = stick(op.inputs[0]);
      const bool chosen = known == kUndecided || known == op.reduced[0];
      wanted = {chosen ? OtherThan(op.reduced[0], op) : known, tensor(op.inputs[1]).dims.back()};
      if (op.inputs.size() > 2) wanted.push_back(wanted[0]);
      stick(op.output) = wanted[0];
    } else if (operation.kind == OpEntry::Kind::kExtern) {
      // Sticks lie where tensors of the host have them.
      for (const int input : op.inputs) {
        const std::vector<int>& dims = tensor(input).dims;
        wanted.push_back(dims.empty() ? kSparse : dims.back());
      }
      stick(op.output) = output.empty() ? kSparse : output.back();
    } else if (operation.name == "restickify") {
      const int known = stick(op.inputs[0]);
      wanted = {known == kUndecided ? tensor(op.inputs[0]).dims.back() : known};
      stick(op.output) = op.reduced[0];
    } else {
      stick(op.output) = PointwiseStick(op, output);
      for (const int input : op.inputs) {
        wanted.push_back(HasDim(tensor(input).dims, stick(op.output)) ? stick(op.output) : kSparse);
      }
    }
    if (stick(op.output) >= 0 && !HasDim(output, stick(op.output))) {
      throw CompileError(
          "Unsupported", "sparse_stick",
          fmt::format(
              "operation '{}' leaves out {}, which is inside the stick of its operand; keep "
              "it in `dims`",
              op.op, graph_.dims[static_cast<size_t>(stick(op.output))].name))
          .Subject(tensor(op.output).name);
    }
    for (size_t i = 0; i < wanted.size(); ++i) Want(op.inputs[i], wanted[i]);
    wants_.push_back(std::move(wanted));
  }

  // What is before the slice in its first stick, or behind it in its last one, would be in the
  // place of its elements or of padding.
  bool CutsSticks(const NamedOp& op) const {
    const int64_t size = graph_.dims[static_cast<size_t>(op.reduced[0])].size;
    const int64_t start = SliceStart(op);
    const int64_t end = start + graph_.dims[static_cast<size_t>(op.into)].size;
    const int per_stick = ElementsPerStick(DeviceFormatOf(tensor(op.output).format));
    return start % per_stick != 0 || (end % per_stick != 0 && end != size);
  }

  // That of the first operand that has one; `into` only if every operand begins with a stick.
  int CatStick(const NamedOp& op, const std::vector<int>& output) const {
    int chosen = kUndecided;
    bool all_sparse = true;
    for (size_t i = 0; i < op.inputs.size() && chosen == kUndecided; ++i) {
      const int known = stick_[static_cast<size_t>(op.inputs[i])];
      all_sparse = all_sparse && known == kSparse;
      if (known >= 0) chosen = known == op.reduced[i] ? op.into : known;
    }
    if (all_sparse) return kSparse;
    if (chosen == kUndecided || !HasDim(output, chosen)) chosen = output.back();
    const int per_stick = ElementsPerStick(DeviceFormatOf(tensor(op.output).format));
    const std::vector<int64_t> starts = CatStarts(graph_, op);
    const bool whole = AllFit(starts, [&](int64_t start) { return start % per_stick == 0; });
    if (chosen != op.into || whole) return chosen;
    const auto other =
        std::find_if(output.rbegin(), output.rend(), [&](int dim) { return dim != op.into; });
    return other == output.rend() ? kSparse : *other;
  }

  // The last other dimension of the operand; sparse sticks if it has none.
  int OtherThan(int dim, const NamedOp& op) const {
    const std::vector<int>& dims = tensor(op.inputs[0]).dims;
    const auto other = std::find_if(dims.rbegin(), dims.rend(), [&](int d) { return d != dim; });
    return other == dims.rend() ? kSparse : *other;
  }

  // The stick of the first operand that has one; else the last dimension of the output that no
  // operand holds in sparse sticks.
  int PointwiseStick(const NamedOp& op, const std::vector<int>& output) {
    for (const int input : op.inputs)
      if (stick(input) >= 0 && HasDim(output, stick(input))) return stick(input);
    for (auto dim = output.rbegin(); dim != output.rend(); ++dim) {
      const bool taken = AnyFits(op.inputs, [&](int input) {
        return stick(input) == kSparse && HasDim(tensor(input).dims, *dim);
      });
      if (!taken) return *dim;
    }
    return kSparse;
  }

  // Where the tensor has another one, a restickify makes it.
  void Want(int input, int wanted) { wanted_[input].insert(wanted); }

  // An input that was not laid out by the user gets its last dimension if a reader wants that.
  void SettleInputs() {
    for (const auto& [input, wanted] : wanted_) {
      if (stick(input) != kUndecided) continue;
      const int last = tensor(input).dims.back();
      stick(input) = wanted.count(last) != 0 ? last : *wanted.rbegin();
    }
  }

  void InsertRestickify(int source, bool inputs) {
    const NamedTensor& original = tensor(source);
    if (inputs != (original.origin != NamedTensor::Origin::kComputed)) return;
    const auto wanted = wanted_.find(source);
    if (wanted == wanted_.end()) return;
    for (const int dim : wanted->second) {
      if (dim == stick(source)) continue;
      const std::string name =
          original.name +
          (dim == kSparse ? ".sparse" : ".by_" + graph_.dims[static_cast<size_t>(dim)].name);
      const int copy = out_.NewTensor(name, original.dims);
      out_.tensor(copy).stick = dim;
      out_.tensor(copy).format = original.format;
      // Into sparse sticks there is no dimension to name but the one that leaves.
      out_.Append({"restickify", {source}, copy, {dim == kSparse ? stick(source) : dim}, {}});
      copies_[{source, dim}] = copy;
    }
  }

  int Operand(int input, int wanted) {
    const auto copy = copies_.find({input, wanted});
    return copy == copies_.end() ? input : copy->second;
  }

  const NamedGraph& graph_;
  GraphRewriter out_;
  std::vector<int> stick_;                     // of each tensor
  std::vector<std::vector<int>> wants_;        // of each operation, by operand
  std::map<int, std::set<int>> wanted_;        // tensor -> sticks that its readers want
  std::map<std::pair<int, int>, int> copies_;  // (tensor, stick) -> restickified tensor
};

}  // namespace

NamedGraph PlanSticks(const NamedGraph& graph) { return StickPlanner(graph).Run(); }

}  // namespace spyre::compiler
