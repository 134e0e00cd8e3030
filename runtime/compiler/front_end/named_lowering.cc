// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/named_lowering.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::compiler {
namespace {

// The last dimension of a tensor with sparse sticks, of size 1. What a restickify makes of such a
// tensor has it as well.
constexpr int kNoDim = -1;

constexpr int kChosenRow = 1;  // dimension of a copy that indices choose from

constexpr std::string_view kRestickifyOp = "restickify";

class Lowering {
 public:
  explicit Lowering(const NamedGraph& named, const LoweringOptions& options = {})
      : named_(named), options_(options) {
    for (size_t i = 0; i < named.tensors.size(); ++i)
      dims_.push_back(HostDims(static_cast<int>(i)));
  }

  Graph Run() {
    Graph graph;
    using Origin = NamedTensor::Origin;
    for (const Origin origin : {Origin::kInput, Origin::kConstant}) {
      for (size_t i = 0; i < named_.tensors.size(); ++i) {
        if (named_.tensors[i].origin == origin && IsRead(static_cast<int>(i)))
          graph.inputs.push_back(Input(static_cast<int>(i)));
      }
    }
    for (const NamedOp& op : named_.ops) {
      if (IsCat(op)) {
        AddCat(op, graph);
      } else if (FindNamedOperation(op.op)->kind == OpEntry::Kind::kGather) {
        AddGather(op, graph);
      } else if (Chooses(op)) {
        AddScatter(op, graph);
      } else if (SliceOf(op.output) == nullptr) {
        graph.ops.push_back(Op(op));
      } else if (IsOutput(op.output)) {
        graph.ops.push_back(Copy(op.output));
      }
    }
    for (const int output : named_.outputs) graph.outputs.push_back(tensor(output).name);
    if (options_.arguments_by_use) OrderByUse(graph);
    return graph;
  }

  // The slice that makes the tensor; null: it is a buffer of its own.
  const NamedOp* SliceOf(int index) const {
    for (const NamedOp& op : named_.ops) {
      if (op.output != index) continue;
      return FindNamedOperation(op.op)->kind == OpEntry::Kind::kView ? &op : nullptr;
    }
    return nullptr;
  }

  static bool IsCat(const NamedOp& op) {
    return FindNamedOperation(op.op)->kind == OpEntry::Kind::kCat;
  }

  static bool Chooses(const NamedOp& op) { return FindNamedOperation(op.op)->Chooses(); }

  bool IsOutput(int index) const {
    return std::find(named_.outputs.begin(), named_.outputs.end(), index) != named_.outputs.end();
  }

  BufferLayout Layout(int index, const std::vector<int64_t>& size) const {
    const std::vector<int>& dims = dims_[static_cast<size_t>(index)];
    const auto stick = std::find(dims.begin(), dims.end(), tensor(index).stick);
    return MakeBufferLayout(size, DeviceFormatOf(tensor(index).format),
                            stick == dims.end() ? -1 : static_cast<int>(stick - dims.begin()));
  }

 private:
  static bool Reduces(const NamedOp& op) {
    const OpEntry::Kind kind = FindNamedOperation(op.op)->kind;
    return kind == OpEntry::Kind::kReduction || kind == OpEntry::Kind::kMatmul ||
           kind == OpEntry::Kind::kTopK;
  }
  const NamedTensor& tensor(int index) const { return named_.tensors[static_cast<size_t>(index)]; }
  bool IsRead(int index) const {
    return AnyFits(named_.ops, [&](const NamedOp& op) {
      return std::find(op.inputs.begin(), op.inputs.end(), index) != op.inputs.end();
    });
  }
  const std::vector<int>& dims(int index) const { return dims_[static_cast<size_t>(index)]; }

  // What makes the tensor, if it is a restickify; else null.
  const NamedOp* RestickifyOf(int index) const {
    for (const NamedOp& op : named_.ops)
      if (op.output == index && op.op == kRestickifyOp) return &op;
    return nullptr;
  }

  std::vector<int> HostDims(int index) const {
    std::vector<int> dims = tensor(index).dims;
    const bool visible =
        tensor(index).origin != NamedTensor::Origin::kComputed ||
        std::find(named_.outputs.begin(), named_.outputs.end(), index) != named_.outputs.end();
    if (tensor(index).stick == NamedTensor::kSparse) {
      dims.push_back(kNoDim);
      return dims;
    }
    const NamedOp* dense = RestickifyOf(index);
    if (dense != nullptr && tensor(dense->inputs[0]).stick == NamedTensor::kSparse)
      dims.push_back(kNoDim);
    if (!visible && !options_.host_order) {
      const auto stick = std::find(dims.begin(), dims.end(), tensor(index).stick);
      if (stick != dims.end()) std::rotate(stick, stick + 1, dims.end());  // else: it is dead
    }
    return dims;
  }

  std::vector<int64_t> Sizes(const std::vector<int>& dims) const {
    std::vector<int64_t> sizes;
    sizes.reserve(dims.size());
    for (const int dim : dims)
      sizes.push_back(dim == kNoDim ? 1 : named_.dims[static_cast<size_t>(dim)].size);
    return sizes;
  }

  std::vector<std::string> Names(const std::vector<int>& dims) const {
    std::vector<std::string> names;
    names.reserve(dims.size());
    for (const int dim : dims)
      names.push_back(dim == kNoDim ? "" : named_.dims[static_cast<size_t>(dim)].name);
    return names;
  }

  GraphInput Input(int index) const {
    GraphInput input;
    input.name = tensor(index).name;
    input.host_format = tensor(index).format;
    input.layout = Layout(index, Sizes(dims(index)));
    input.dim_names = Names(dims(index));
    return input;
  }

  GraphOp Op(const NamedOp& named_op) const {
    const OpEntry& operation = *FindNamedOperation(named_op.op);
    const bool reduces = Reduces(named_op);
    GraphOp op;
    op.name = tensor(named_op.output).name;
    op.kind = reduces ? GraphOp::Kind::kReduction : GraphOp::Kind::kPointwise;
    op.host_format = tensor(named_op.output).format;
    op.op = operation.op_func();
    if (operation.kind == OpEntry::Kind::kExtern) {
      op.kind = GraphOp::Kind::kExtern;
      op.op = named_op.function;
    }
    if (operation.name == "convert")
      op.op = ConversionOf(tensor(named_op.inputs[0]).format, op.host_format);
    if (reduces) op.reduction_type = operation.op_func();
    std::vector<int> loops = dims(named_op.output);
    op.ranges = Extents(Sizes(loops));
    if (reduces) {
      op.reduction_ranges = Extents(Sizes(named_op.reduced));
      loops.insert(loops.end(), named_op.reduced.begin(), named_op.reduced.end());
    }
    op.loop_names = Names(loops);
    const bool exchanges = named_op.op == kRestickifyOp;
    for (const int input : named_op.inputs) op.reads.push_back(Read(input, loops, exchanges));
    op.layout = Layout(named_op.output, Sizes(dims(named_op.output)));
    op.constants = Constants(named_op);
    return op;
  }

  // A buffer, and a copy of each operand into its part of that.
  void AddCat(const NamedOp& cat, Graph& graph) const {
    const std::vector<int>& whole = dims(cat.output);
    GraphOp buffer;
    buffer.name = tensor(cat.output).name;
    buffer.kind = GraphOp::Kind::kEmpty;
    buffer.op = "empty";
    buffer.host_format = tensor(cat.output).format;
    buffer.ranges = Extents(Sizes(whole));
    buffer.loop_names = Names(whole);
    buffer.layout = Layout(cat.output, Sizes(whole));
    graph.ops.push_back(buffer);
    const auto joined =
        static_cast<size_t>(std::find(whole.begin(), whole.end(), cat.into) - whole.begin());
    const std::vector<int64_t> starts = CatStarts(named_, cat);
    for (size_t i = 0; i < cat.inputs.size(); ++i) {
      std::vector<int> loops = whole;
      loops[joined] = cat.reduced[i];
      GraphOp copy;
      copy.name = buffer.name + kPartOfCat + std::to_string(i);
      copy.op = FindNamedOperation("copy")->op_func();
      copy.host_format = buffer.host_format;
      copy.ranges = Extents(Sizes(loops));
      copy.loop_names = Names(loops);
      copy.reads.push_back(Read(cat.inputs[i], loops));
      copy.layout.kind = BufferLayout::Kind::kMutation;
      copy.layout.target = buffer.name;
      copy.layout.offset.assign(whole.size(), 0);
      copy.layout.offset[joined] = starts[i];
      graph.ops.push_back(std::move(copy));
    }
  }

  // A copy of the table with what is chosen outermost, so that what an index chooses is one block.
  // Layouts of two dimensions have sticks outermost: one of size 1 is put before. `rows`: its
  // dimensions.
  GraphOp RowsOf(const NamedOp& choice, std::vector<int>& rows) const {
    const int table = choice.inputs[0];
    rows = {kNoDim, choice.reduced[0]};
    for (const int dim : dims(table))
      if (dim != choice.reduced[0] && dim != tensor(table).stick) rows.push_back(dim);
    if (tensor(table).stick >= 0) rows.push_back(tensor(table).stick);
    GraphOp copy =
        CopyOver(rows, tensor(choice.output).name + kRowsSuffix, tensor(choice.output).format);
    copy.reads.push_back(Read(table, rows));
    copy.layout = MakeBufferLayout(Sizes(rows), DeviceFormatOf(copy.host_format));
    return copy;
  }

  GraphOp CopyOver(const std::vector<int>& loops, const std::string& name,
                   DataFormat format) const {
    GraphOp copy;
    copy.name = name;
    copy.op = FindNamedOperation("copy")->op_func();
    copy.host_format = format;
    copy.ranges = Extents(Sizes(loops));
    copy.loop_names = Names(loops);
    return copy;
  }

  // By which loop each dimension of the rows is walked; the first has one element.
  static GraphRead ReadRows(const GraphOp& copy, const std::vector<int>& rows,
                            const std::vector<int>& loops) {
    GraphRead read;
    read.buffer = copy.name;
    for (const int dim : rows) {
      const auto loop = std::find(loops.begin(), loops.end(), dim);
      const bool walked = dim != kNoDim && loop != loops.end();
      read.loop.push_back(walked ? static_cast<int>(loop - loops.begin()) : -1);
    }
    return read;
  }

  void AddGather(const NamedOp& gather, Graph& graph) const {
    std::vector<int> rows;
    const GraphOp copy = RowsOf(gather, rows);
    const std::vector<int>& loops = dims(gather.output);
    GraphOp choice = CopyOver(loops, tensor(gather.output).name, copy.host_format);
    choice.layout = Layout(gather.output, Sizes(loops));
    choice.reads = {Read(gather.inputs[1], loops), ReadRows(copy, rows, loops)};
    choice.reads[1].chosen = kChosenRow;
    graph.ops.insert(graph.ops.end(), {copy, std::move(choice)});
  }

  // The blocks are written into the copy, of which the result is a copy in turn.
  void AddScatter(const NamedOp& scatter, Graph& graph) const {
    std::vector<int> rows;
    const GraphOp copy = RowsOf(scatter, rows);
    const std::string& name = tensor(scatter.output).name;
    std::vector<int> written = rows;
    written[kChosenRow] = tensor(scatter.inputs[1]).dims.front();
    GraphOp write = CopyOver(written, name + kWriteSuffix, copy.host_format);
    write.reads = {Read(scatter.inputs[1], written), Read(scatter.inputs[2], written)};
    write.layout.kind = BufferLayout::Kind::kMutation;
    write.layout.target = copy.name;
    write.layout.chosen = kChosenRow;
    const std::vector<int>& loops = dims(scatter.output);
    GraphOp result = CopyOver(loops, name, copy.host_format);
    result.layout = Layout(scatter.output, Sizes(loops));
    result.reads = {ReadRows(copy, rows, loops)};
    graph.ops.insert(graph.ops.end(), {copy, std::move(write), std::move(result)});
  }

  // The conversion between two types that the card can convert.
  static const char* ConversionOf(DataFormat from, DataFormat to) {
    if (to == DataFormat::kIeeeFp32) return "dl16tofp32";
    if (to == DataFormat::kSen143Fp8) return "qfp8ch";
    return from == DataFormat::kIeeeFp32 ? "fp32todl16" : "fp8todl16";
  }

  static void OrderByUse(Graph& graph) {
    std::vector<std::string> used;
    for (const GraphOp& op : graph.ops)
      for (const GraphRead& read : op.reads) used.push_back(read.buffer);
    const auto first = [&](const GraphInput& input) {
      return std::find(used.begin(), used.end(), input.name);
    };
    StableSort(graph.inputs,
               [&](const GraphInput& a, const GraphInput& b) { return first(a) < first(b); });
  }

  // What the caller gets of a slice is a tensor of its own.
  GraphOp Copy(int slice) const {
    GraphOp op;
    op.name = tensor(slice).name;
    op.host_format = tensor(slice).format;
    op.op = FindNamedOperation("copy")->op_func();
    const std::vector<int>& loops = dims(slice);
    op.ranges = Extents(Sizes(loops));
    op.loop_names = Names(loops);
    op.reads.push_back(Read(slice, loops));
    op.layout = Layout(slice, Sizes(loops));
    return op;
  }

  // A slice is read where its operand is, from its start on, by the loop of its own dimension.
  // `all`: also by the loop of kNoDim, which is one of those that a restickify exchanges.
  GraphRead Read(int input, const std::vector<int>& loops, bool all = false) const {
    std::map<int, std::pair<int, int64_t>> sliced;  // dimension -> the loop's, and where it starts
    while (const NamedOp* slice = SliceOf(input)) {
      const int dim = slice->reduced[0];
      const auto inner = sliced.find(slice->into);
      const bool again = inner != sliced.end();
      sliced[dim] = {again ? inner->second.first : slice->into,
                     SliceStart(*slice) + (again ? inner->second.second : 0)};
      input = slice->inputs[0];
    }
    GraphRead read;
    read.buffer = tensor(input).name;
    for (const int dim : dims(input)) {
      const auto slice = sliced.find(dim);
      const auto loop =
          std::find(loops.begin(), loops.end(), slice == sliced.end() ? dim : slice->second.first);
      const bool walked = (all || dim != kNoDim) && loop != loops.end();
      read.loop.push_back(walked ? static_cast<int>(loop - loops.begin()) : -1);
      read.offset.push_back(slice == sliced.end() ? 0 : slice->second.second);
    }
    if (sliced.empty()) read.offset.clear();
    return read;
  }

  // op_info's, by the names that the card's operations have for them.
  std::vector<OpConstant> Constants(const NamedOp& op) const {
    if (op.op == "mean") {
      double count = 1;
      for (const int dim : op.reduced)
        count *= static_cast<double>(named_.dims[static_cast<size_t>(dim)].size);
      return {{"scaling_factor", 1 / count}};
    }
    if (op.op != "clip") return {};
    const auto bound = [&](const char* key) {
      const auto found = op.constants.find(key);
      if (found == op.constants.end()) throw BadInput("'clip' needs `{}`", key);
      return found->second;
    };
    return {{"clipMin", bound("min")}, {"clipMax", bound("max")}};
  }

  const NamedGraph& named_;
  const LoweringOptions options_;
  std::vector<std::vector<int>> dims_;  // of each tensor, as the host has it
};

}  // namespace

Graph LowerNamedGraph(const NamedGraph& named, const LoweringOptions& options) {
  return Lowering(named, options).Run();
}

std::vector<HintScope> HintScopes(const NamedGraph& named) {
  const Lowering lowering(named);
  std::vector<HintScope> scopes;
  for (const NamedHint& hint : named.hints) {
    HintScope scope;
    for (const int op : hint.ops) {
      const int output = named.ops[static_cast<size_t>(op)].output;
      const NamedOp& under = named.ops[static_cast<size_t>(op)];
      if (Lowering::IsCat(under) || Lowering::Chooses(under)) continue;
      if (lowering.SliceOf(output) != nullptr && !lowering.IsOutput(output)) continue;
      scope.ops.push_back(named.tensors[static_cast<size_t>(output)].name);
    }
    for (const NamedHint::Slice& slice : hint.slices)
      scope.slices.emplace_back(named.dims[static_cast<size_t>(slice.dim)].name, slice.count);
    scopes.push_back(std::move(scope));
  }
  return scopes;
}

void RestoreSticks(const NamedGraph& named, const LoweringOptions& options, Graph& graph) {
  const Lowering lowering(named, options);
  const std::string full = "full_";
  for (GraphOp& op : graph.ops) {
    if (op.layout.kind != BufferLayout::Kind::kTiled) continue;
    for (size_t i = 0; i < named.tensors.size(); ++i) {
      const std::string& name = named.tensors[i].name;
      if (op.name != name && op.name != full + name && op.name != name + kTileOfReduction) continue;
      const bool fixed = op.layout.per_tile_fixed;
      op.layout = lowering.Layout(static_cast<int>(i), Numbers(op.layout.size));
      op.layout.per_tile_fixed = fixed;
    }
  }
}

}  // namespace spyre::compiler
