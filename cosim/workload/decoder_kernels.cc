// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/decoder_kernels.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cosim/arguments/argument_shapes.h"
#include "cosim/workload/compile_settings.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::cosim {
namespace {

using compiler::kStickElements;
using compiler::NamedGraph;
using compiler::NamedTensor;

constexpr double kEpsilon = 1e-5;  // of RMS norms

class GraphBuilder {
 public:
  int Dim(const char* name, int64_t size) {
    graph_.dims.push_back({name, size});
    return static_cast<int>(graph_.dims.size()) - 1;
  }
  int Input(const char* name, std::vector<int> dims, int stick = NamedTensor::kNoChoice) {
    return Tensor(name, NamedTensor::Origin::kInput, std::move(dims), stick);
  }
  int Computed(const char* name, std::vector<int> dims) {
    return Tensor(name, NamedTensor::Origin::kComputed, std::move(dims), NamedTensor::kNoChoice);
  }
  void Op(const char* op, std::vector<int> inputs, int output, std::vector<int> reduced = {},
          std::map<std::string, double> constants = {}) {
    graph_.ops.push_back({op, std::move(inputs), output, std::move(reduced), std::move(constants)});
  }
  NamedGraph Take(int output) {
    graph_.outputs = {output};
    return std::move(graph_);
  }

 private:
  int Tensor(const char* name, NamedTensor::Origin origin, std::vector<int> dims, int stick) {
    NamedTensor tensor;
    tensor.name = name;
    tensor.origin = origin;
    tensor.dims = std::move(dims);
    tensor.stick = stick;
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<int>(graph_.tensors.size()) - 1;
  }

  NamedGraph graph_;
};

compiler::TensorArg CopyArgument(const RowCopy& copy, bool is_input) {
  const int64_t rows = is_input ? copy.from_rows : copy.to_rows;
  const int64_t first = is_input ? copy.from_row : copy.to_row;
  const std::string row = copy.rows > 1 ? fmt::format("c1 + {}", first) : std::to_string(first);
  compiler::TensorArg arg;
  arg.is_input = is_input;
  arg.arg_index = is_input ? 0 : 1;
  arg.address = arg.arg_index;
  arg.device_size = {copy.batch, copy.width / kStickElements, rows, kStickElements};
  for (const std::string& coordinate :
       {std::string(copy.batch > 1 ? "c0" : "0"), std::string("floor(c2/64)"), row,
        std::string("Mod(c2, 64)")})
    arg.device_coordinates.push_back(compiler::ParseExpression(coordinate));
  return arg;
}

ArgumentShape CopyShape(const char* name, const char* role, int64_t rows, const RowCopy& copy) {
  ArgumentShape shape;
  shape.name = name;
  shape.role = role;
  shape.shape = {rows, copy.batch, copy.width};
  shape.layout = DefaultLayout(shape.shape, DataFormat::kSen169Fp16);
  return shape;
}

// The most cores that get the same number of sticks of a row.
int CopyCores(int64_t sticks, int most) {
  int cores = most;
  while (sticks % cores != 0) --cores;
  return cores;
}

}  // namespace

DecoderKernel MatmulKernel(int64_t rows, int64_t batch, int64_t k, int64_t n) {
  GraphBuilder graph;
  const int s = graph.Dim("S", rows), b = graph.Dim("B", batch), c = graph.Dim("K", k),
            w = graph.Dim("N", n);
  const int x = graph.Input("x", {s, b, c}), weight = graph.Input("weight", {c, w});
  const int out = graph.Computed("out", {s, b, w});
  graph.Op("matmul", {x, weight}, out, {c});
  return {fmt::format("matmul_{}x{}x{}", rows * batch, k, n), DecoderPart::kMatmul,
          graph.Take(out)};
}

DecoderKernel RestickifyKernel(int64_t rows, int64_t cols) {
  GraphBuilder graph;
  const int r = graph.Dim("R", rows), c = graph.Dim("C", cols);
  const int x = graph.Input("x", {r, c});
  const int out = graph.Computed("out", {c, r});
  graph.Op("restickify", {x}, out, {r});
  return {fmt::format("restickify_{}x{}", rows, cols), DecoderPart::kRestickify, graph.Take(out)};
}

DecoderKernel NormKernel(const DecoderSizes& sizes, int64_t rows) {
  GraphBuilder graph;
  const int s = graph.Dim("S", rows), b = graph.Dim("B", sizes.batch),
            c = graph.Dim("C", sizes.hidden);
  const int x = graph.Input("x", {s, b, c}), weight = graph.Input("weight", {c});
  const int out = graph.Computed("out", {s, b, c});
  graph.Op("rmsnorm", {x, weight}, out, {c}, {{"eps", kEpsilon}});
  return {fmt::format("norm_{}x{}", rows * sizes.batch, sizes.hidden), DecoderPart::kNorm,
          graph.Take(out)};
}

DecoderKernel AddKernel(const DecoderSizes& sizes) {
  GraphBuilder graph;
  const int s = graph.Dim("S", sizes.sequence), b = graph.Dim("B", sizes.batch);
  const int c = graph.Dim("C", sizes.hidden);
  const int x = graph.Input("x", {s, b, c}), y = graph.Input("y", {s, b, c});
  const int out = graph.Computed("out", {s, b, c});
  graph.Op("add", {x, y}, out);
  return {"add", DecoderPart::kResidual, graph.Take(out)};
}

DecoderKernel SwigluKernel(const DecoderSizes& sizes) {
  GraphBuilder graph;
  const int s = graph.Dim("S", sizes.sequence), b = graph.Dim("B", sizes.batch);
  const int c = graph.Dim("C", sizes.mlp);
  const int gate = graph.Input("gate", {s, b, c}), up = graph.Input("up", {s, b, c});
  const int out = graph.Computed("out", {s, b, c});
  graph.Op("swiglu", {gate, up}, out);
  return {"swiglu", DecoderPart::kSwiglu, graph.Take(out)};
}

DecoderKernel RotaryKernel(const DecoderSizes& sizes, int64_t heads) {
  GraphBuilder graph;
  const int s = graph.Dim("S", sizes.sequence), b = graph.Dim("B", sizes.batch),
            h = graph.Dim("H", heads);
  // Of a head, before and behind the product: a matmul cannot give the dimension that it sums over.
  const int d = graph.Dim("D", sizes.head_size), e = graph.Dim("E", sizes.head_size);
  const int x = graph.Input("x", {s, b, h, d}), same = graph.Input("same_x", {s, b, h, e});
  const int rotation = graph.Input("rotation", {d, e});
  const int cos = graph.Input("cos", {s, e}), sin = graph.Input("sin", {s, e});
  const int out = graph.Computed("out", {s, b, h, e});
  const int turned = graph.Computed("turned", {s, b, h, e});
  const int by_sin = graph.Computed("by_sin", {s, b, h, e});
  const int by_cos = graph.Computed("by_cos", {s, b, h, e});
  graph.Op("matmul", {x, rotation}, turned, {d});
  graph.Op("mul", {turned, sin}, by_sin);
  graph.Op("mul", {same, cos}, by_cos);
  graph.Op("add", {by_cos, by_sin}, out);
  return {fmt::format("rotary_{}", heads), DecoderPart::kRotary, graph.Take(out)};
}

DecoderKernel AttentionKernel(const DecoderSizes& sizes) {
  GraphBuilder graph;
  const int s = graph.Dim("S", sizes.sequence), b = graph.Dim("B", sizes.batch);
  const int kv = graph.Dim("G", sizes.kv_heads), r = graph.Dim("R", sizes.heads / sizes.kv_heads);
  const int t = graph.Dim("T", sizes.cache_rows()), d = graph.Dim("D", sizes.head_size);
  std::vector<int> operands = {graph.Input("q", {s, b, kv, r, d}),
                               graph.Input("keys", {t, b, kv, d}, d),
                               graph.Input("values", {t, b, kv, d})};
  if (sizes.needs_mask()) operands.push_back(graph.Input("mask", {s, t}));
  const int out = graph.Computed("out", {s, b, kv, r, d});
  graph.Op("attention", std::move(operands), out, {d},
           {{"scale", 1 / std::sqrt(static_cast<double>(sizes.head_size))}});
  return {"attention", DecoderPart::kAttention, graph.Take(out)};
}

DecoderKernel CopyKernel(const char* name, const RowCopy& copy) {
  return {name, DecoderPart::kCopy, copy};
}

BundlePlan CompileRowCopy(const RunConfig& config, const RowCopy& copy, const std::string& name) {
  compiler::OpSpec spec;
  spec.op = "identity";
  if (copy.batch > 1) spec.iteration_space.push_back({"c0", copy.batch, 1});
  if (copy.rows > 1) spec.iteration_space.push_back({"c1", copy.rows, 1});
  spec.iteration_space.push_back(
      {"c2", copy.width,
       CopyCores(copy.width / kStickElements, MaxCores(config, std::getenv("SENCORES")))});
  spec.args = {CopyArgument(copy, true), CopyArgument(copy, false)};
  compiler::KernelSource source;
  source.name = name;
  source.body.emplace_back(std::move(spec));
  compiler::Bundle bundle =
      compiler::EmitBundle(source, compiler::BundleDialect::kSymbolicArguments);
  bundle.name = name;
  // Rows that are not written stay as they are.
  const bool keeps = copy.rows < copy.to_rows;
  BundlePlan plan = PlanBundle(
      BundleSettingsOf(config), std::move(bundle),
      std::vector<ArgumentShape>{CopyShape("from", "input", copy.from_rows, copy),
                                 CopyShape("to", keeps ? "inout" : "output", copy.to_rows, copy)});
  plan.kernel = std::make_shared<const compiler::Kernel>(CompileBundleKernel(plan));
  return plan;
}

}  // namespace spyre::cosim
