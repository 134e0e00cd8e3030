// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/verify.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/verify_layout.h"
#include "runtime/compiler/front_end/verify_list.h"
#include "runtime/compiler/front_end/verify_places.h"
#include "runtime/compiler/tiling/loop_groups.h"

namespace spyre::compiler {
namespace {

class Verifier {
 public:
  Verifier(const FrontEndResult& graph, const FrontEndOptions& options)
      : result_(graph), graph_(graph.graph), options_(options) {}

  std::vector<Finding> Run() {
    CheckList();
    if (!result_.HasRun("lower")) return std::move(findings_);
    CheckBuffers();
    CheckLoops();
    CheckGroups();
    if (!findings_.empty()) return std::move(findings_);  // accesses need them
    for (const GraphOp& op : graph_.ops) CheckShapes(op);
    if (!findings_.empty()) return std::move(findings_);
    FindWhatTheListDoesNotSay(result_, findings_);
    FindLayoutsThatAreWrong(result_, findings_);
    if (!findings_.empty() || !result_.HasRun("division")) return std::move(findings_);
    for (const GraphOp& op : graph_.ops) CheckSplits(op);
    if (!findings_.empty() || !result_.HasRun("lx")) return std::move(findings_);
    FindPlacesThatAreWrong(result_, options_, findings_);
    return std::move(findings_);
  }

 private:
  template <typename... Args>
  void Report(const char* kind, const std::string& subject, fmt::format_string<Args...> format,
              Args&&... args) {
    findings_.push_back({kind, subject, fmt::format(format, std::forward<Args>(args)...)});
  }

  // ---------------------------------------------------------------- the list

  void CheckList() {
    const NamedGraph& list = result_.primitives;
    std::set<std::string> names;
    std::vector<bool> known(list.tensors.size(), false);
    for (size_t i = 0; i < list.tensors.size(); ++i) {
      const NamedTensor& tensor = list.tensors[i];
      if (!names.insert(tensor.name).second)
        Report("duplicate_buffer", tensor.name, "two tensors are named '{}'", tensor.name);
      known[i] = tensor.origin != NamedTensor::Origin::kComputed;
      CheckStick(tensor);
    }
    for (const NamedOp& op : list.ops) CheckListOp(op, known);
    for (const int output : list.outputs) {
      const std::string& name = list.tensors[static_cast<size_t>(output)].name;
      if (!known[static_cast<size_t>(output)])
        Report("undefined_buffer", name, "output '{}' is computed by no operation", name);
    }
  }

  void CheckStick(const NamedTensor& tensor) {
    if (!result_.HasRun("stick") || tensor.dims.empty() || tensor.stick == NamedTensor::kSparse)
      return;
    if (std::find(tensor.dims.begin(), tensor.dims.end(), tensor.stick) != tensor.dims.end())
      return;
    if (tensor.stick == NamedTensor::kNoChoice && !IsUsed(tensor)) return;
    Report("shape_mismatch", tensor.name, "the stick of '{}' is none of its dimensions",
           tensor.name);
  }

  bool IsUsed(const NamedTensor& tensor) const {
    const NamedGraph& list = result_.primitives;
    const auto index = static_cast<int>(&tensor - list.tensors.data());
    return AnyFits(list.ops, [&](const NamedOp& op) {
      return op.output == index ||
             std::find(op.inputs.begin(), op.inputs.end(), index) != op.inputs.end();
    });
  }

  void CheckListOp(const NamedOp& op, std::vector<bool>& known) {
    const NamedGraph& list = result_.primitives;
    const NamedTensor& output = list.tensors[static_cast<size_t>(op.output)];
    for (const int input : op.inputs) {
      if (known[static_cast<size_t>(input)]) continue;
      const std::string& name = list.tensors[static_cast<size_t>(input)].name;
      Report("undefined_buffer", name, "'{}' reads '{}' before it is computed", output.name, name);
    }
    if (known[static_cast<size_t>(op.output)])
      Report("duplicate_buffer", output.name, "'{}' is computed twice", output.name);
    known[static_cast<size_t>(op.output)] = true;
    if (FindNamedOperation(op.op)->kind == OpEntry::Kind::kExtern) return;
    CheckTypes(op);
    try {
      NamedOp derived = op;
      const std::vector<int> dims = OutputDims(list, derived);
      // A sum along a dimension of size 1 is a copy, which leaves the dimension out.
      const std::vector<int> walked = Walked(dims), own = Walked(output.dims);
      if (std::is_permutation(walked.begin(), walked.end(), own.begin(), own.end())) return;
      NamedTensor right;
      right.dims = dims;
      Report("shape_mismatch", output.name, "'{}' is {}, its operation '{}' gives {}", output.name,
             list.ShapeText(output), op.op, list.ShapeText(right));
    } catch (const Error& error) {
      Report("shape_mismatch", output.name, "'{}': {}", output.name, error.what());
    }
  }

  void CheckTypes(const NamedOp& op) {
    if (!result_.HasRun("promote_types") || op.op == "convert") return;
    const auto& tensors = result_.primitives.tensors;
    const NamedTensor& output = tensors[static_cast<size_t>(op.output)];
    for (const int input : op.inputs) {
      const NamedTensor& operand = tensors[static_cast<size_t>(input)];
      if (operand.format == output.format || operand.format == DataFormat::kIeeeInt32) continue;
      Report("type_mismatch", output.name, "'{}' is {}, and reads '{}', which is {}", output.name,
             HostTypeName(output.format), operand.name, HostTypeName(operand.format));
    }
  }

  std::vector<int> Walked(const std::vector<int>& dims) const {
    std::vector<int> walked;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(walked), [&](int dim) {
      return result_.primitives.dims[static_cast<size_t>(dim)].size > 1;
    });
    return walked;
  }

  // ---------------------------------------------------------------- the lowered graph

  void CheckBuffers() {
    std::set<std::string> known;
    std::set<std::string> written, read_before;
    const auto define = [&](const std::string& name) {
      if (!known.insert(name).second)
        Report("duplicate_buffer", name, "two buffers are named '{}'", name);
    };
    for (const GraphInput& input : graph_.inputs) {
      define(input.name);
      written.insert(input.name);
    }
    for (const GraphOp& op : graph_.ops) {
      for (const GraphRead& read : op.reads) {
        if (known.count(read.buffer) == 0)
          Report("undefined_buffer", read.buffer, "operation '{}' reads '{}', which is not defined",
                 op.name, read.buffer);
        else if (written.count(read.buffer) == 0)
          Report("undefined_buffer", read.buffer,
                 "operation '{}' reads '{}' before anything is written there", op.name,
                 read.buffer);
      }
      const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
      // Tiles of one loop are read iteration by iteration; parts that have a place are read whole.
      const bool in_part = !op.layout.offset.empty() || op.layout.chosen >= 0;
      if (mutates && in_part && read_before.count(op.layout.target) != 0)
        Report("undefined_buffer", op.layout.target,
               "'{}' is read before operation '{}' writes its part of it", op.layout.target,
               op.name);
      for (const GraphRead& read : op.reads) read_before.insert(read.buffer);
      if (mutates && known.count(op.layout.target) == 0)
        Report("undefined_buffer", op.layout.target,
               "operation '{}' writes '{}', which is not defined", op.name, op.layout.target);
      define(op.name);
      if (mutates) written.insert(op.layout.target);
      if (!mutates && op.kind != GraphOp::Kind::kEmpty) written.insert(op.name);
    }
    for (const std::string& output : graph_.outputs) {
      if (known.count(output) == 0)
        Report("undefined_buffer", output, "output '{}' is not defined", output);
      else if (written.count(output) == 0)
        Report("undefined_buffer", output, "nothing is written to output '{}'", output);
      CheckArgument(output);
    }
    for (const GraphInput& input : graph_.inputs) CheckArgument(input.name);
  }

  // What the caller gives and gets is a tensor of the list, or the whole buffer of one.
  void CheckArgument(const std::string& name) {
    const std::string full = "full_";
    const auto& tensors = result_.primitives.tensors;
    const bool is_tensor = AnyFits(tensors, [&](const NamedTensor& tensor) {
      return tensor.name == name || full + tensor.name == name;
    });
    if (!is_tensor)
      Report("undefined_buffer", name, "argument '{}' is not a tensor of the list", name);
  }

  void CheckLoops() {
    for (const GraphOp& op : graph_.ops) {
      if (!op.loop) continue;
      for (const std::vector<int>& level : op.loop->tiled_dims) {
        for (const int dim : level) {
          const size_t own = op.ranges.size() + (op.partial ? op.reduction_ranges.size() : 0);
          if (dim >= 0 && static_cast<size_t>(dim) < own) continue;
          Report("loop_group", op.name, "operation '{}' has no range {} that a loop could divide",
                 op.name, dim);
        }
      }
      for (const Extent& count : op.loop->count) {
        if (!count.is_number() || count.number() >= 1) continue;
        Report("loop_group", op.name, "operation '{}' is in a loop of {} trips", op.name,
               count.ToString());
      }
      const size_t loops = op.loop->count.size();
      if (op.loop->tiled_dims.size() == loops && op.loop->group_id.size() == loops) continue;
      Report("loop_group", op.name,
             "operation '{}' has {} loops, a path of {}, and divides dimensions of {}", op.name,
             loops, op.loop->group_id.size(), op.loop->tiled_dims.size());
    }
    try {
      GroupLoops(LoopMembersOf(graph_));
    } catch (const Error& error) {
      Report("loop_group", error.subject(), "{}", error.what());
    }
  }

  // Groups that have been made into loops are those loops.
  void CheckGroups() {
    if (!result_.HasRun("tile")) return;
    for (const TileGroup& group : result_.groups) {
      std::vector<Extent> counts;
      for (const TileLevel& level : group.levels) counts.push_back(level.count);
      for (const std::string& name : group.ops) {
        const GraphOp* const op = graph_.Find(name);
        if (op != nullptr && !op->IsComputed()) continue;
        if (op != nullptr && op->loop && op->loop->count == counts) continue;
        Report("loop_group", name,
               "'{}' is not in the loops of its group, whose pass has run: begin with a graph from "
               "before 'tile'",
               name);
      }
    }
  }

  // What a loop of `range` walks in all iterations of the counted loops around it.
  static Extent WholeExtent(const GraphOp& op, int dim, Extent range) {
    if (!op.loop) return range;
    for (size_t level = 0; level < op.loop->tiled_dims.size(); ++level) {
      for (const int divided : op.loop->tiled_dims[level])
        if (divided == dim) range = range * op.loop->count[level];
    }
    return range;
  }

  static bool SameLoop(const GraphOp& a, const GraphOp& b) {
    const auto path = [](const GraphOp& op) {
      return op.loop ? op.loop->group_id : std::vector<int>{};
    };
    return path(a) == path(b);
  }

  // A buffer of an operation in a loop that divides its ranges holds one tile at a time.
  static bool HoldsTiles(const GraphOp* writer) {
    return writer != nullptr && writer->IsComputed() && writer->loop &&
           writer->layout.kind != BufferLayout::Kind::kMutation &&
           AnyFits(writer->loop->tiled_dims,
                   [](const std::vector<int>& dims) { return !dims.empty(); });
  }

  void CheckShapes(const GraphOp& op) {
    if (!op.IsComputed()) return;
    for (const GraphRead& read : op.reads) {
      const GraphOp* const writer = graph_.Find(read.buffer);
      // Between `tile` and `propagate` a tile is all that there is of what leaves a loop.
      const bool crosses = writer != nullptr && !SameLoop(*writer, op);
      if (crosses && result_.HasRun("tile") && !result_.HasRun("propagate")) continue;
      if (crosses && HoldsTiles(writer))
        Report(
            "loop_group", op.name,
            "operation '{}' reads '{}', of which there is one tile at a time, outside of its loop",
            op.name, read.buffer);
      CheckAccess(op, read, "reads");
    }
    GraphRead write;
    const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
    write.buffer = mutates ? op.layout.target : op.name;
    if (mutates) write.offset = op.layout.offset;
    write.loop.resize(op.ranges.size());
    std::iota(write.loop.begin(), write.loop.end(), 0);
    const auto chosen = static_cast<size_t>(op.layout.chosen);
    if (op.layout.chosen >= 0 && chosen < write.loop.size()) write.loop[chosen] = -1;
    CheckAccess(op, write, "writes");
    if (graph_.IsOutput(op.name) && HoldsTiles(&op) && result_.HasRun("propagate"))
      Report("loop_group", op.name, "output '{}' is a tile of a loop", op.name);
  }

  void CheckAccess(const GraphOp& op, const GraphRead& access, const char* how) {
    const std::vector<Extent>& size = graph_.LayoutOf(access.buffer).size;
    const bool whole_offset = access.offset.empty() || access.offset.size() == size.size();
    if (size.size() != access.loop.size() || !whole_offset) {
      Report("shape_mismatch", op.name, "operation '{}' {} '{}' of {} dimensions by {}", op.name,
             how, access.buffer, size.size(), access.loop.size());
      return;
    }
    const bool is_tile = HoldsTiles(graph_.Find(access.buffer));
    for (size_t d = 0; d < size.size(); ++d) {
      const int loop = access.loop[d];
      const auto l = static_cast<size_t>(std::max(loop, 0));
      const size_t own = op.ranges.size();
      if (loop >= 0 && l >= own + op.reduction_ranges.size()) {
        Report("shape_mismatch", op.name, "operation '{}' {} '{}' by loop {} of {}", op.name, how,
               access.buffer, l, own + op.reduction_ranges.size());
        continue;
      }
      Extent walked = 1;
      if (loop >= 0) {
        walked = l < own ? op.ranges[l] : op.reduction_ranges[l - own];
        if (!is_tile) walked = WholeExtent(op, loop, walked);
      }
      const int64_t offset = access.offset.empty() ? 0 : access.offset[d];
      if (loop < 0 && offset == 0) continue;  // one index of a dimension
      if (offset == 0 && walked == size[d]) continue;
      const bool fits = !access.offset.empty() && walked.is_number() && size[d].is_number() &&
                        offset <= size[d].number() - walked.number();
      if (fits) continue;
      Report("shape_mismatch", op.name,
             "operation '{}' {} {} of dimension {} of '{}' from {} on, which has {}", op.name, how,
             walked.ToString(), d, access.buffer, offset, size[d].ToString());
    }
  }

  // ---------------------------------------------------------------- work division

  void CheckSplits(const GraphOp& op) {
    if (!op.IsComputed()) return;
    const auto found = result_.divisions.find(op.name);
    if (found == result_.divisions.end()) {
      Report("split", op.name, "operation '{}' is not divided", op.name);
      return;
    }
    const std::vector<int>& splits = found->second.splits;
    std::vector<Extent> ranges = op.ranges;
    ranges.insert(ranges.end(), op.reduction_ranges.begin(), op.reduction_ranges.end());
    if (splits.size() != ranges.size()) {
      Report("split", op.name, "operation '{}' has {} loops and {} splits", op.name, ranges.size(),
             splits.size());
      return;
    }
    int64_t cores = 1;
    for (size_t i = 0; i < splits.size(); ++i) {
      const bool divides = splits[i] >= 1 && ranges[i].number() % splits[i] == 0;
      if (!divides)
        Report("split", op.name, "operation '{}': {} slices do not divide loop {} of {}", op.name,
               splits[i], i, ranges[i].ToString());
      cores = std::min<int64_t>(cores * std::max(splits[i], 1), INT32_MAX);
    }
    if (cores > options_.division.max_cores || cores != found->second.cores_used)
      Report("split", op.name, "operation '{}': splits [{}] are {} cores, it says {}, there are {}",
             op.name, Joined(splits, ", "), cores, found->second.cores_used,
             options_.division.max_cores);
  }

  const FrontEndResult& result_;
  const Graph& graph_;
  const FrontEndOptions& options_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> FindingsOf(const FrontEndResult& graph, const FrontEndOptions& options) {
  return Verifier(graph, options).Run();
}

void Verify(const FrontEndResult& graph, const FrontEndOptions& options) {
  const std::vector<Finding> findings = FindingsOf(graph, options);
  if (findings.empty()) return;
  std::vector<std::string> messages;
  messages.reserve(findings.size());
  for (const Finding& finding : findings) messages.push_back(finding.message);
  const std::string when = graph.passes.empty()
                               ? "the graph"
                               : fmt::format("the graph behind '{}'", graph.passes.back());
  throw CompileError("VerifierError", findings.front().kind,
                     fmt::format("{} is not well formed: {}", when, Joined(messages, "; ")))
      .Subject(findings.front().subject);
}

}  // namespace spyre::compiler
