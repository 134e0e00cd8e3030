// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/graph.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::compiler {
namespace {

void AddTo(int64_t& sum, int64_t factor, int64_t stride) {
  int64_t product = 0;
  if (__builtin_mul_overflow(factor, stride, &product) ||
      __builtin_add_overflow(sum, product, &sum)) {
    throw BadInput("an index of {} times a stride of {} does not fit 64 bits", factor, stride);
  }
}

TensorAccess Access(const Graph& graph, const std::string& buffer, DataFormat format,
                    const GraphRead& read, size_t loops, const std::string& op) {
  const BufferLayout& layout = graph.LayoutOf(buffer);
  if (layout.kind != BufferLayout::Kind::kTiled) {
    throw CompileError("Unsupported", "no_tiled_layout",
                       fmt::format("{}: buffer {} has no device layout", op, buffer))
        .Subject(buffer);
  }
  if (read.loop.size() != layout.stride.size() ||
      (!read.offset.empty() && read.offset.size() != read.loop.size())) {
    throw BadInput("{}: buffer {} has {} dimensions, its access names {}", op, buffer,
                   layout.stride.size(), read.loop.size());
  }
  TensorAccess access{buffer, format, layout.device, {0, std::vector<int64_t>(loops, 0)}};
  const std::vector<int64_t> strides = Numbers(layout.stride);
  for (size_t d = 0; d < read.loop.size(); ++d) {
    if (!read.offset.empty()) AddTo(access.index.constant, read.offset[d], strides[d]);
    if (read.loop[d] < 0) continue;
    if (static_cast<size_t>(read.loop[d]) >= loops) {
      throw BadInput("{}: access to {} names loop {} of {}", op, buffer, read.loop[d], loops);
    }
    AddTo(access.index.coefficient[static_cast<size_t>(read.loop[d])], 1, strides[d]);
  }
  if (read.chosen < 0) return access;
  // One of the blocks: which one is not a matter of loops.
  const StickLayout& whole = layout.device;
  const StickLayout own =
      MakeBufferLayout(Numbers(layout.size), whole.format, whole.stick_dim()).device;
  const bool plain = own.device_size == whole.device_size && own.stride_map == whole.stride_map &&
                     own.host_dim == whole.host_dim;
  const auto dim = static_cast<size_t>(read.chosen);
  if (dim >= read.loop.size() || read.loop[dim] >= 0 || !plain || whole.host_dim.empty() ||
      whole.host_dim.front() != read.chosen || !read.offset.empty()) {
    throw BadInput(
        "{}: dimension {} of {} cannot be chosen by indices: it must be outermost on the "
        "device, and no loop may walk it",
        op, read.chosen, buffer);
  }
  std::vector<int64_t> block = Numbers(layout.size);
  block[dim] = 1;
  access.layout = MakeBufferLayout(block, layout.device.format, layout.device.stick_dim()).device;
  return access;
}

}  // namespace

BufferLayout MakeBufferLayout(const std::vector<int64_t>& size, DataFormat format, int stick_dim) {
  std::vector<int> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  if (stick_dim >= 0) {
    const auto stick = order.begin() + stick_dim;
    std::rotate(stick, stick + 1, order.end());
  }
  BufferLayout layout;
  layout.size = Extents(size);
  layout.stride = ContiguousExtents(layout.size);
  layout.device = MakeLayout(size, Numbers(layout.stride), format, order);
  return layout;
}

bool GraphOp::Accumulates() const {
  return layout.kind == BufferLayout::Kind::kMutation && Reads(layout.target);
}

bool GraphOp::Gathers() const {
  return layout.chosen >= 0 ||
         AnyFits(reads, [](const GraphRead& read) { return read.chosen >= 0; });
}

Extent GraphOp::RangeOf(int position) const {
  const auto l = static_cast<size_t>(position);
  return l < ranges.size() ? ranges[l] : reduction_ranges.at(l - ranges.size());
}

bool GraphOp::Reads(const std::string& buffer) const {
  return AnyFits(reads, [&](const GraphRead& read) { return read.buffer == buffer; });
}

const GraphOp* Graph::Find(const std::string& name) const {
  const auto it = FindIf(ops, [&](const GraphOp& op) { return op.name == name; });
  return it == ops.end() ? nullptr : &*it;
}

GraphOp* Graph::Find(const std::string& name) {
  return const_cast<GraphOp*>(static_cast<const Graph*>(this)->Find(name));
}

const GraphInput* Graph::FindInput(const std::string& name) const {
  const auto it = FindIf(inputs, [&](const GraphInput& input) { return input.name == name; });
  return it == inputs.end() ? nullptr : &*it;
}

bool Graph::IsOutput(const std::string& buffer) const {
  return std::find(outputs.begin(), outputs.end(), buffer) != outputs.end();
}

bool Graph::IsChosenFrom(const std::string& buffer) const {
  return AnyFits(ops, [&](const GraphOp& op) {
    if (op.layout.chosen >= 0 && op.layout.target == buffer) return true;
    return AnyFits(
        op.reads, [&](const GraphRead& read) { return read.chosen >= 0 && read.buffer == buffer; });
  });
}

const BufferLayout& Graph::LayoutOf(const std::string& buffer) const {
  const GraphOp* op = Find(buffer);
  // A mutation's target is a buffer of its own: one step, so that no chain can be a cycle.
  if (op != nullptr && op->layout.kind == BufferLayout::Kind::kMutation) {
    op = Find(op->layout.target);
  }
  if (op != nullptr) return op->layout;
  const GraphInput* input = FindInput(buffer);
  if (input == nullptr) throw BadInput("no buffer {} in the graph", buffer);
  return input->layout;
}

OpIr ToOpIr(const Graph& graph, const GraphOp& op) {
  if (!op.IsComputed()) throw BadInput("operation {} computes nothing", op.name);
  OpIr ir;
  ir.name = op.name;
  ir.kind = op.kind == GraphOp::Kind::kReduction ? OpIr::Kind::kReduction : OpIr::Kind::kPointwise;
  ir.reduction_type = op.reduction_type;
  std::vector<int64_t> ranges = Numbers(op.ranges);
  const std::vector<int64_t> reduction = Numbers(op.reduction_ranges);
  ranges.insert(ranges.end(), reduction.begin(), reduction.end());
  for (size_t i = 0; i < ranges.size(); ++i) {
    ir.loops.push_back({fmt::format("c{}", i), ranges[i]});
  }
  for (const GraphRead& read : op.reads) {
    const GraphOp* source = graph.Find(read.buffer);
    const GraphInput* input = graph.FindInput(read.buffer);
    const DataFormat format = source != nullptr  ? source->host_format
                              : input != nullptr ? input->host_format
                                                 : op.host_format;
    ir.inputs.push_back(Access(graph, read.buffer, format, read, ranges.size(), op.name));
  }
  const bool chooses_twice =
      op.layout.chosen >= 0 && op.reads.size() == 2 && op.reads[1].chosen >= 0;
  if (op.Gathers() && (op.reads.size() != 2 || op.reads[0].chosen >= 0 || chooses_twice ||
                       ir.inputs[0].host_format != DataFormat::kIeeeInt32 || op.op != "identity"))
    throw BadInput("{}: copies what indices of int32, its first operand, choose from the second",
                   op.name);
  GraphRead write;
  write.loop.resize(op.ranges.size());
  std::iota(write.loop.begin(), write.loop.end(), 0);
  const bool mutation = op.layout.kind == BufferLayout::Kind::kMutation;
  if (mutation) write.offset = op.layout.offset;
  if (mutation && op.layout.chosen >= 0) {
    write.chosen = op.layout.chosen;
    write.loop.at(static_cast<size_t>(write.chosen)) = -1;
  }
  ir.output = Access(graph, mutation ? op.layout.target : op.name, op.host_format, write,
                     ranges.size(), op.name);
  CheckOp(ir);
  return ir;
}

}  // namespace spyre::compiler
