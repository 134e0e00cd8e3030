// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/list/graph_rewriter.h"

namespace spyre::compiler {
namespace {

constexpr double kDefaultEpsilon = 1e-5;

class Decomposer {
 public:
  explicit Decomposer(const NamedGraph& graph) : graph_(graph), out_(graph) {}

  NamedGraph Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      out_.Begin(static_cast<int>(i));
      Expand(graph_.ops[i]);
    }
    return out_.Finish();
  }

 private:
  void Expand(const NamedOp& op) {
    const OpEntry& operation = *FindNamedOperation(op.op);
    if (op.on_host) return out_.Append(op);
    if (operation.kind == OpEntry::Kind::kReduction && ReducesNothing(op)) {
      out_.Append({"copy", op.inputs, op.output, {}, {}});
    } else if (operation.kind == OpEntry::Kind::kReduction && op.reduced.size() > 1) {
      OneByOne(op);
    } else if (operation.kind == OpEntry::Kind::kMatmul && ReducesNothing(op)) {
      out_.Append({"mul", op.inputs, op.output, {}, {}});
    } else if (operation.kind == OpEntry::Kind::kMatmul && op.reduced.size() > 1) {
      OverSeveral(op);
    } else if (operation.kind == OpEntry::Kind::kGather && LeavesOut(op)) {
      const int whole = Add(op.op.c_str(), op.inputs, op.output, "chosen", op.reduced);
      out_.Append({"copy", {whole}, op.output, {}, {}});
    } else if (operation.kind != OpEntry::Kind::kComposite) {
      out_.Append(op);
    } else if (operation.name == "softmax") {
      Softmax(op.inputs[0], op.reduced, op.output);
    } else if (operation.name == "layernorm") {
      LayerNorm(op);
    } else if (operation.name == "rmsnorm") {
      RmsNorm(op);
    } else if (operation.name == "silu") {
      Silu(op.inputs[0], op.output, op.output);
    } else if (operation.name == "swiglu") {
      const int silu = Silu(op.inputs[0], -1, op.output);
      out_.Append({"mul", {silu, op.inputs[1]}, op.output, {}, {}});
    } else {
      Attention(op);
    }
  }

  // A dimension of the indices, of size 1, by which the card has to walk.
  bool LeavesOut(const NamedOp& op) const {
    const auto dims = [&](int tensor) -> const std::vector<int>& {
      return graph_.tensors[static_cast<size_t>(tensor)].dims;
    };
    const std::vector<int>& indices = dims(op.inputs[1]);
    return AnyFits(indices, [&](int dim) { return !HasDim(dims(op.output), dim); });
  }

  // In order of the operand's dimensions, so that its stick, usually the last, goes last and what
  // is before it stays in full sticks. Dimensions of size 1 go along with another.
  void OneByOne(const NamedOp& op) {
    std::vector<std::vector<int>> steps;
    std::vector<int> ones;
    for (const int dim : out_.graph().tensors[static_cast<size_t>(op.inputs[0])].dims) {
      if (std::find(op.reduced.begin(), op.reduced.end(), dim) == op.reduced.end()) continue;
      if (graph_.dims[static_cast<size_t>(dim)].size == 1) {
        ones.push_back(dim);
      } else {
        steps.push_back({dim});
      }
    }
    steps.front().insert(steps.front().end(), ones.begin(), ones.end());
    int x = op.inputs[0];
    for (size_t i = 0; i + 1 < steps.size(); ++i)
      x = Add(op.op.c_str(), {x}, op.output, fmt::format("part{}", i), steps[i]);
    out_.Append({op.op, {x}, op.output, steps.back(), {}});
  }

  // A matmul over the first operand's last, where the stick usually is, and the sum over the
  // others.
  void OverSeveral(const NamedOp& op) {
    const std::vector<int>& dims = out_.graph().tensors[static_cast<size_t>(op.inputs[0])].dims;
    const int last = *std::find_if(dims.rbegin(), dims.rend(), [&](int dim) {
      return std::find(op.reduced.begin(), op.reduced.end(), dim) != op.reduced.end();
    });
    NamedOp sum{"sum", {}, op.output, {}, {}};
    for (const int dim : op.reduced)
      if (dim != last) sum.reduced.push_back(dim);
    sum.inputs = {Add("matmul", op.inputs, op.output, "products", {last})};
    Expand(sum);
  }

  // Along dimensions of size 1: the loop does not exist, and the result is the operand.
  bool ReducesNothing(const NamedOp& op) const {
    return AllFit(op.reduced,
                  [&](int dim) { return graph_.dims[static_cast<size_t>(dim)].size == 1; });
  }

  // Appends an operation whose output is new and named after the composite's.
  int Add(const char* op, std::vector<int> inputs, int composite, const std::string& suffix,
          std::vector<int> reduced = {}) {
    return out_.AppendNew({op, std::move(inputs), -1, std::move(reduced), {}},
                          out_.tensor(composite).name + "." + suffix);
  }

  void Softmax(int x, const std::vector<int>& reduced, int output) {
    const int max = Add("amax", {x}, output, "max", reduced);
    const int shifted = Add("sub", {x, max}, output, "sub");
    const int exp = Add("exp", {shifted}, output, "exp");
    const int sum = Add("sum", {exp}, output, "sum", reduced);
    out_.Append({"div", {exp, sum}, output, {}, {}});
  }

  double Epsilon(const NamedOp& op) const {
    const auto eps = op.constants.find("eps");
    return eps == op.constants.end() ? kDefaultEpsilon : eps->second;
  }

  // 1 / sqrt(mean of squares + eps).
  int InverseNorm(const NamedOp& op, int x) {
    const int square = Add("mul", {x, x}, op.output, "square");
    const int variance = Add("mean", {square}, op.output, "variance", op.reduced);
    const int shifted = Add("add", {variance, out_.Constant(Epsilon(op))}, op.output, "eps");
    return Add("rsqrt", {shifted}, op.output, "rsqrt");
  }

  // The last of the multiplications and additions writes the composite's output.
  void Scale(const NamedOp& op, int x, int norm) {
    std::vector<std::pair<const char*, int>> steps = {{"mul", norm}};
    for (size_t i = 1; i < op.inputs.size(); ++i)
      steps.emplace_back(i == 1 ? "mul" : "add", op.inputs[i]);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (i + 1 == steps.size()) {
        out_.Append({steps[i].first, {x, steps[i].second}, op.output, {}, {}});
      } else {
        x = Add(steps[i].first, {x, steps[i].second}, op.output, i == 0 ? "normed" : "weighted");
      }
    }
  }

  void LayerNorm(const NamedOp& op) {
    const int mean = Add("mean", {op.inputs[0]}, op.output, "mean", op.reduced);
    const int centred = Add("sub", {op.inputs[0], mean}, op.output, "centred");
    Scale(op, centred, InverseNorm(op, centred));
  }

  void RmsNorm(const NamedOp& op) { Scale(op, op.inputs[0], InverseNorm(op, op.inputs[0])); }

  // x / (1 + exp(-x)); `output` -1: a new tensor.
  int Silu(int x, int output, int composite) {
    const int neg = Add("neg", {x}, composite, "neg");
    const int exp = Add("exp", {neg}, composite, "exp");
    const int sum = Add("add", {exp, out_.Constant(1)}, composite, "add");
    if (output < 0) return Add("div", {x, sum}, composite, "silu");
    out_.Append({"div", {x, sum}, output, {}, {}});
    return output;
  }

  void Attention(const NamedOp& op) {
    const NamedTensor& q = graph_.tensors[static_cast<size_t>(op.inputs[0])];
    const NamedTensor& k = graph_.tensors[static_cast<size_t>(op.inputs[1])];
    const auto given = op.constants.find("scale");
    double size = 1;
    for (const int dim : op.reduced)
      size *= static_cast<double>(graph_.dims[static_cast<size_t>(dim)].size);
    const double scale = given == op.constants.end() ? 1 / std::sqrt(size) : given->second;

    const int scores = Add("matmul", {op.inputs[0], op.inputs[1]}, op.output, "scores", op.reduced);
    int x = Add("mul", {scores, out_.Constant(scale)}, op.output, "scaled");
    if (op.inputs.size() == 4) x = Add("add", {x, op.inputs[3]}, op.output, "masked");
    std::vector<int> keys;
    std::copy_if(k.dims.begin(), k.dims.end(), std::back_inserter(keys), [&](int dim) {
      return std::find(q.dims.begin(), q.dims.end(), dim) == q.dims.end();
    });
    const std::string name = graph_.tensors[static_cast<size_t>(op.output)].name + ".probabilities";
    const int probabilities =
        out_.NewTensor(name, out_.graph().tensors[static_cast<size_t>(scores)].dims);
    Softmax(x, keys, probabilities);
    out_.Append({"matmul", {probabilities, op.inputs[2]}, op.output, keys, {}});
  }

  const NamedGraph& graph_;
  GraphRewriter out_;
};

}  // namespace

NamedGraph Decompose(const NamedGraph& graph) { return Decomposer(graph).Run(); }

}  // namespace spyre::compiler
