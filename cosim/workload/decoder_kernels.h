// SPDX-License-Identifier: Apache-2.0
// The kernels of a decoder stack (decoder_stack.h). Their tensors are [sequence, batch, width], or
// the same bytes with the width as heads. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "cosim/config/config.h"
#include "cosim/workload/bundle_workload.h"
#include "cosim/workload/decoder_stack.h"

namespace spyre::cosim {

// x [rows, batch, k] by weight [k, n].
DecoderKernel MatmulKernel(int64_t rows, int64_t batch, int64_t k, int64_t n);
// A matrix [rows, cols] to [cols, rows].
DecoderKernel RestickifyKernel(int64_t rows, int64_t cols);
// x and weight [hidden]: RMS norm of each row.
DecoderKernel NormKernel(const DecoderSizes& sizes, int64_t rows);
DecoderKernel AddKernel(const DecoderSizes& sizes);
// gate, up: silu(gate) * up.
DecoderKernel SwigluKernel(const DecoderSizes& sizes);
// x twice, rotation [head_size, head_size], cos, sin [sequence, head_size]: x * cos + (x @
// rotation)
// * sin. The product swaps the halves of each head and negates one, and is exact.
DecoderKernel RotaryKernel(const DecoderSizes& sizes, int64_t heads);
// q, keys, values, and mask [sequence, cache rows] if sizes.needs_mask(): softmax(q @ keys^T /
// sqrt(head_size) + mask) @ values, each key and value head for heads / kv_heads query heads.
DecoderKernel AttentionKernel(const DecoderSizes& sizes);
DecoderKernel CopyKernel(const char* name, const RowCopy& copy);

// A copy's bundle, compiled, with its tensors in the order from, to.
BundlePlan CompileRowCopy(const RunConfig& config, const RowCopy& copy, const std::string& name);

}  // namespace spyre::cosim
