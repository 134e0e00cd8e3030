// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/chunking.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "runtime/compiler/front_end/named_lowering.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kMostChunks = 256;  // of one operation

class Chunker {
 public:
  Chunker(FrontEndResult& result, const FrontEndOptions& options)
      : result_(result), graph_(result.graph), options_(options) {
    if (options.tiling)
      for (const HintScope& scope : HintScopes(result.primitives))
        planned_.insert(scope.ops.begin(), scope.ops.end());
    for (const auto& [op, unused] : options.plan.splits) planned_.insert(op);
    for (const auto& [op, unused] : options.plan.places) planned_.insert(op);
    for (const PlanNode& group : options.plan.groups.value_or(std::vector<PlanNode>()))
      for (const std::string& op : OperationsOf(group)) planned_.insert(op);
  }

  void Run() {
    std::vector<GraphOp> ops;
    for (const GraphOp& op : graph_.ops) {
      const std::vector<GraphOp> chunks = MayBeCut(op) ? ChunksOf(op) : std::vector<GraphOp>();
      if (chunks.empty() || op.layout.kind == BufferLayout::Kind::kTiled)
        ops.push_back(chunks.empty() ? op : Buffer(op));
      ops.insert(ops.end(), chunks.begin(), chunks.end());
    }
    if (ops.size() == graph_.ops.size()) return;
    graph_.ops = std::move(ops);
    result_.loop_names = NameLoops(graph_);
  }

 private:
  bool MayBeCut(const GraphOp& op) const {
    const bool is_other = op.op.rfind("batchmatmul", 0) == 0 || op.op == "ReStickifyOpHBM";
    return op.IsComputed() && !is_other && !op.Gathers() && !graph_.IsChosenFrom(op.name) &&
           planned_.count(op.name) == 0 && planned_.count(ListNameOf(op.name)) == 0;
  }

  // The tensor of which a core would reach too much; "": none.
  std::string TooLarge(const GraphOp& op) const {
    const OpIr ir = ToOpIr(graph_, op);
    const DivisionOptions& rule = options_.division;
    const std::vector<int> splits =
        DivideWork(ir, rule.max_cores, rule.k_fast, rule.rule, rule.timing).splits;
    const WorkDivider divider(ir);
    for (size_t i = 0; i < divider.tensor_count(); ++i)
      if (divider.PerCoreSpan(i, splits) > options_.chunk_bytes) return divider.tensor(i).name;
    return "";
  }

  // None: the operation is within the limit, or no chunks would bring it there.
  std::vector<GraphOp> ChunksOf(const GraphOp& op) {
    const std::string large = TooLarge(op);
    if (large.empty()) return {};
    const WorkDivider divider(ToOpIr(graph_, op));
    for (const int dim : DimsFromOutside(op)) {
      const auto d = static_cast<size_t>(dim);
      const int64_t size = op.ranges[d].number();
      const int64_t unit = std::max<int64_t>(1, divider.elements_per_stick()[d]);
      const int64_t units = (size + unit - 1) / unit;
      int64_t last = 0;
      for (int64_t count = 2; count <= std::min(units, kMostChunks); ++count) {
        const int64_t elements = (units + count - 1) / count * unit;
        if (elements == last) continue;  // in fewer chunks it was too large
        last = elements;
        if (!TooLarge(Chunk(op, d, 0, elements, 0)).empty()) continue;
        std::vector<GraphOp> chunks;
        for (int64_t at = 0; at < size; at += elements)
          chunks.push_back(
              Chunk(op, d, at, std::min(elements, size - at), static_cast<int>(chunks.size())));
        Explain(op, large, d, elements, chunks.size());
        return chunks;
      }
    }
    return {};
  }

  // Dimensions of the result by their places on the device.
  std::vector<int> DimsFromOutside(const GraphOp& op) const {
    const std::vector<int>& device = graph_.LayoutOf(op.name).device.host_dim;
    std::vector<int> dims;
    for (const int dim : device) {
      const bool is_new = std::find(dims.begin(), dims.end(), dim) == dims.end();
      if (dim >= 0 && is_new && op.ranges[static_cast<size_t>(dim)].number() > 1)
        dims.push_back(dim);
    }
    return dims;
  }

  static void AddOffset(std::vector<int64_t>& offset, size_t rank, size_t dim, int64_t by) {
    offset.resize(rank);
    offset[dim] += by;
  }

  static GraphOp Chunk(const GraphOp& op, size_t dim, int64_t at, int64_t elements, int number) {
    GraphOp chunk = op;
    chunk.name = fmt::format("{}.chunk{}", op.name, number);
    chunk.ranges[dim] = Extent(elements);
    if (op.layout.kind == BufferLayout::Kind::kTiled) {
      chunk.layout = BufferLayout();
      chunk.layout.kind = BufferLayout::Kind::kMutation;
      chunk.layout.target = op.name;
    }
    AddOffset(chunk.layout.offset, op.ranges.size(), dim, at);
    for (GraphRead& read : chunk.reads)
      for (size_t d = 0; d < read.loop.size(); ++d)
        if (read.loop[d] == static_cast<int>(dim)) AddOffset(read.offset, read.loop.size(), d, at);
    return chunk;
  }

  static GraphOp Buffer(const GraphOp& op) {
    GraphOp whole;
    whole.name = op.name;
    whole.kind = GraphOp::Kind::kEmpty;
    whole.op = "empty";
    whole.host_format = op.host_format;
    whole.ranges = op.ranges;
    whole.layout = op.layout;
    return whole;
  }

  void Explain(const GraphOp& op, const std::string& large, size_t dim, int64_t elements,
               size_t chunks) {
    const auto names = result_.loop_names.find(op.name);
    const bool is_named = names != result_.loop_names.end() && dim < names->second.size();
    result_.decisions.push_back(
        {"chunk_large_tensors",
         op.name,
         fmt::format("{} chunks of {} elements of {}", chunks, elements,
                     is_named ? names->second[dim] : fmt::format("dimension {}", dim)),
         fmt::format("a core would reach more than {} bytes of '{}'", options_.chunk_bytes, large),
         {}});
  }

  FrontEndResult& result_;
  Graph& graph_;
  const FrontEndOptions& options_;
  std::set<std::string> planned_;
};

}  // namespace

void ChunkLargeTensors(FrontEndResult& graph, const FrontEndOptions& options) {
  Chunker(graph, options).Run();
}

}  // namespace spyre::compiler
