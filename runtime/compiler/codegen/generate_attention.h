// SPDX-License-Identifier: Apache-2.0
// Code generation of fused attention (kernels/attention_kernel.h): a kernel of the arguments q, k,
// v and out in their default layouts. Pure function, any thread. Errors: Error(kBadInput).
#pragma once

#include "runtime/compiler/kernels/attention_kernel.h"
#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

Kernel GenerateAttention(const AttentionSpec& spec);

}  // namespace spyre::compiler
