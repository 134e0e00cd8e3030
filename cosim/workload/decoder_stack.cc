// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/decoder_stack.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/workload/decoder_kernels.h"
#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::cosim {
namespace {

using compiler::kStickElements;
using Use = DecoderTensor::Use;
using Shape = std::vector<int64_t>;

class StackBuilder {
 public:
  explicit StackBuilder(const DecoderSizes& sizes) : sizes_(sizes) {}

  DecoderStack Build() {
    AddSharedTensors();
    for (int layer = 0; layer < sizes_.layers; ++layer) AddLayer(layer);
    if (sizes_.vocabulary > 0) AddHead();
    return std::move(stack_);
  }

 private:
  Shape Rows(int64_t width) const { return {sizes_.sequence, sizes_.batch, width}; }

  size_t Tensor(std::string name, Use use, Shape shape, bool is_input = false,
                bool is_output = false) {
    stack_.tensors.push_back({std::move(name), use, is_input, is_output, std::move(shape)});
    return stack_.tensors.size() - 1;
  }
  size_t Activation(const char* name, int64_t width) {
    return Tensor(name, Use::kActivation, Rows(width));
  }
  size_t Weight(const std::string& name, int64_t width) {  // of a norm
    return Tensor(name, Use::kWeight, {width}, true);
  }

  void AddSharedTensors() {
    const int64_t queries = sizes_.query_width(), keys = sizes_.kv_width();
    x_ = Tensor("x", Use::kActivation, Rows(sizes_.hidden), true);
    if (sizes_.layers > 1 || sizes_.vocabulary > 0) hidden_ = Activation("hidden", sizes_.hidden);
    normed_ = Activation("normed", sizes_.hidden);
    q_ = Activation("q", queries);
    k_ = Activation("k", keys);
    q_rotated_ = Activation("q_rotated", queries);
    if (!sizes_.fills_cache()) {
      v_ = Activation("v", keys);
      k_rotated_ = Activation("k_rotated", keys);
    }
    attended_ = Activation("attended", queries);
    projected_ = Activation("projected", sizes_.hidden);
    residual_ = Activation("residual", sizes_.hidden);
    gate_ = Activation("gate", sizes_.mlp);
    up_ = Activation("up", sizes_.mlp);
    product_ = Activation("product", sizes_.mlp);
    cos_ = Tensor("cos", Use::kTable, {sizes_.sequence, sizes_.head_size}, true);
    sin_ = Tensor("sin", Use::kTable, {sizes_.sequence, sizes_.head_size}, true);
    rotation_ = Tensor("rotation", Use::kTable, {sizes_.head_size, sizes_.head_size}, true);
    if (sizes_.needs_mask())
      mask_ = Tensor("mask", Use::kTable, {sizes_.sequence, sizes_.cache_rows()}, true);
    if (sizes_.vocabulary == 0)
      y_ = Tensor("y", Use::kActivation, Rows(sizes_.hidden), false, true);
  }

  // Equal kernels have equal names.
  size_t Kernel(DecoderKernel kernel) {
    const auto same =
        FindIf(stack_.kernels, [&](const auto& other) { return other.name == kernel.name; });
    if (same != stack_.kernels.end()) return static_cast<size_t>(same - stack_.kernels.begin());
    stack_.kernels.push_back(std::move(kernel));
    return stack_.kernels.size() - 1;
  }

  void Step(const std::string& name, DecoderKernel kernel, std::vector<size_t> tensors) {
    const size_t number = Kernel(std::move(kernel));
    stack_.steps.push_back({prefix_ + name, layer_, number, std::move(tensors)});
  }

  // The product of x with a weight of its own. The weight is called as the step, or otherwise.
  void Matmul(const char* name, size_t x, size_t out, const char* weight = nullptr) {
    const Shape from = stack_.tensors[x].shape;  // tensors are added below
    const int64_t inputs = from.back(), outputs = stack_.tensors[out].shape.back();
    Shape shape = {inputs, outputs};
    if (sizes_.linear_weights) std::swap(shape[0], shape[1]);
    size_t matrix =
        Tensor(prefix_ + (weight != nullptr ? weight : name), Use::kWeight, std::move(shape), true);
    if (sizes_.linear_weights) {
      const size_t turned = Turned(inputs, outputs);
      Step(fmt::format("restickify_{}", name), RestickifyKernel(outputs, inputs), {matrix, turned});
      matrix = turned;
    }
    Step(name, MatmulKernel(from.front(), sizes_.batch, inputs, outputs), {x, matrix, out});
  }

  // What weights of one shape are turned into, one after the other.
  size_t Turned(int64_t inputs, int64_t outputs) {
    const auto [place, is_new] = turned_.try_emplace({inputs, outputs});
    if (is_new) {
      place->second =
          Tensor(fmt::format("weight_{}x{}", inputs, outputs), Use::kActivation, {inputs, outputs});
    }
    return place->second;
  }

  void AddLayer(int layer) {
    layer_ = layer;
    prefix_ = fmt::format("layers.{}.", layer);
    const size_t in = layer == 0 ? x_ : hidden_;
    const size_t out = layer + 1 == sizes_.layers && sizes_.vocabulary == 0 ? y_ : hidden_;
    const size_t norm1 = Weight(prefix_ + "norm1", sizes_.hidden);
    Step("norm1", NormKernel(sizes_, sizes_.sequence), {in, norm1, normed_});
    Attend();
    Matmul("o", attended_, projected_, "wo");
    Step("add1", AddKernel(sizes_), {in, projected_, residual_});
    const size_t norm2 = Weight(prefix_ + "norm2", sizes_.hidden);
    Step("norm2", NormKernel(sizes_, sizes_.sequence), {residual_, norm2, normed_});
    Matmul("gate", normed_, gate_);
    Matmul("up", normed_, up_);
    Step("swiglu", SwigluKernel(sizes_), {gate_, up_, product_});
    Matmul("down", product_, projected_);
    Step("add2", AddKernel(sizes_), {residual_, projected_, out});
  }

  // Computes attended_ from normed_.
  void Attend() {
    const bool has_past = sizes_.context > sizes_.sequence;
    const Shape cache = {sizes_.cache_rows(), sizes_.batch, sizes_.kv_width()};
    // What is behind the context is read too, and must be finite.
    const bool is_input = has_past || !sizes_.fills_cache();
    const size_t keys = Tensor(prefix_ + "keys", Use::kKvCache, cache, is_input);
    const size_t values = Tensor(prefix_ + "values", Use::kKvCache, cache, is_input);
    const size_t new_keys = sizes_.fills_cache() ? keys : k_rotated_;
    const size_t new_values = sizes_.fills_cache() ? values : v_;
    Matmul("q", normed_, q_, "wq");
    Matmul("k", normed_, k_, "wk");
    Matmul("v", normed_, new_values, "wv");
    Step("rotate_q", RotaryKernel(sizes_, sizes_.heads),
         {q_, q_, rotation_, cos_, sin_, q_rotated_});
    Step("rotate_k", RotaryKernel(sizes_, sizes_.kv_heads),
         {k_, k_, rotation_, cos_, sin_, new_keys});
    if (!sizes_.fills_cache()) {
      const DecoderKernel append = CopyKernel(
          "append", {sizes_.sequence, 0, sizes_.cache_rows(), sizes_.context - sizes_.sequence,
                     sizes_.sequence, sizes_.batch, sizes_.kv_width()});
      Step("append_k", append, {new_keys, keys});
      Step("append_v", append, {new_values, values});
    }
    std::vector<size_t> operands = {q_rotated_, keys, values};
    if (sizes_.needs_mask()) operands.push_back(mask_);
    operands.push_back(attended_);
    Step("attention", AttentionKernel(sizes_), std::move(operands));
  }

  // Adds the head, for the last token of each sequence.
  void AddHead() {
    layer_ = DecoderStep::kNoLayer;
    prefix_.clear();
    const Shape row = {1, sizes_.batch, sizes_.hidden};
    size_t last = hidden_;
    if (sizes_.sequence > 1) {
      last = Tensor("last", Use::kActivation, row);
      Step("last_token",
           CopyKernel("last_token",
                      {sizes_.sequence, sizes_.sequence - 1, 1, 0, 1, sizes_.batch, sizes_.hidden}),
           {hidden_, last});
    }
    const size_t normed = Tensor("last_normed", Use::kActivation, row);
    Step("norm", NormKernel(sizes_, 1), {last, Weight("norm", sizes_.hidden), normed});
    y_ = Tensor("y", Use::kActivation, {1, sizes_.batch, sizes_.vocabulary}, false, true);
    Matmul("logits", normed, y_, "head");
  }

  const DecoderSizes& sizes_;
  DecoderStack stack_;
  int layer_ = DecoderStep::kNoLayer;
  std::string prefix_;                                    // of names in the layer
  std::map<std::pair<int64_t, int64_t>, size_t> turned_;  // by [inputs, outputs]
  size_t x_ = 0, hidden_ = 0, y_ = 0;
  size_t normed_ = 0, q_ = 0, k_ = 0, v_ = 0, q_rotated_ = 0, k_rotated_ = 0, attended_ = 0;
  size_t projected_ = 0, residual_ = 0, gate_ = 0, up_ = 0, product_ = 0;
  size_t cos_ = 0, sin_ = 0, rotation_ = 0, mask_ = 0;
};

void RequireWholeSticks(const char* key, int64_t size) {
  if (size % kStickElements == 0) return;
  const int64_t next = (size / kStickElements + 1) * kStickElements;
  throw BadInput(
      "workload.model.{} = {} must be a multiple of {}, the elements of a stick; {} padded with "
      "zeros would do",
      key, size, kStickElements, next)
      .Subject(fmt::format("workload.model.{}", key))
      .Value(size)
      .Remedy(std::to_string(next));
}

}  // namespace

int64_t DecoderSizes::cache_rows() const {
  return (context + kStickElements - 1) / kStickElements * kStickElements;
}

const char* Name(DecoderPart part) {
  constexpr const char* kNames[] = {"matmul", "restickify", "attention", "norm",
                                    "rotary", "swiglu",     "residual",  "copy"};
  return kNames[static_cast<size_t>(part)];
}

DecoderSizes DecoderSizesOf(const ModelConfig& model) {
  DecoderSizes s;
  s.layers = static_cast<int64_t>(model.layers);
  s.hidden = static_cast<int64_t>(model.hidden);
  s.mlp = static_cast<int64_t>(model.mlp);
  s.heads = static_cast<int64_t>(model.heads);
  s.kv_heads = static_cast<int64_t>(model.kv_heads);
  s.head_size = static_cast<int64_t>(model.head_size);
  s.batch = static_cast<int64_t>(model.batch);
  s.sequence = static_cast<int64_t>(model.sequence);
  s.context = model.context == 0 ? s.sequence : static_cast<int64_t>(model.context);
  s.vocabulary = static_cast<int64_t>(model.vocabulary);
  s.linear_weights = model.weights == "linear";
  RequireWholeSticks("hidden", s.hidden);
  RequireWholeSticks("mlp", s.mlp);
  RequireWholeSticks("head_size", s.head_size);
  if (s.heads % s.kv_heads != 0) {
    throw BadInput(
        "workload.model.heads = {} must be a multiple of workload.model.kv_heads = {}: each key "
        "and value head serves as many query heads",
        s.heads, s.kv_heads)
        .Subject("workload.model.heads")
        .Value(s.heads);
  }
  if (s.context < s.sequence) {
    throw BadInput(
        "workload.model.context = {} is less than workload.model.sequence = {}: the new tokens are "
        "part of the context",
        s.context, s.sequence)
        .Subject("workload.model.context")
        .Value(s.context)
        .Remedy("0, or at least the sequence");
  }
  return s;
}

DecoderStack BuildDecoderStack(const DecoderSizes& sizes) { return StackBuilder(sizes).Build(); }

}  // namespace spyre::cosim
