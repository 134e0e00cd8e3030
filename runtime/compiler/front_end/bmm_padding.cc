// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/bmm_padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/ranges.h"
#include "runtime/compiler/front_end/named_lowering.h"

namespace spyre::compiler {
namespace {

constexpr size_t kSecond = 1;  // operand of a matmul

bool IsMatmul(const GraphOp& op) { return op.op.rfind("batchmatmul", 0) == 0; }

class Padder {
 public:
  Padder(FrontEndResult& result, const FrontEndOptions& options)
      : result_(result), graph_(result.graph), options_(options) {}

  void Run() {
    std::vector<std::string> matmuls;
    for (const GraphOp& op : graph_.ops)
      if (IsMatmul(op) && Padding(op) > 0) matmuls.push_back(op.name);
    for (const std::string& name : matmuls) Pad(name);
    if (!matmuls.empty()) result_.loop_names = NameLoops(graph_);
  }

 private:
  int64_t Padding(const GraphOp& op) const {
    const int64_t per_stick =
        ElementsPerStick(graph_.LayoutOf(op.reads[kSecond].buffer).device.format);
    const int64_t k = op.reduction_ranges.front().number();
    return (per_stick - k % per_stick) % per_stick;
  }

  void Pad(const std::string& name) {
    GraphOp& matmul = *graph_.Find(name);
    const GraphRead y = matmul.reads[kSecond];
    const BufferLayout& layout = graph_.LayoutOf(y.buffer);
    const auto at = static_cast<size_t>(
        std::find(y.loop.begin(), y.loop.end(), static_cast<int>(matmul.ranges.size())) -
        y.loop.begin());
    std::vector<int64_t> rows = Numbers(layout.size);
    if (!y.offset.empty()) {  // of a slice
      for (size_t d = 0; d < rows.size(); ++d)
        if (y.loop[d] >= 0) rows[d] = matmul.RangeOf(y.loop[d]).number();
    }
    std::vector<int64_t> size = rows, zeros = rows, behind(rows.size(), 0);
    zeros[at] = Padding(matmul);
    size[at] = rows[at] + zeros[at];
    behind[at] = rows[at];

    GraphOp whole;
    whole.name = UnusedName(result_, "padded_" + name);
    whole.kind = GraphOp::Kind::kEmpty;
    whole.op = "empty";
    whole.host_format = matmul.host_format;
    whole.ranges = Extents(size);
    whole.layout = MakeBufferLayout(size, layout.device.format, layout.device.stick_dim());

    GraphRead zero{ZeroArgument(result_, DataFormat::kIeeeFp16), {-1}, {}};
    GraphRead all{y.buffer, std::vector<int>(rows.size()), y.offset};
    std::iota(all.loop.begin(), all.loop.end(), 0);
    const GraphOp fill = Write(whole, ".zeros", zeros, behind, std::move(zero));
    const GraphOp copy = Write(whole, ".rows", rows, std::vector<int64_t>(rows.size(), 0), all);

    matmul.constants.push_back({kMaskContraction, 1});
    matmul.reads[kSecond].buffer = whole.name;
    matmul.reads[kSecond].offset.assign(rows.size(), 0);  // it reads a part of the buffer
    Explain(name, y.buffer, rows[at], zeros[at]);
    const auto place = graph_.ops.begin() + static_cast<std::ptrdiff_t>(PlaceFor(name, y.buffer));
    graph_.ops.insert(place, {whole, fill, copy});
  }

  GraphOp Write(const GraphOp& whole, const char* suffix, const std::vector<int64_t>& size,
                const std::vector<int64_t>& offset, GraphRead read) const {
    GraphOp op;
    op.name = UnusedName(result_, whole.name + suffix);
    op.op = "identity";
    op.ranges = Extents(size);
    op.host_format = whole.host_format;
    op.layout.kind = BufferLayout::Kind::kMutation;
    op.layout.target = whole.name;
    op.layout.offset = offset;
    op.reads.push_back(std::move(read));
    return op;
  }

  // Position in the graph: before the matmul, or before the outermost loop around it that does not
  // compute the operand.
  size_t PlaceFor(const std::string& matmul, const std::string& operand) const {
    const size_t own = PositionOf(matmul);
    const size_t computed = graph_.Find(operand) == nullptr ? 0 : PositionOf(operand) + 1;
    size_t first = own;
    const auto consider = [&](const std::vector<std::string>& ops) {
      if (std::find(ops.begin(), ops.end(), matmul) == ops.end()) return;
      size_t begin = own;
      for (const std::string& op : ops)
        if (graph_.Find(op) != nullptr) begin = std::min(begin, PositionOf(op));
      if (begin >= computed) first = std::min(first, begin);
    };
    for (const HintScope& scope : HintScopes(result_.primitives)) consider(scope.ops);
    for (const PlanNode& group : options_.plan.groups.value_or(std::vector<PlanNode>()))
      consider(MembersOf(group));
    return first;
  }

  // Operations of the graph: the plan's names are those of the list, of which composites became
  // several.
  std::vector<std::string> MembersOf(const PlanNode& group) const {
    const std::vector<std::string> named = OperationsOf(group);
    std::vector<std::string> members;
    for (const GraphOp& op : graph_.ops) {
      const auto has = [&](const std::string& name) {
        return std::find(named.begin(), named.end(), name) != named.end();
      };
      if (has(op.name) || has(ListNameOf(op.name))) members.push_back(op.name);
    }
    return members;
  }

  size_t PositionOf(const std::string& op) const {
    return static_cast<size_t>(graph_.Find(op) - graph_.ops.data());
  }

  void Explain(const std::string& matmul, const std::string& operand, int64_t k, int64_t zeros) {
    result_.decisions.push_back(
        {"insert_bmm_padding",
         matmul,
         fmt::format("{} rows of zeros behind the {} of '{}'", zeros, k, operand),
         fmt::format("it sums over {} elements, and a matmul works on whole sticks: {}", k,
                     k + zeros),
         {}});
  }

  FrontEndResult& result_;
  Graph& graph_;
  const FrontEndOptions& options_;
};

}  // namespace

std::string UnusedName(const FrontEndResult& graph, std::string name) {
  const auto taken = [&](const std::string& other) {
    const auto& tensors = graph.primitives.tensors;
    return graph.graph.Find(other) != nullptr ||
           AnyFits(tensors, [&](const NamedTensor& tensor) { return tensor.name == other; });
  };
  while (taken(name)) name += "_";
  return name;
}

std::string ZeroArgument(FrontEndResult& graph, DataFormat format) {
  const auto is_zero = [&](const NamedTensor& tensor) {
    return tensor.origin == NamedTensor::Origin::kConstant && tensor.value == 0 &&
           tensor.format == format;
  };
  auto& tensors = graph.primitives.tensors;
  auto tensor = FindIf(tensors, is_zero);
  if (tensor == tensors.end()) {
    NamedTensor zero;
    zero.origin = NamedTensor::Origin::kConstant;
    zero.name = UnusedName(graph, "0");
    zero.format = format;
    tensor = tensors.insert(tensors.end(), std::move(zero));
  }
  tensor->stick = NamedTensor::kSparse;
  if (graph.graph.FindInput(tensor->name) == nullptr) {
    GraphInput zero;
    zero.name = tensor->name;
    zero.host_format = format;
    zero.layout = MakeBufferLayout({1}, DeviceFormatOf(format));
    zero.dim_names = {""};
    graph.graph.inputs.push_back(std::move(zero));
  }
  return tensor->name;
}

void InsertBmmPadding(FrontEndResult& graph, const FrontEndOptions& options) {
  Padder(graph, options).Run();
}

}  // namespace spyre::compiler
