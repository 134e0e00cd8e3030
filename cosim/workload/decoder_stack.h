// SPDX-License-Identifier: Apache-2.0
// A decoder stack (Llama, Granite: RMS norm, rotary embedding, attention with grouped heads and a
// KV cache, SwiGLU) as kernels, the tensors that they work on, and the steps that launch them. The
// kernels are lists of operations for the front end; every layer launches the same ones on weights
// and a cache of its own. Plain data and pure functions, any thread. Sizes in elements.
// docs/models.md explains the choices.
//
// Tensors have the dimensions [sequence, batch, width]: in device memory that is, for each sequence
// of the batch, what a matrix [sequence, width] is. A width that is heads x head_size, both whole
// sticks, is also [sequence, batch, heads, head_size], so that heads need no copies.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cosim/config/config.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

struct DecoderSizes {
  int64_t layers = 0, hidden = 0, mlp = 0;
  int64_t heads = 0, kv_heads = 0, head_size = 0;
  int64_t batch = 0, sequence = 0, context = 0, vocabulary = 0;
  bool linear_weights = true;  // [outputs, inputs], turned before each product

  int64_t query_width() const { return heads * head_size; }
  int64_t kv_width() const { return kv_heads * head_size; }
  int64_t cache_rows() const;  // context in whole sticks: probabilities are summed over it
  // The new keys and values are the whole cache: it is written by their kernels.
  bool fills_cache() const { return sequence == cache_rows(); }
  // Whether some token may not see some row of the cache.
  bool needs_mask() const { return sequence > 1 || context != cache_rows(); }
};

// Throws Error(kBadInput) naming the key, for sizes that are not whole sticks, heads that kv_heads
// does not divide, a context that is shorter than the new tokens.
DecoderSizes DecoderSizesOf(const ModelConfig& model);

// What a kernel is for; times are summed up by it.
enum class DecoderPart : uint8_t {
  kMatmul,
  kRestickify,  // of weights
  kAttention,
  kNorm,
  kRotary,
  kSwiglu,
  kResidual,
  kCopy,
};
const char* Name(DecoderPart part);  // "matmul"

// Rows of one tensor to rows of another, both [rows, batch, width].
struct RowCopy {
  int64_t from_rows = 0, from_row = 0;
  int64_t to_rows = 0, to_row = 0;
  int64_t rows = 0, batch = 0, width = 0;
};

struct DecoderKernel {
  std::string name;  // "matmul_4096x12800"
  DecoderPart part = DecoderPart::kMatmul;
  std::variant<compiler::NamedGraph, RowCopy> work;  // tensors of the graph: inputs, then output
};

struct DecoderTensor {
  enum class Use : uint8_t {
    kWeight,
    kKvCache,
    kActivation,  // of one step; layers share them
    kTable,       // rotary embedding and mask
  };
  std::string name;  // "x", "layers.3.wq", "y"
  Use use = Use::kActivation;
  bool is_input = false, is_output = false;  // of the step
  std::vector<int64_t> shape;                // the default layout of it
};

struct DecoderStep {
  static constexpr int kNoLayer = -1;  // behind the last
  std::string name;                    // "layers.3.q"
  int layer = kNoLayer;
  size_t kernel = 0;
  std::vector<size_t> tensors;  // positions in DecoderStack::tensors, by the kernel's own
};

struct DecoderStack {
  std::vector<DecoderTensor> tensors;
  std::vector<DecoderKernel> kernels;
  std::vector<DecoderStep> steps;  // in the order in which they run
};

// The names that the reference knows them by: inputs "x", "layers.N.norm1", ".wq", ".wk", ".wv",
// ".wo", ".norm2", ".gate", ".up", ".down", ".keys", ".values", "norm", "head", "cos", "sin",
// "rotation", "mask"; the output is "y". Matrices are [inputs, outputs], with linear_weights
// [outputs, inputs].
DecoderStack BuildDecoderStack(const DecoderSizes& sizes);

}  // namespace spyre::cosim
