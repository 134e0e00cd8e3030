// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/verify.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

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
    if (!findings_.empty()) return std::move(findings_);  // accesses need them
    for (const GraphOp& op : graph_.ops) CheckShapes(op);
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
    return std::any_of(list.ops.begin(), list.ops.end(), [&](const NamedOp& op) {
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
      if (operand.format == output.format) continue;
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
    const auto define = [&](const std::string& name) {
      if (!known.insert(name).second)
        Report("duplicate_buffer", name, "two buffers are named '{}'", name);
    };
    for (const GraphInput& input : graph_.inputs) define(input.name);
    for (const GraphOp& op : graph_.ops) {
      for (const GraphRead& read : op.reads) {
        if (known.count(read.buffer) == 0)
          Report("undefined_buffer", read.buffer, "operation '{}' reads '{}', which is not defined",
                 op.name, read.buffer);
      }
      const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
      if (mutates && known.count(op.layout.target) == 0)
        Report("undefined_buffer", op.layout.target,
               "operation '{}' writes '{}', which is not defined", op.name, op.layout.target);
      define(op.name);
    }
    for (const std::string& output : graph_.outputs) {
      if (known.count(output) == 0)
        Report("undefined_buffer", output, "output '{}' is not defined", output);
      CheckArgument(output);
    }
    for (const GraphInput& input : graph_.inputs) CheckArgument(input.name);
  }

  // What the caller gives and gets is a tensor of the list, or the whole buffer of one.
  void CheckArgument(const std::string& name) {
    const std::string full = "full_";
    const auto& tensors = result_.primitives.tensors;
    const bool is_tensor =
        std::any_of(tensors.begin(), tensors.end(), [&](const NamedTensor& tensor) {
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
          if (dim >= 0 && static_cast<size_t>(dim) < op.ranges.size()) continue;
          Report("loop_group", op.name, "operation '{}' has no range {} that a loop could divide",
                 op.name, dim);
        }
      }
      if (op.loop->tiled_dims.size() == op.loop->count.size()) continue;
      Report("loop_group", op.name, "operation '{}' has {} loops and divides dimensions of {}",
             op.name, op.loop->count.size(), op.loop->tiled_dims.size());
    }
    try {
      GroupLoops(LoopMembersOf(graph_));
    } catch (const Error& error) {
      Report("loop_group", error.subject(), "{}", error.what());
    }
  }

  // The extents that a loop of `range` may walk: its tile, or the tiles of as many of the counted
  // loops around it, from the inside out, as the buffer lies outside of.
  static std::vector<Extent> WalkedExtents(const GraphOp& op, int dim, const Extent& range) {
    std::vector<Extent> extents = {range};
    if (!op.loop) return extents;
    for (size_t level = op.loop->tiled_dims.size(); level > 0; --level) {
      const std::vector<int>& dims = op.loop->tiled_dims[level - 1];
      if (std::find(dims.begin(), dims.end(), dim) != dims.end())
        extents.push_back(extents.back() * op.loop->count[level - 1]);
    }
    return extents;
  }

  static bool SameLoop(const GraphOp& a, const GraphOp& b) {
    const auto path = [](const GraphOp& op) {
      return op.loop ? op.loop->group_id : std::vector<int>{};
    };
    return path(a) == path(b);
  }

  void CheckShapes(const GraphOp& op) {
    if (!op.IsComputed()) return;
    for (const GraphRead& read : op.reads) {
      const GraphOp* const writer = graph_.Find(read.buffer);
      // Between `tile` and `propagate` a tile is all that there is of what leaves a loop.
      const bool crosses = writer != nullptr && !SameLoop(*writer, op);
      if (crosses && result_.HasRun("tile") && !result_.HasRun("propagate")) continue;
      CheckAccess(op, read, "reads");
    }
    GraphRead write;
    const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
    write.buffer = mutates ? op.layout.target : op.name;
    if (mutates) write.offset = op.layout.offset;
    write.loop.resize(op.ranges.size());
    std::iota(write.loop.begin(), write.loop.end(), 0);
    CheckAccess(op, write, "writes");
  }

  static bool FitsIn(const std::vector<int64_t>& offset, size_t d, const Extent& range,
                     const Extent& size) {
    if (d >= offset.size()) return false;
    return !range.is_number() || !size.is_number() || offset[d] <= size.number() - range.number();
  }

  void CheckAccess(const GraphOp& op, const GraphRead& access, const char* how) {
    const std::vector<Extent>& size = graph_.LayoutOf(access.buffer).size;
    if (size.size() != access.loop.size()) {
      Report("shape_mismatch", op.name, "operation '{}' {} '{}' of {} dimensions by {}", op.name,
             how, access.buffer, size.size(), access.loop.size());
      return;
    }
    for (size_t d = 0; d < size.size(); ++d) {
      const int loop = access.loop[d];
      if (loop < 0) continue;
      const auto l = static_cast<size_t>(loop);
      const size_t own = op.ranges.size();
      if (l >= own + op.reduction_ranges.size()) {
        Report("shape_mismatch", op.name, "operation '{}' {} '{}' by loop {} of {}", op.name, how,
               access.buffer, l, own + op.reduction_ranges.size());
        continue;
      }
      const Extent& range = l < own ? op.ranges[l] : op.reduction_ranges[l - own];
      const std::vector<Extent> extents = WalkedExtents(op, loop, range);
      const bool is_view = !access.offset.empty();
      if (is_view && !FitsIn(access.offset, d, range, size[d])) {
        Report("shape_mismatch", op.name,
               "operation '{}' {} dimension {} of '{}' from {} on, {} elements of {}", op.name, how,
               d, access.buffer, access.offset[d], range.ToString(), size[d].ToString());
      }
      if (is_view || std::find(extents.begin(), extents.end(), size[d]) != extents.end()) continue;
      Report("shape_mismatch", op.name,
             "operation '{}' {} {} of dimension {} of '{}', which has {}", op.name, how,
             extents.size() == 1 ? range.ToString()
                                 : range.ToString() + " or " + extents.back().ToString(),
             d, access.buffer, size[d].ToString());
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
             op.name, fmt::join(splits, ", "), cores, found->second.cores_used,
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
                     fmt::format("{} is not well formed: {}", when, fmt::join(messages, "; ")))
      .Subject(findings.front().subject);
}

}  // namespace spyre::compiler
