// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/lower_to_op_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ir/device_coordinates.h"
#include "runtime/compiler/tiling/loop_groups.h"

namespace spyre::compiler {
namespace {

constexpr int kBitsPerByte = 8;

std::string LoopSymbol(size_t level) { return fmt::format("t{}", level); }

// How one access moves with the loops around its operation.
struct LoopAdvance {
  std::vector<int64_t> elements;  // device elements per iteration of each loop
  bool needs_newest = false;      // the iteration symbols cannot say it
};

class SourceBuilder {
 public:
  SourceBuilder(const Graph& graph, const std::map<std::string, WorkDivision>& divisions,
                const LxPlan& lx)
      : graph_(graph), divisions_(divisions), lx_(lx), arguments_(KernelArgumentNames(graph)) {}

  KernelSource Build(const std::string& name) {
    KernelSource source;
    source.name = name;
    source.body = Nodes(GroupLoops(LoopMembersOf(graph_)));
    return source;
  }

 private:
  std::vector<SpecNode> Nodes(const std::vector<LoopNode>& nodes) {
    std::vector<SpecNode> specs;
    for (const LoopNode& node : nodes) {
      if (const auto* member = std::get_if<size_t>(&node)) {
        const GraphOp& op = graph_.ops[*member];
        if (op.IsComputed()) specs.emplace_back(Op(op));
      } else {
        const auto& loop = std::get<CountedLoop>(node);
        specs.emplace_back(LoopSpec{loop.count.number(), Nodes(loop.body)});
      }
    }
    return specs;
  }

  OpSpec Op(const GraphOp& op) {
    const WorkDivision& division = divisions_.at(op.name);
    OpIr ir = ToOpIr(graph_, op);
    OpSpec spec;
    spec.op = op.op;
    spec.is_reduction = op.kind == GraphOp::Kind::kReduction;
    spec.constants = op.constants;
    // Loops of range 1 do not exist; the others are renumbered.
    for (size_t i = 0; i < ir.loops.size(); ++i) {
      if (ir.loops[i].range <= 1 && !InSticks(op, ir, static_cast<int>(i))) continue;
      ir.loops[i].name = fmt::format("c{}", spec.iteration_space.size());
      spec.iteration_space.push_back({ir.loops[i].name, ir.loops[i].range, division.splits[i]});
    }
    GraphRead write;
    write.offset = op.layout.offset;
    write.loop.resize(op.ranges.size());
    std::iota(write.loop.begin(), write.loop.end(), 0);
    write.chosen = op.layout.chosen;
    if (write.chosen >= 0) write.loop.at(static_cast<size_t>(write.chosen)) = -1;
    std::vector<LoopAdvance> advances;
    for (size_t i = 0; i < op.reads.size(); ++i)
      advances.push_back(AdvanceOf(op, op.reads[i], ir.inputs[i]));
    advances.push_back(AdvanceOf(op, write, ir.output));
    const bool newest = AnyFits(advances, [](const LoopAdvance& a) { return a.needs_newest; });
    for (size_t i = 0; i < advances.size(); ++i) {
      const bool is_input = i < ir.inputs.size();
      const TensorAccess& tensor = is_input ? ir.inputs[i] : ir.output;
      spec.args.push_back(Arg(tensor, is_input, advances[i], newest));
      const GraphRead& access = is_input ? op.reads[i] : write;
      SetCoordinates(op, ir, tensor, access, spec.args.back());
      if (access.chosen >= 0) spec.args.front().related_value_tensor_idx = static_cast<int>(i);
    }
    if (op.loop) TiledSymbols(op, ir, newest, spec);
    return spec;
  }

  // What a matmul contracts and the columns of its result lie in sticks, and so do the dimensions
  // that a restickify exchanges. Sticks hold more than one element: the loop is there whatever its
  // range. An index chooses, however many there are.
  static bool InSticks(const GraphOp& op, const OpIr& ir, int loop) {
    const bool restickify = op.op == "ReStickifyOpHBM";
    if (op.Gathers()) return IndexLoop(op, ir) == loop;
    if (!ir.IsMatmul() && !restickify) return false;
    if (loop == StickOf(ir.output.layout)) return true;
    if (!restickify) return loop >= static_cast<int>(op.ranges.size());
    return loop == op.reads.front().loop[static_cast<size_t>(StickOf(ir.inputs.front().layout))];
  }

  // The loop of what is inside the sticks of the indices.
  static int IndexLoop(const GraphOp& op, const OpIr& ir) {
    return op.reads.front().loop[static_cast<size_t>(StickOf(ir.inputs.front().layout))];
  }

  // The host dimension inside the stick; of sparse sticks the last one, which has size 1.
  static int StickOf(const StickLayout& layout) {
    return layout.stick_dim() >= 0 ? layout.stick_dim()
                                   : static_cast<int>(layout.host_size.size()) - 1;
  }

  static void TiledSymbols(const GraphOp& op, const OpIr& ir, bool newest, OpSpec& spec) {
    for (size_t level = 0; level < op.loop->tiled_dims.size(); ++level) {
      std::vector<std::string> symbols;
      if (newest) {
        if (!op.loop->tiled_dims[level].empty()) symbols.push_back(LoopSymbol(level));
      } else {
        for (const int dim : op.loop->tiled_dims[level]) {
          const LoopVariable& loop = ir.loops[static_cast<size_t>(dim)];
          if (loop.range > 1) symbols.push_back(loop.name);
        }
      }
      spec.tiled_symbols.push_back(std::move(symbols));
    }
  }

  // What an operation in a loop writes into a buffer of its own is one tile, used again by every
  // iteration.
  bool IsTile(const std::string& buffer) const {
    const GraphOp* op = graph_.Find(buffer);
    return op != nullptr && op->IsComputed() && op->loop;
  }

  // Of the loops around `op`, outermost first, how many are around what writes the buffer too: in
  // those it is the same tile. In the others it is whole, and a tile of it is walked.
  size_t LoopsOfTile(const GraphOp& op, const std::string& buffer) const {
    if (!IsTile(buffer)) return 0;
    const std::vector<int>& writer = graph_.Find(buffer)->loop->group_id;
    const std::vector<int>& reader = op.loop->group_id;
    const auto apart = std::mismatch(reader.begin(), reader.end(), writer.begin(), writer.end());
    return static_cast<size_t>(apart.first - reader.begin());
  }

  // Elements of range `dim` from one iteration of loop `level` to the next.
  static int64_t TileStep(const GraphOp& op, size_t level, int dim) {
    int64_t step = op.RangeOf(dim).number();
    for (size_t inner = level + 1; inner < op.loop->tiled_dims.size(); ++inner) {
      const std::vector<int>& dims = op.loop->tiled_dims[inner];
      if (std::find(dims.begin(), dims.end(), dim) != dims.end())
        step *= op.loop->count[inner].number();
    }
    return step;
  }

  LoopAdvance AdvanceOf(const GraphOp& op, const GraphRead& access,
                        const TensorAccess& tensor) const {
    LoopAdvance advance;
    if (!op.loop) return advance;
    advance.elements.assign(op.loop->tiled_dims.size(), 0);
    const size_t same_tile = LoopsOfTile(op, tensor.name);
    std::map<int, int> cut;  // dimension -> loops that cut it
    for (size_t level = 0; level < op.loop->tiled_dims.size(); ++level) {
      for (const int dim : op.loop->tiled_dims[level]) {
        const auto host = std::find(access.loop.begin(), access.loop.end(), dim);
        if (host == access.loop.end()) continue;
        const int64_t step = TileStep(op, level, dim);
        const int64_t elements =
            DeviceElements(op, tensor, static_cast<int>(host - access.loop.begin()), step);
        // Two loops along one dimension need a symbol each, also where no tensor advances.
        advance.needs_newest = ++cut[dim] > 1 || advance.needs_newest;
        if (level < same_tile) continue;
        advance.elements[level] += elements;
        // Its coordinates alone would make it advance in the loops of its tile too.
        advance.needs_newest = advance.needs_newest || same_tile > 0;
        const int64_t range = op.RangeOf(dim).number();
        const bool stick = tensor.layout.stick_dim() == host - access.loop.begin();
        advance.needs_newest = advance.needs_newest || range == 1 ||
                               (stick && range <= ElementsPerStick(tensor.layout.format));
      }
    }
    return advance;
  }

  static int64_t DeviceElements(const GraphOp& op, const TensorAccess& tensor, int host_dim,
                                int64_t step) {
    const StickLayout& layout = tensor.layout;
    const int64_t per_stick = ElementsPerStick(layout.format);
    int64_t units = step;
    if (layout.stick_dim() == host_dim) {
      if (step % per_stick != 0) {
        throw CompileError(
            "Unsupported", "partial_stick_tile",
            fmt::format("operation '{}': a tile of {} elements of '{}' is not a whole number of "
                        "sticks of {}; use fewer slices",
                        op.name, step, tensor.name, per_stick))
            .Subject(op.name)
            .Remedy("fewer slices");
      }
      units = step / per_stick;
    }
    const int64_t bytes_per_element = BitsPerElement(layout.format) / kBitsPerByte;
    return units * layout.DeviceByteStride(host_dim) / bytes_per_element;
  }

  // The rule of DeviceCoordinates for a constant holds where the strides divide each other only, so
  // that an offset is placed dimension by dimension here.
  static void SetCoordinates(const GraphOp& op, const OpIr& ir, const TensorAccess& tensor,
                             const GraphRead& access, TensorArg& arg) {
    const std::vector<LoopVariable>& loops = ir.loops;
    const StickLayout& layout = tensor.layout;
    IndexExpression index = tensor.index;
    index.constant = 0;
    std::vector<Coordinate> coordinates = DeviceCoordinates(layout, index, loops);
    const int64_t per_stick = ElementsPerStick(layout.format);
    for (size_t host = 0; host < access.loop.size(); ++host) {
      const int loop = access.loop[host];
      if (loop < 0 || loops[static_cast<size_t>(loop)].range > 1) continue;
      if (!InSticks(op, ir, loop)) continue;
      const auto dim =
          StickOf(layout) == static_cast<int>(host)
              ? layout.host_dim.end() - 1
              : std::find(layout.host_dim.begin(), layout.host_dim.end(), static_cast<int>(host));
      coordinates[static_cast<size_t>(dim - layout.host_dim.begin())].terms.push_back(
          {loop, 1, 0, 1});
    }
    for (size_t host = 0; host < access.offset.size(); ++host) {
      const int64_t offset = access.offset[host];
      if (offset == 0) continue;
      const bool is_stick = layout.stick_dim() == static_cast<int>(host);
      if (is_stick && offset % per_stick != 0) {
        throw CompileError("Unsupported", "partial_stick_view",
                           fmt::format("operation '{}' works on '{}' from element {} of a stick on",
                                       op.name, tensor.name, offset % per_stick))
            .Subject(op.name);
      }
      const auto dim =
          std::find(layout.host_dim.begin(), layout.host_dim.end() - 1, static_cast<int>(host));
      coordinates[static_cast<size_t>(dim - layout.host_dim.begin())].constant +=
          is_stick ? offset / per_stick : offset;
    }
    for (const Coordinate& coordinate : coordinates)
      arg.device_coordinates.push_back(ParseExpression(ToString(coordinate, loops)));
  }

  TensorArg Arg(const TensorAccess& tensor, bool is_input, const LoopAdvance& advance,
                bool newest) const {
    TensorArg arg;
    arg.is_input = is_input;
    arg.device_format = tensor.layout.format;
    arg.device_size = tensor.layout.device_size;
    arg.stride_map = tensor.layout.stride_map;
    const std::vector<int64_t>& steps = advance.elements;
    arg.per_tile_fixed = IsTile(tensor.name) && AllFit(steps, [](int64_t s) { return s == 0; });
    Place(tensor.name, arg);
    if (!newest) return arg;
    std::string text;
    for (size_t level = 0; level < steps.size(); ++level) {
      if (steps[level] == 0) continue;
      text += fmt::format("{}{}*{}", text.empty() ? "" : " + ", steps[level], LoopSymbol(level));
    }
    if (!text.empty()) arg.tile_advance = ParseExpression(text);
    return arg;
  }

  void Place(const std::string& buffer, TensorArg& arg) const {
    const auto argument = std::find(arguments_.begin(), arguments_.end(), buffer);
    if (argument != arguments_.end()) {
      arg.arg_index = static_cast<int>(argument - arguments_.begin());
      const int segment = arg.arg_index + (lx_.pool_bytes > 0 ? 1 : 0);
      arg.address = segment * static_cast<int64_t>(kSegmentBytes);
      return;
    }
    const LxBufferPlan* plan = lx_.Find(buffer);
    if (plan != nullptr && plan->lx_address) {
      arg.memory = Memory::kLx;
      arg.address = *plan->lx_address;
    } else if (plan != nullptr && plan->pool_offset) {
      arg.memory = Memory::kPool;
      arg.address = *plan->pool_offset;
    } else {
      throw InternalError("buffer '{}' has no place", buffer);
    }
  }

  const Graph& graph_;
  const std::map<std::string, WorkDivision>& divisions_;
  const LxPlan& lx_;
  std::vector<std::string> arguments_;
};

}  // namespace

std::vector<std::string> KernelArgumentNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs) names.push_back(input.name);
  names.insert(names.end(), graph.outputs.begin(), graph.outputs.end());
  return names;
}

KernelSource BuildKernelSource(const std::string& name, const Graph& graph,
                               const std::map<std::string, WorkDivision>& divisions,
                               const LxPlan& lx) {
  return SourceBuilder(graph, divisions, lx).Build(name);
}

}  // namespace spyre::compiler
