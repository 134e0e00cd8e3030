// SPDX-License-Identifier: Apache-2.0
// All are in one file because each kind of operation decides which dimensions its output has, which
// inputs it takes, and they share the few rules at the top.
#include "runtime/compiler/list/named_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/list/collectives.h"
#include "runtime/compiler/list/host_operations.h"

namespace spyre::compiler {

bool HasDim(const std::vector<int>& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

namespace {

using EntryKind = OpEntry::Kind;

void AddMissing(std::vector<int>& dims, const std::vector<int>& more) {
  for (const int dim : more)
    if (!HasDim(dims, dim)) dims.push_back(dim);
}

std::vector<int> Without(const std::vector<int>& dims, const std::vector<int>& removed) {
  std::vector<int> left;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(left),
               [&](int dim) { return !HasDim(removed, dim); });
  return left;
}

const NamedTensor& OperandTensor(const NamedGraph& graph, const NamedOp& op, size_t i) {
  return graph.tensors[static_cast<size_t>(op.inputs[i])];
}

// The operand with most dimensions gives the order, so that [B] + [A, B] is [A, B].
std::vector<int> BroadcastDims(const NamedGraph& graph, const NamedOp& op) {
  std::vector<int> dims;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const std::vector<int>& operand = OperandTensor(graph, op, i).dims;
    if (operand.size() > dims.size()) dims = operand;
  }
  for (size_t i = 0; i < op.inputs.size(); ++i) AddMissing(dims, OperandTensor(graph, op, i).dims);
  return dims;
}

// Of several dimensions that a matmul sums over, the first is the one in the sticks: the innermost
// of the first operand that has whole sticks, or else its innermost.
void PutStickFirst(const NamedGraph& graph, const NamedTensor& first, std::vector<int>& reduced) {
  constexpr DataFormat kFormat = DataFormat::kSen169Fp16;
  const auto whole = [&](int dim) {
    return graph.dims[static_cast<size_t>(dim)].size % ElementsPerStick(kFormat) == 0;
  };
  int best = -1;
  for (const int dim : first.dims)
    if (HasDim(reduced, dim) && (best < 0 || whole(dim) || !whole(best))) best = dim;
  std::iter_swap(reduced.begin(), std::find(reduced.begin(), reduced.end(), best));
}

std::vector<int> MatmulDims(const NamedGraph& graph, NamedOp& op) {
  const NamedTensor& a = OperandTensor(graph, op, 0);
  const NamedTensor& b = OperandTensor(graph, op, 1);
  if (a.dims.empty() || b.dims.empty()) {
    throw BadInput("a matmul multiplies tensors; '{}' is a number",
                   a.dims.empty() ? a.name : b.name);
  }
  if (op.reduced.empty()) op.reduced = {a.dims.back()};
  for (const int dim : op.reduced) {
    if (HasDim(a.dims, dim) && HasDim(b.dims, dim)) continue;
    throw BadInput(
        "a matmul sums over dimensions that both operands have; '{}' is not in both {} {} and {} "
        "{}",
        graph.dims[static_cast<size_t>(dim)].name, a.name, graph.ShapeText(a), b.name,
        graph.ShapeText(b));
  }
  if (op.reduced.size() > 1) PutStickFirst(graph, a, op.reduced);
  std::vector<int> shared, first, second;
  for (const int dim : Without(a.dims, op.reduced))
    (HasDim(b.dims, dim) ? shared : first).push_back(dim);
  for (const int dim : Without(b.dims, op.reduced))
    if (!HasDim(a.dims, dim)) second.push_back(dim);
  if (second.empty() && !first.empty()) {  // the columns of the result are those of the second
    std::swap(op.inputs[0], op.inputs[1]);
    std::swap(first, second);
  }
  if (second.empty()) {
    throw BadInput(
        "a matmul needs a dimension that only one operand has; {} {} and {} {} have the same (use "
        "mul and sum)",
        a.name, graph.ShapeText(a), b.name, graph.ShapeText(b));
  }
  AddMissing(shared, first);
  AddMissing(shared, second);
  return shared;
}

// q[.., S, D], k[.., T, D], v[.., T, E] -> [.., S, E]. D may be several dimensions.
std::vector<int> AttentionDims(const NamedGraph& graph, NamedOp& op) {
  NamedOp scores{"matmul", {op.inputs[0], op.inputs[1]}, -1, op.reduced, {}};
  NamedGraph with_scores = graph;
  NamedTensor tensor;
  tensor.name = "scores";
  tensor.dims = MatmulDims(with_scores, scores);
  if (op.inputs.size() == 4) {
    const NamedTensor& mask = OperandTensor(graph, op, 3);
    if (!Without(mask.dims, tensor.dims).empty()) {
      throw BadInput("mask {} {} does not fit the scores {}", mask.name, graph.ShapeText(mask),
                     graph.ShapeText(tensor));
    }
  }
  op.reduced = scores.reduced;
  const std::vector<int> keys =
      Without(OperandTensor(graph, op, 1).dims, OperandTensor(graph, op, 0).dims);
  with_scores.tensors.push_back(tensor);
  NamedOp values{
      "matmul", {static_cast<int>(with_scores.tensors.size()) - 1, op.inputs[2]}, -1, keys, {}};
  return MatmulDims(with_scores, values);
}

void RequireReduced(const NamedGraph& graph, const NamedOp& op) {
  if (op.reduced.empty()) throw BadInput("'{}' needs `dim`, the dimension it works along", op.op);
  const NamedTensor& input = OperandTensor(graph, op, 0);
  for (const int dim : op.reduced) {
    if (HasDim(input.dims, dim)) continue;
    throw BadInput("dimension '{}' is not in {} {}", graph.dims[static_cast<size_t>(dim)].name,
                   input.name, graph.ShapeText(input));
  }
}

// Composites whose further operands broadcast over the first.
std::vector<int> FirstOperandDims(const NamedGraph& graph, const NamedOp& op) {
  const NamedTensor& first = OperandTensor(graph, op, 0);
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    const NamedTensor& other = OperandTensor(graph, op, i);
    if (Without(other.dims, first.dims).empty()) continue;
    throw BadInput("{} {} does not broadcast over {} {}", other.name, graph.ShapeText(other),
                   first.name, graph.ShapeText(first));
  }
  return first.dims;
}

// Dimension `dim` of the operand becomes `into`, which says by its size how many elements.
std::vector<int> SliceDims(const NamedGraph& graph, const NamedOp& op) {
  const NamedTensor& input = OperandTensor(graph, op, 0);
  if (op.reduced.size() != 1 || op.into < 0)
    throw BadInput("'{}' needs `dim` and `into`: one dimension, and the one it becomes", op.op);
  const NamedDim& dim = graph.dims[static_cast<size_t>(op.reduced[0])];
  const NamedDim& into = graph.dims[static_cast<size_t>(op.into)];
  if (HasDim(input.dims, op.into)) {
    throw BadInput("'{}' into '{}', a dimension that {} {} has already; give it another name",
                   op.op, into.name, input.name, graph.ShapeText(input));
  }
  const auto given = op.constants.find("start");
  const double start = given == op.constants.end() ? 0 : given->second;
  if (start < 0 || start != std::floor(start) ||
      start + static_cast<double>(into.size) > static_cast<double>(dim.size)) {
    throw BadInput("'{}' of {} = {} from {} on, {} = {} elements: it lies outside", op.op, dim.name,
                   dim.size, start, into.name, into.size);
  }
  std::vector<int> dims = input.dims;
  std::replace(dims.begin(), dims.end(), op.reduced[0], op.into);
  return dims;
}

// Each operand has its own dimension in the place of `into`, or is broadcast over it.
std::vector<int> CatDims(const NamedGraph& graph, NamedOp& op) {
  if (op.reduced.size() == 1) op.reduced.assign(op.inputs.size(), op.reduced[0]);
  if (op.reduced.size() != op.inputs.size() || op.into < 0) {
    throw BadInput("'{}' needs `into`, and one `dim` for each operand, or one for all of them",
                   op.op);
  }
  const NamedDim& into = graph.dims[static_cast<size_t>(op.into)];
  std::vector<int> dims;
  int64_t elements = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const NamedTensor& operand = OperandTensor(graph, op, i);
    if (HasDim(operand.dims, op.into)) {
      throw BadInput("'{}' into '{}', a dimension that {} {} has already; give it another name",
                     op.op, into.name, operand.name, graph.ShapeText(operand));
    }
    std::vector<int> own = operand.dims;
    std::replace(own.begin(), own.end(), op.reduced[i], op.into);
    if (own.size() > dims.size()) std::swap(own, dims);
    AddMissing(dims, own);
    elements += graph.dims[static_cast<size_t>(op.reduced[i])].size;
  }
  if (!HasDim(dims, op.into)) dims.push_back(op.into);
  for (const int dim : op.reduced) {
    if (!HasDim(dims, dim)) continue;
    throw BadInput("'{}' along '{}', which another operand has beside the one that it joins", op.op,
                   graph.dims[static_cast<size_t>(dim)].name);
  }
  if (elements == into.size) return dims;
  throw BadInput("'{}' of {} elements together into {} = {}", op.op, elements, into.name,
                 into.size);
}

void RequireIndices(const NamedGraph& graph, const NamedOp& op) {
  RequireReduced(graph, op);
  const NamedTensor& table = OperandTensor(graph, op, 0);
  const NamedTensor& indices = OperandTensor(graph, op, 1);
  if (op.reduced.size() != 1)
    throw BadInput("'{}' chooses along one `dim`, not along several", op.op);
  if (indices.format != DataFormat::kIeeeInt32 || indices.dims.empty()) {
    throw BadInput("'{}' takes its indices from a tensor of int32; '{}' {} is {}", op.op,
                   indices.name, graph.ShapeText(indices), HostTypeName(indices.format));
  }
  for (const int dim : indices.dims) {
    if (!HasDim(table.dims, dim)) continue;
    throw BadInput(
        "'{}': the indices {} {} and {} {} both have {}; an index chooses whole blocks, so that "
        "their dimensions are others",
        op.op, indices.name, graph.ShapeText(indices), table.name, graph.ShapeText(table),
        graph.dims[static_cast<size_t>(dim)].name);
  }
}

std::vector<int> GatherDims(const NamedGraph& graph, const NamedOp& op) {
  RequireIndices(graph, op);
  const NamedTensor& indices = OperandTensor(graph, op, 1);
  std::vector<int> dims;
  for (const int dim : OperandTensor(graph, op, 0).dims) {
    if (dim == op.reduced[0]) {
      dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

// What is written has the dimension of the indices for the chosen one.
std::vector<int> ScatterDims(const NamedGraph& graph, const NamedOp& op) {
  RequireIndices(graph, op);
  const NamedTensor& table = OperandTensor(graph, op, 0);
  const NamedTensor& indices = OperandTensor(graph, op, 1);
  const NamedTensor& source = OperandTensor(graph, op, 2);
  std::vector<int> expected = table.dims;
  std::replace(expected.begin(), expected.end(), op.reduced[0], indices.dims.front());
  const bool fits =
      source.origin != NamedTensor::Origin::kConstant &&
      std::is_permutation(expected.begin(), expected.end(), source.dims.begin(), source.dims.end());
  if (indices.dims.size() != 1 || !fits) {
    throw BadInput(
        "'{}' writes {} {} into {} {} by the indices {} {}: it must have their one "
        "dimension for '{}', and all others",
        op.op, source.name, graph.ShapeText(source), table.name, graph.ShapeText(table),
        indices.name, graph.ShapeText(indices),
        graph.dims[static_cast<size_t>(op.reduced[0])].name);
  }
  return table.dims;
}

}  // namespace

int64_t NamedGraph::Elements(const NamedTensor& tensor) const {
  int64_t count = 1;
  for (const int dim : tensor.dims) count *= dims[static_cast<size_t>(dim)].size;
  return count;
}

std::vector<int64_t> NamedGraph::Shape(const NamedTensor& tensor) const {
  std::vector<int64_t> shape;
  shape.reserve(tensor.dims.size());
  for (const int dim : tensor.dims) shape.push_back(dims[static_cast<size_t>(dim)].size);
  return shape;
}

std::string NamedGraph::ShapeText(const NamedTensor& tensor) const {
  std::string text;
  for (const int index : tensor.dims) {
    const NamedDim& dim = dims[static_cast<size_t>(index)];
    text += text.empty() ? "" : ", ";
    text +=
        dim.name == std::to_string(dim.size) ? dim.name : fmt::format("{}={}", dim.name, dim.size);
  }
  return "[" + text + "]";
}

CompileError ExternInKernel(const std::string& result, const std::string& function) {
  const std::string remedy = fmt::format(
      "make a list of what comes before it and one of what comes after it, in which '{}' is a "
      "tensor with a file",
      result);
  return CompileError("Unsupported", "extern_kernel",
                      fmt::format("'{}' is computed by {}, outside of the card, and a kernel "
                                  "cannot wait for it; {}",
                                  result, function, remedy))
      .Subject(result)
      .Remedy(remedy);
}

void RequireNoExtern(const NamedGraph& graph) {
  for (const NamedOp& op : graph.ops) {
    if (FindNamedOperation(op.op)->kind == EntryKind::kExtern)
      throw ExternInKernel(graph.tensors[static_cast<size_t>(op.output)].name, op.function);
  }
}

int64_t SliceStart(const NamedOp& op) {
  const auto start = op.constants.find("start");
  return start == op.constants.end() ? 0 : static_cast<int64_t>(start->second);
}

std::vector<int64_t> CatStarts(const NamedGraph& graph, const NamedOp& op) {
  std::vector<int64_t> starts;
  int64_t start = 0;
  for (const int dim : op.reduced) {
    starts.push_back(start);
    start += graph.dims[static_cast<size_t>(dim)].size;
  }
  return starts;
}

namespace {

std::vector<int> HostDims(const NamedGraph& graph, const NamedOp& op, const OpEntry& entry) {
  if (entry.has_dim) RequireReduced(graph, op);
  if ((entry.name == "tril" || entry.name == "triu") && op.reduced.size() != 2)
    throw BadInput("'{}' needs `dim` with two dimensions, rows and columns", op.op);
  if (entry.HasIndices() && HasDim(OperandTensor(graph, op, 1).dims, op.reduced[0])) {
    throw BadInput(
        "'{}': the indices {} {} have the dimension that they choose along; give it "
        "another name",
        op.op, OperandTensor(graph, op, 1).name, graph.ShapeText(OperandTensor(graph, op, 1)));
  }
  if (op.inputs.size() > 2) {  // what is written has the dimensions of the indices
    std::vector<int> dims = OperandTensor(graph, op, 1).dims;
    AddMissing(dims, Without(OperandTensor(graph, op, 0).dims, op.reduced));
    const NamedTensor& source = OperandTensor(graph, op, 2);
    if (!Without(source.dims, dims).empty()) {
      throw BadInput("'{}' writes {} {} by the indices {} {}: they lack one of its dimensions",
                     op.op, source.name, graph.ShapeText(source), OperandTensor(graph, op, 1).name,
                     graph.ShapeText(OperandTensor(graph, op, 1)));
    }
  }
  const bool one = entry.has_dim && entry.host_shape == OpEntry::HostShape::kOperand;
  if (one && op.reduced.size() != 1 && entry.constants.empty())
    throw BadInput("'{}' works along one `dim`, not along several", op.op);
  if (entry.host_shape == OpEntry::HostShape::kChosen) {
    std::vector<int> dims = OperandTensor(graph, op, 1).dims;
    AddMissing(dims, Without(OperandTensor(graph, op, 0).dims, op.reduced));
    return dims;
  }
  if (entry.host_shape == OpEntry::HostShape::kWithoutDim)
    return Without(OperandTensor(graph, op, 0).dims, op.reduced);
  return entry.host_shape == OpEntry::HostShape::kOperand ? OperandTensor(graph, op, 0).dims
                                                          : BroadcastDims(graph, op);
}

}  // namespace

DataFormat OutputFormat(const NamedGraph& graph, const NamedOp& op) {
  const OpEntry& entry = *FindNamedOperation(op.op);
  if (entry.gives_int32) return DataFormat::kIeeeInt32;
  if (op.on_host) return HostResultFormat(graph, op);
  if (entry.kind == EntryKind::kView || entry.Chooses()) return OperandTensor(graph, op, 0).format;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const NamedTensor& operand = OperandTensor(graph, op, i);
    if (operand.origin != NamedTensor::Origin::kConstant && operand.format == DataFormat::kIeeeFp32)
      return DataFormat::kIeeeFp32;
  }
  return DataFormat::kIeeeFp16;
}

std::string_view HostTypeName(DataFormat format) {
  return format == DataFormat::kIeeeFp32    ? "float32"
         : format == DataFormat::kSen143Fp8 ? "float8_e4m3fn"
         : format == DataFormat::kIeeeInt32 ? "int32"
                                            : "float16";
}

std::vector<int> OutputDims(const NamedGraph& graph, NamedOp& op) {
  const OpEntry& operation = *FindNamedOperation(op.op);
  op.on_host = IsOnHost(graph, op);
  CheckIntegers(graph, op);
  if (operation.kind == EntryKind::kCollective) return CollectiveDims(graph, op);
  if (operation.kind == EntryKind::kHost) return HostDims(graph, op, operation);
  if (operation.kind == EntryKind::kGather) return GatherDims(graph, op);
  if (operation.kind == EntryKind::kScatter) return ScatterDims(graph, op);
  if (operation.kind == EntryKind::kMatmul) return MatmulDims(graph, op);
  if (operation.kind == EntryKind::kCat) return CatDims(graph, op);
  if (operation.name == "attention") return AttentionDims(graph, op);
  if (operation.has_dim) RequireReduced(graph, op);
  if (operation.kind == EntryKind::kView || operation.kind == EntryKind::kTopK)
    return SliceDims(graph, op);
  if (operation.kind == EntryKind::kReduction)
    return Without(OperandTensor(graph, op, 0).dims, op.reduced);
  if (operation.kind == EntryKind::kExtern) return {};
  std::vector<int> dims = operation.kind == EntryKind::kComposite && operation.name != "swiglu"
                              ? FirstOperandDims(graph, op)
                              : BroadcastDims(graph, op);
  const bool is_of_numbers = AllFit(op.inputs, [&](int input) {
    return graph.tensors[static_cast<size_t>(input)].origin == NamedTensor::Origin::kConstant;
  });
  if (is_of_numbers) throw BadInput("'{}' of numbers only: one operand must be a tensor", op.op);
  return dims;
}

}  // namespace spyre::compiler
