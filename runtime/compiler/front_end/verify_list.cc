// SPDX-License-Identifier: Apache-2.0
// FindWhatTheListDoesNotSay; in one file because it is one comparison, operation by operation.
#include "runtime/compiler/front_end/verify_list.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/fold_parts.h"
#include "runtime/compiler/front_end/named_lowering.h"

namespace spyre::compiler {
namespace {

constexpr const char* kFull = "full_";  // the whole result of a loop
constexpr const char* kCopy = "copy_";  // of a tile into it
using DimNames = std::vector<std::string>;

class ListChecker {
 public:
  ListChecker(const FrontEndResult& graph, std::vector<Finding>& findings)
      : folded_(FoldParts(graph)),
        list_(graph.primitives),
        graph_(graph.graph),
        findings_(findings) {
    for (const NamedOp& op : list_.ops) ops_[TensorName(op.output)] = &op;
  }

  void Run() {
    for (const GraphInput& input : graph_.inputs) CheckInput(input);
    std::set<std::string> computed;
    std::map<std::string, std::vector<const GraphOp*>> parts;  // of each cat
    for (const GraphOp& op : folded_.ops) {
      if (CatOf(op) != nullptr) {
        parts[op.layout.target].push_back(&op);
        continue;
      }
      if (ChoiceOf(op) != nullptr) continue;  // checked with it
      computed.insert(op.name);
      const auto found = ops_.find(op.name);
      if (found != ops_.end()) {
        CheckOp(op, *found->second);
      } else if (!IsCopy(op)) {
        Report(op.name, "operation '{}' is not one of the list", op.name);
      }
    }
    for (const auto& [cat, copies] : parts) {
      computed.insert(cat);
      CheckCat(*ops_.at(cat), copies);
    }
    for (const NamedOp& op : list_.ops)
      if (computed.count(TensorName(op.output)) == 0 && IsNeeded(TensorName(op.output)) &&
          !(IsSlice(op) && !IsOutput(op.output)))
        Report(TensorName(op.output), "operation '{}' of the list is missing",
               TensorName(op.output));
    CheckOutputs();
  }

 private:
  template <typename... Args>
  void Report(const std::string& subject, fmt::format_string<Args...> format, Args&&... args) {
    findings_.push_back({"list", subject, fmt::format(format, std::forward<Args>(args)...)});
  }

  const std::string& TensorName(int tensor) const {
    return list_.tensors[static_cast<size_t>(tensor)].name;
  }
  const NamedTensor* FindTensor(const std::string& name) const {
    const auto& all = list_.tensors;
    const auto found = FindIf(all, [&](const NamedTensor& tensor) { return tensor.name == name; });
    return found == all.end() ? nullptr : &*found;
  }
  // The tensor that a buffer holds: itself, or that of which it is the whole. nullptr: none.
  const NamedTensor* TensorOf(const std::string& buffer) const {
    if (const NamedTensor* const own = FindTensor(buffer)) return own;
    return buffer.rfind(kFull, 0) == 0 ? FindTensor(buffer.substr(std::string(kFull).size()))
                                       : nullptr;
  }
  const NamedTensor& Tensor(int tensor) const { return list_.tensors[static_cast<size_t>(tensor)]; }
  std::string DimName(int dim) const { return list_.dims[static_cast<size_t>(dim)].name; }
  int64_t SizeOf(const std::string& dim) const {
    for (const NamedDim& known : list_.dims)
      if (known.name == dim) return known.size;
    return 1;  // "": what has no name has one element
  }
  DimNames NamesOf(const std::vector<int>& dims) const {
    DimNames names;
    for (const int dim : dims) names.push_back(DimName(dim));
    return names;
  }
  // The dimensions as the host has them: sparse sticks are a last dimension without a name.
  DimNames HostNames(const NamedTensor& tensor) const {
    DimNames names = NamesOf(tensor.dims);
    if (tensor.stick == NamedTensor::kSparse) names.emplace_back();
    return names;
  }
  DimNames LoopNames(const GraphOp& op) const {
    const auto found = folded_.loop_names.find(op.name);
    return found == folded_.loop_names.end() ? DimNames() : found->second;
  }
  // Of a buffer, in its own order.
  DimNames BufferNames(const std::string& buffer) const {
    if (const GraphInput* const input = graph_.FindInput(buffer)) return input->dim_names;
    const NamedTensor* const tensor = TensorOf(buffer);
    const GraphOp* const op = tensor == nullptr ? nullptr : graph_.Find(tensor->name);
    if (op == nullptr) return {};
    DimNames names = LoopNames(*op);
    names.resize(std::min(names.size(), op->ranges.size()));
    return names;
  }

  bool IsNeeded(const std::string& tensor) const {
    return AnyFits(list_.ops,
                   [&](const NamedOp& op) {
                     return AnyFits(op.inputs,
                                    [&](int input) { return TensorName(input) == tensor; });
                   }) ||
           AnyFits(list_.outputs, [&](int output) { return TensorName(output) == tensor; });
  }

  static bool IsSlice(const NamedOp& op) {
    return FindNamedOperation(op.op)->kind == OpEntry::Kind::kView;
  }
  // The cat of the list in whose result the operation writes; null: it does not.
  const NamedOp* CatOf(const GraphOp& op) const {
    if (op.layout.kind != BufferLayout::Kind::kMutation) return nullptr;
    const auto found = ops_.find(op.layout.target);
    if (found == ops_.end()) return nullptr;
    const bool joins = FindNamedOperation(found->second->op)->kind == OpEntry::Kind::kCat;
    return joins ? found->second : nullptr;
  }
  // The choice of the list for which the operation copies the rows, or writes them; null: none.
  const NamedOp* ChoiceOf(const GraphOp& op) const {
    const NamedOp* const rows = ChoiceOf(op, kRowsSuffix);
    return rows != nullptr ? rows : ChoiceOf(op, kWriteSuffix);
  }
  const NamedOp* ChoiceOf(const GraphOp& op, const std::string& suffix) const {
    if (op.name.size() <= suffix.size()) return nullptr;
    const size_t end = op.name.size() - suffix.size();
    const auto found = ops_.find(op.name.substr(0, end));
    const bool is_rows =
        op.name.substr(end) == suffix && found != ops_.end() && Chooses(*found->second);
    return is_rows ? found->second : nullptr;
  }
  static bool Chooses(const NamedOp& op) { return FindNamedOperation(op.op)->Chooses(); }
  bool IsOutput(int tensor) const {
    return std::find(list_.outputs.begin(), list_.outputs.end(), tensor) != list_.outputs.end();
  }

  // Where a tensor's elements are: for a slice, another tensor, with each dimension of that walked
  // by a dimension of the slice, from a place on.
  struct Place {
    std::string tensor;
    std::map<std::string, std::pair<std::string, int64_t>> walked;  // others: by themselves, from 0
  };
  Place PlaceOf(const std::string& tensor) const {
    Place place{tensor, {}};
    for (auto op = ops_.find(tensor); op != ops_.end() && IsSlice(*op->second);
         op = ops_.find(place.tensor)) {
      const NamedOp& slice = *op->second;
      std::pair<std::string, int64_t> from{DimName(slice.into), 0};
      const auto outer = place.walked.find(from.first);
      if (outer != place.walked.end()) from = outer->second;
      from.second += SliceStart(slice);
      place.walked[DimName(slice.reduced[0])] = from;
      place.tensor = TensorName(slice.inputs[0]);
    }
    return place;
  }

  void CheckInput(const GraphInput& input) {
    const NamedTensor* const tensor = FindTensor(input.name);
    if (tensor == nullptr || tensor->origin == NamedTensor::Origin::kComputed) {
      Report(input.name, "input '{}' is not one of the list", input.name);
      return;
    }
    const DimNames expected = HostNames(*tensor);
    if (input.dim_names != expected)
      Report(input.name, "input '{}' has the dimensions [{}], in the list [{}]", input.name,
             Joined(input.dim_names, ", "), Joined(expected, ", "));
    for (size_t d = 0; d < std::min(expected.size(), input.layout.size.size()); ++d) {
      if (input.layout.size[d] == Extent(SizeOf(expected[d]))) continue;
      Report(input.name, "input '{}' has {} of {}, the list {}", input.name,
             input.layout.size[d].ToString(), expected[d], SizeOf(expected[d]));
    }
  }

  bool IsCopy(const GraphOp& op) const {
    if (op.op != "identity" || op.reads.size() != 1 || op.name != kCopy + op.reads[0].buffer)
      return false;
    for (size_t d = 0; d < op.reads[0].loop.size(); ++d)
      if (op.reads[0].loop[d] != static_cast<int>(d)) return false;
    return op.reduction_ranges.empty() && op.reads[0].offset.empty() &&
           op.layout.kind == BufferLayout::Kind::kMutation &&
           op.layout.target == kFull + op.reads[0].buffer;
  }

  // ---------------------------------------------------------------- one operation

  void CheckOp(const GraphOp& op, const NamedOp& named) {
    if (Chooses(named)) return CheckChoice(op, named);
    const OpEntry* const operation = FindNamedOperation(named.op);
    const bool reduces = operation->kind == OpEntry::Kind::kReduction ||
                         operation->kind == OpEntry::Kind::kMatmul ||
                         operation->kind == OpEntry::Kind::kTopK;
    const bool is_slice = IsSlice(named);  // given to the caller, so that it is a copy
    const bool is_extern = operation->kind == OpEntry::Kind::kExtern;
    const std::string_view func = is_slice                ? "identity"
                                  : named.op == "convert" ? ConversionOf(named)
                                  : is_extern             ? named.function
                                                          : operation->op_func();
    if (op.op != func || is_extern != (op.kind == GraphOp::Kind::kExtern) ||
        reduces != (op.kind == GraphOp::Kind::kReduction) ||
        op.reduction_type != (reduces ? op.op : ""))
      Report(op.name, "operation '{}' is {}{}, the list says '{}'", op.name, op.op,
             op.reduction_type.empty() ? "" : ", a reduction by " + op.reduction_type, named.op);
    if (is_extern) return CheckOperands(op, named);
    CheckConstants(op, named);
    CheckLoops(op, named);
    if (op.reads.size() != named.inputs.size()) {
      Report(op.name, "operation '{}' has {} operands, {} in the list", op.name, op.reads.size(),
             named.inputs.size());
      return;
    }
    for (size_t i = 0; i < op.reads.size(); ++i)
      CheckRead(op, op.reads[i], TensorName(is_slice ? named.output : named.inputs[i]));
    const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
    if (mutates && op.layout.target != kFull + op.name)
      Report(op.name, "operation '{}' writes '{}' instead of '{}{}'", op.name, op.layout.target,
             kFull, op.name);
  }

  // ---------------------------------------------------------------- cat

  // Each operand is copied, in order, to where those before it end.
  void CheckCat(const NamedOp& cat, const std::vector<const GraphOp*>& copies) {
    const std::string& name = TensorName(cat.output);
    if (copies.size() != cat.inputs.size()) {
      Report(name, "'{}' joins {} operands, {} in the list", name, copies.size(),
             cat.inputs.size());
      return;
    }
    const DimNames whole = BufferNames(name);
    DimNames own = Longer(whole), expected = Longer(HostNames(Tensor(cat.output)));
    if (!IsOutput(cat.output)) {  // in any order
      std::sort(own.begin(), own.end());
      std::sort(expected.begin(), expected.end());
    }
    if (own != expected)
      Report(name, "'{}' has the dimensions [{}], in the list [{}]", name, Joined(own, ", "),
             Joined(expected, ", "));
    const GraphOp* const buffer = graph_.Find(name);
    for (size_t d = 0; buffer != nullptr && d < whole.size(); ++d)
      CheckSize(*buffer, whole[d], buffer->ranges[d]);
    int64_t start = 0;
    for (size_t i = 0; i < copies.size(); ++i) {
      CheckPart(*copies[i], cat, i, start);
      start += SizeOf(DimName(cat.reduced[i]));
    }
  }

  void CheckPart(const GraphOp& copy, const NamedOp& cat, size_t i, int64_t start) {
    const std::string& name = TensorName(cat.output);
    if (copy.op != "identity" || copy.kind != GraphOp::Kind::kPointwise || copy.reads.size() != 1 ||
        !copy.constants.empty() || !copy.reduction_ranges.empty())
      Report(copy.name, "'{}' is {} instead of a copy of '{}' into '{}'", copy.name, copy.op,
             TensorName(cat.inputs[i]), name);
    DimNames loops = BufferNames(name);
    const auto joined = std::find(loops.begin(), loops.end(), DimName(cat.into));
    const auto at = static_cast<size_t>(joined - loops.begin());
    if (joined != loops.end()) *joined = DimName(cat.reduced[i]);
    const DimNames own = LoopNames(copy);
    if (own.size() != loops.size() || Named(own) != Named(loops))
      Report(copy.name, "operation '{}' walks [{}], by the list it walks [{}]", copy.name,
             Joined(own, ", "), Joined(loops, ", "));
    CheckSizes(copy, loops, {});
    for (size_t d = 0; d < copy.layout.offset.size(); ++d) {
      if (copy.layout.offset[d] == (d == at ? start : 0)) continue;
      Report(copy.name, "operation '{}' writes dimension {} of '{}' from {} on", copy.name, d, name,
             copy.layout.offset[d]);
    }
    for (const GraphRead& read : copy.reads) CheckRead(copy, read, TensorName(cat.inputs[i]));
  }

  // ---------------------------------------------------------------- choices

  static bool IsPlainCopy(const GraphOp& op, size_t reads) {
    return op.op == "identity" && op.kind == GraphOp::Kind::kPointwise && op.constants.empty() &&
           op.reduction_ranges.empty() && op.reads.size() == reads &&
           (op.layout.kind == BufferLayout::Kind::kTiled || op.layout.target == kFull + op.name);
  }

  // The table is copied whole, and the indices choose from the copy along the dimension of the
  // list, or write to it and all of it is copied back.
  void CheckChoice(const GraphOp& op, const NamedOp& named) {
    const bool writes = FindNamedOperation(named.op)->kind == OpEntry::Kind::kScatter;
    const std::string& table = TensorName(named.inputs[0]);
    const std::string& indices = TensorName(named.inputs[1]);
    const GraphOp* const rows = graph_.Find(op.name + kRowsSuffix);
    const GraphOp* const write = graph_.Find(op.name + kWriteSuffix);
    const bool whole = rows != nullptr && IsPlainCopy(*rows, 1) &&
                       IsPlainCopy(op, writes ? 1 : 2) && op.reads.back().buffer == rows->name &&
                       (write != nullptr) == writes;
    if (!whole) {
      Report(op.name, "operation '{}' does not choose from a copy of '{}', as the list says",
             op.name, table);
      return;
    }
    CheckLoops(op, named);
    const DimNames dims = LoopNames(*rows);
    CheckSizes(*rows, dims, {});
    DimNames own = Longer(dims), expected = Longer(HostNames(Tensor(named.inputs[0])));
    std::sort(own.begin(), own.end());
    std::sort(expected.begin(), expected.end());
    if (own != expected)
      Report(rows->name, "operation '{}' walks [{}], by the list it walks [{}]", rows->name,
             Joined(own, ", "), Joined(expected, ", "));
    CheckRead(*rows, rows->reads[0], table);
    CheckRows(op, op.reads.back(), dims, writes ? "" : DimName(named.reduced[0]));
    if (!writes) {
      CheckRead(op, op.reads[0], indices);
    } else {
      CheckWrite(*write, *rows, named);
    }
  }

  void CheckWrite(const GraphOp& write, const GraphOp& rows, const NamedOp& named) {
    DimNames expected = LoopNames(rows);
    const auto chosen = static_cast<size_t>(write.layout.chosen);
    const bool right = write.layout.chosen >= 0 && chosen < expected.size() &&
                       expected[chosen] == DimName(named.reduced[0]) &&
                       write.layout.target == rows.name && write.layout.offset.empty() &&
                       write.op == "identity" && write.kind == GraphOp::Kind::kPointwise &&
                       write.constants.empty() && write.reduction_ranges.empty() &&
                       write.reads.size() == 2;
    if (!right) {
      Report(write.name, "operation '{}' does not write by indices along {}, as the list says",
             write.name, DimName(named.reduced[0]));
      return;
    }
    expected[chosen] = DimName(Tensor(named.inputs[1]).dims.front());
    if (Named(LoopNames(write)) != Named(expected))
      Report(write.name, "operation '{}' walks [{}], by the list it walks [{}]", write.name,
             Joined(LoopNames(write), ", "), Joined(expected, ", "));
    CheckSizes(write, expected, {});
    CheckRead(write, write.reads[0], TensorName(named.inputs[1]));
    CheckRead(write, write.reads[1], TensorName(named.inputs[2]));
  }

  // rows: the names of the copy's dimensions. chosen: the one that indices choose; "": none.
  void CheckRows(const GraphOp& op, const GraphRead& read, const DimNames& rows,
                 const std::string& chosen) {
    const DimNames loops = LoopNames(op);
    for (size_t d = 0; d < std::min(rows.size(), read.loop.size()); ++d) {
      const bool walked = read.loop[d] >= 0 && static_cast<size_t>(read.loop[d]) < loops.size();
      const std::string by = walked ? loops[static_cast<size_t>(read.loop[d])] : "";
      const bool is_chosen = static_cast<int>(d) == read.chosen;
      const bool right = is_chosen ? !walked && rows[d] == chosen
                                   : SizeOf(rows[d]) == 1 || (by == rows[d] && by != chosen);
      if (right) continue;
      Report(op.name, "operation '{}' walks dimension {} of '{}' by {}", op.name, rows[d],
             read.buffer, by.empty() ? "no loop" : "its loop along " + by);
    }
  }

  // What has no name has one element.
  DimNames Named(const DimNames& names) const {
    DimNames named = names;
    for (std::string& name : named)
      if (SizeOf(name) == 1) name.clear();
    return named;
  }

  // Checks the operands of what is computed elsewhere; how it walks them is not known here.
  void CheckOperands(const GraphOp& op, const NamedOp& named) {
    DimNames own, expected;
    for (const GraphRead& read : op.reads) own.push_back(read.buffer);
    for (const int input : named.inputs) expected.push_back(PlaceOf(TensorName(input)).tensor);
    if (own != expected)
      Report(op.name, "operation '{}' reads {}, the list says {}", op.name, own, expected);
  }

  // The card's conversions: from float16, or to it.
  std::string_view ConversionOf(const NamedOp& op) const {
    const DataFormat from = list_.tensors[static_cast<size_t>(op.inputs[0])].format;
    const DataFormat to = list_.tensors[static_cast<size_t>(op.output)].format;
    if (from == DataFormat::kIeeeFp16) return to == DataFormat::kIeeeFp32 ? "dl16tofp32" : "qfp8ch";
    return from == DataFormat::kIeeeFp32 ? "fp32todl16" : "fp8todl16";
  }

  void CheckConstants(const GraphOp& op, const NamedOp& named) {
    std::map<std::string, double> expected;
    if (named.op == "mean") {
      double elements = 1;
      for (const int dim : named.reduced) elements *= static_cast<double>(SizeOf(DimName(dim)));
      expected["scaling_factor"] = 1 / elements;
    }
    if (named.op == "clip") {
      for (const auto& [key, name] : {std::pair("min", "clipMin"), std::pair("max", "clipMax")}) {
        const auto found = named.constants.find(key);
        if (found != named.constants.end()) expected[name] = found->second;
      }
    }
    std::map<std::string, double> found;
    for (const OpConstant& constant : op.constants) found[constant.name] = constant.value;
    if (found != expected)
      Report(op.name, "operation '{}' has the constants {}, those of the list are {}", op.name,
             found, expected);
  }

  // Loops walk the dimensions of the result, then those that are reduced.
  void CheckLoops(const GraphOp& op, const NamedOp& named) {
    const NamedTensor& output = list_.tensors[static_cast<size_t>(named.output)];
    DimNames own = LoopNames(op), expected = HostNames(output);
    if (own.size() != op.ranges.size() + op.reduction_ranges.size()) {
      Report(op.name, "operation '{}' names {} of its {} loops", op.name, own.size(),
             op.ranges.size() + op.reduction_ranges.size());
      return;
    }
    DimNames reduced(own.begin() + static_cast<std::ptrdiff_t>(op.ranges.size()), own.end());
    own.resize(op.ranges.size());
    DimNames expected_reduced =
        op.kind == GraphOp::Kind::kReduction ? NamesOf(named.reduced) : DimNames();
    CheckSizes(op, own, reduced);
    const bool visible =
        std::find(list_.outputs.begin(), list_.outputs.end(), named.output) != list_.outputs.end();
    if (!visible) {  // in any order
      std::sort(own.begin(), own.end());
      std::sort(expected.begin(), expected.end());
    }
    std::sort(reduced.begin(), reduced.end());
    std::sort(expected_reduced.begin(), expected_reduced.end());
    if (Longer(own) != Longer(expected) || Longer(reduced) != Longer(expected_reduced))
      Report(op.name,
             "operation '{}' walks [{}] and reduces [{}]; by the list it walks [{}] and reduces "
             "[{}]",
             op.name, Joined(own, ", "), Joined(reduced, ", "), Joined(expected, ", "),
             Joined(expected_reduced, ", "));
  }

  // Without dimensions of one element, which a loop need not name.
  DimNames Longer(const DimNames& names) const {
    DimNames longer;
    for (const std::string& name : names)
      if (SizeOf(name) > 1) longer.push_back(name);
    return longer;
  }

  void CheckSizes(const GraphOp& op, const DimNames& own, const DimNames& reduced) {
    if (own.size() != op.ranges.size() || reduced.size() != op.reduction_ranges.size()) {
      Report(op.name, "operation '{}' has {} and {} loops, by the list it has {} and {}", op.name,
             op.ranges.size(), op.reduction_ranges.size(), own.size(), reduced.size());
      return;
    }
    for (size_t i = 0; i < own.size(); ++i) {
      Extent whole = op.ranges[i];
      for (size_t level = 0; op.loop && level < op.loop->tiled_dims.size(); ++level) {
        const std::vector<int>& dims = op.loop->tiled_dims[level];
        for (const int dim : dims)
          if (dim == static_cast<int>(i)) whole = whole * op.loop->count[level];
      }
      CheckSize(op, own[i], whole);
    }
    for (size_t i = 0; i < reduced.size(); ++i) CheckSize(op, reduced[i], op.reduction_ranges[i]);
  }

  void CheckSize(const GraphOp& op, const std::string& dim, const Extent& whole) {
    if (whole == Extent(SizeOf(dim))) return;
    Report(op.name, "operation '{}' walks {} of {} in all its iterations, it has {}", op.name,
           whole.ToString(), dim.empty() ? "a dimension without a name" : dim, SizeOf(dim));
  }

  void CheckRead(const GraphOp& op, const GraphRead& read, const std::string& tensor) {
    const NamedTensor* const held = TensorOf(read.buffer);
    const Place place = PlaceOf(tensor);
    if (held == nullptr || held->name != place.tensor) {
      Report(op.name, "operation '{}' reads '{}', by the list it reads '{}'", op.name, read.buffer,
             place.tensor);
      return;
    }
    const DimNames dims = BufferNames(read.buffer);
    const DimNames loops = LoopNames(op);
    for (size_t d = 0; d < std::min(dims.size(), read.loop.size()); ++d) {
      const bool walked = read.loop[d] >= 0 && static_cast<size_t>(read.loop[d]) < loops.size();
      const std::string by = walked ? loops[static_cast<size_t>(read.loop[d])] : "";
      const auto slice = place.walked.find(dims[d]);
      const bool sliced = slice != place.walked.end();
      const std::string expected = sliced ? slice->second.first : dims[d];
      const int64_t start = sliced ? slice->second.second : 0;
      const int64_t offset = d < read.offset.size() ? read.offset[d] : 0;
      if (offset != start)
        Report(op.name, "operation '{}' reads dimension {} of '{}' from {} on, by the list from {}",
               op.name, dims[d], read.buffer, offset, start);
      if (SizeOf(expected) == 1 || by == expected) continue;
      Report(op.name, "operation '{}' walks dimension {} of '{}' by {}", op.name, dims[d],
             read.buffer, by.empty() ? "no loop" : "its loop along " + by);
    }
  }

  void CheckOutputs() {
    if (graph_.outputs.size() != list_.outputs.size()) {
      Report("", "the graph has {} outputs, the list {}", graph_.outputs.size(),
             list_.outputs.size());
      return;
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const NamedTensor* const held = TensorOf(graph_.outputs[i]);
      if (held != nullptr && held->name == TensorName(list_.outputs[i])) continue;
      Report(graph_.outputs[i], "output {} is '{}', in the list '{}'", i, graph_.outputs[i],
             TensorName(list_.outputs[i]));
    }
  }

  const FoldedGraph folded_;
  const NamedGraph& list_;
  const Graph& graph_;
  std::vector<Finding>& findings_;
  std::map<std::string, const NamedOp*> ops_;  // by their results
};

}  // namespace

void FindWhatTheListDoesNotSay(const FrontEndResult& graph, std::vector<Finding>& findings) {
  ListChecker(graph, findings).Run();
}

}  // namespace spyre::compiler
